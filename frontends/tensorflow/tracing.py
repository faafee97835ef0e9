"""One trace of a function into a graph of TensorFlow's, which is read while it is made: what Python asks of
traced tensors is answered.

A traced tensor has no elements. Where the user's code, which would run eagerly, asks for some (``if``,
``int``, ``.numpy()``), what leads to them was run on the arrays of the call: the answer is what came out, and
a guard of the recording.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops.iterator_ops import OwnedIterator
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.framework import ops
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable
from tensorflow.python.trackable import data_structures

from ...errors import Signal, TracingError, UnsupportedOperation
from ...forwarding import forwards
from ...ir.node import CallRecord, Value
from ...recording import Locator, Recorder
from ...recording.patches import replaced
from ...sizes import Size, Symbol, hint_of, is_symbolic
from ..common.read_numbers import Reading, can_be_symbols, decide, record_read
from .dtypes import dtype_of_array
from .evaluation import computing
from .folders import BELOW, PACKAGES
from .known_numbers import known
from .names import READ
from .reader import NotingGraph, Reader
from .sizes import NeededShape, Shape, SizeNumber, asked_by, beside_shapes, symbolic
from .variables import Held


def is_array(item: Any) -> bool:
    """Whether this is an array of any framework; numpy's scalars count as Python's."""
    if isinstance(item, (tf.Tensor, tf.Variable, np.ndarray)):
        return True
    if isinstance(item, (np.generic, type)) or is_symbolic(item):
        return False
    return (
        hasattr(item, "dtype")
        and hasattr(item, "shape")
        and (hasattr(item, "__dlpack__") or hasattr(item, "__array__"))
    )


def opens(item: Any) -> bool:
    return not isinstance(item, (tf.Module, keras.Layer)) and not type(item).__module__.startswith(
        ("tensorflow.", "keras.")
    )


def unwrapped(structure: Any) -> Any:
    """Lists, tuples and dicts that a ``tf.Module`` keeps, which TensorFlow wraps, as plain ones:
    ``tape.gradient`` gives such.
    """
    if isinstance(structure, data_structures.TrackableDataStructure):
        structure = data_structures.wrap_or_unwrap(structure)
        structure = list(structure) if isinstance(structure, data_structures.ListWrapper) else structure
    if type(structure) in (list, tuple):
        return type(structure)(map(unwrapped, structure))
    return {key: unwrapped(item) for key, item in structure.items()} if type(structure) is dict else structure


def as_tensor(array: Any) -> Any:
    """An array of any framework as a tensor.

    >>> as_tensor(np.arange(2)).numpy().tolist()
    [0, 1]
    """
    if isinstance(array, (tf.Tensor, tf.Variable)):
        return tf.convert_to_tensor(array)
    if hasattr(array, "detach"):
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        is_half = dtype_of_array(array) == "bfloat16"  # which numpy lacks
        return tf.cast(plain.float().numpy(), tf.bfloat16) if is_half else tf.constant(plain.numpy())
    return tf.constant(np.asarray(array))


# It goes through as many steps as there are samples where the number of steps is unknown.
_THROUGH_TIME = "keras.src.layers.rnn.time_distributed."
_MODULES = ("keras.src.backend.tensorflow.", "keras.src.layers.preprocessing.", _THROUGH_TIME)
_CALL, _CONCRETE = (
    inspect.unwrap(method).__code__ for method in (Function.__call__, Function.get_concrete_function)
)
_OTHERS = frozenset(
    {("keras.src.backend.tensorflow.numpy", "add")}
)  # of these modules: it only looks for a bias, by sets of sizes


def wants_numbers(depth: int) -> bool:
    module, function = _asking(depth + 1)
    return module.startswith(_MODULES) and (module.removesuffix("."), function) not in _OTHERS


def inside(traced: Any, depth: int) -> Any:
    """The shape of a tensor in a ``tf.function``, which may have to be known where it is asked for, ``depth``
    frames above the caller.
    """
    module = _asking(depth + 1)[0]
    is_needed = (
        module == _THROUGH_TIME
        or not module.startswith(PACKAGES)
        and not _has_signature(sys._getframe(depth + 1))
    )
    return NeededShape(traced) if is_needed else traced


def _has_signature(frame: FrameType | None) -> bool:
    """Whether the ``tf.function`` that is being traced says itself which sizes are unknown."""
    while frame is not None:
        if frame.f_code in (_CALL, _CONCRETE):
            return frame.f_code is _CONCRETE or frame.f_locals["self"].input_signature is not None
        frame = frame.f_back
    return False


def _asking(depth: int) -> tuple[str, str]:
    frame = sys._getframe(depth + 1)
    return f"{frame.f_globals.get('__name__', '')}.", frame.f_code.co_name


@contextmanager
def built_or_as_before(layers: Iterable[Any]) -> Iterator[None]:
    """Where the block raises, each ``keras.Sequential`` that could not be built has the layers that it had.

    Keras has put an input of the sizes of this tracing before them, and would refuse to build the model with
    other ones.
    """
    before = [
        (model, model._layers) for model in layers if isinstance(model, keras.Sequential) and not model.built
    ]
    try:
        yield
    except Exception:
        for model, held in before:
            if not model.built:
                model._layers = held
        raise


_MOST = 64  # elements that Python may read at once
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Unanswered(TypeError, AttributeError, Signal):
    """A traced tensor does not have what TensorFlow's own code tries to read of it, which then goes another
    way.
    """


class Trace:
    """A graph in the making, and its reader."""

    def __init__(
        self, recorder: Recorder, reader: Reader, locator: Locator, reading: Reading, is_open: bool = True
    ) -> None:
        self.recorder, self.reader, self.locator, self.reading = recorder, reader, locator, reading
        self.is_open = is_open  # whether more sizes of the arguments may be fixed
        self.graph = NotingGraph(recorder.graph.name)
        self.failed: Exception | None = (
            None  # what an operation raised, which the user's code may have caught
        )

    def argument(self, value: Value, array: Any, fixed: Sequence[bool]) -> Any:
        """A tensor for an array of the arguments; the sizes of axes that are not ``fixed`` are unknown."""
        shape = [size if is_fixed else None for size, is_fixed in zip(array.shape, fixed)]
        with self.graph.as_default():
            tensor = tf.compat.v1.placeholder(array.dtype, shape)
        self.reader.held[id(tensor)] = Held(value, array)
        return tensor

    def held(self, tensor: Any) -> Held:
        """What a tensor of the graph is; what leads to it is read."""
        with computing():
            try:
                self.reader.read(self.graph, {})
            except tf.errors.OpError as problem:
                self.failed = problem
                raise
        return self.reader.held[id(tensor)]

    # ------------------------------------------------------------------------------ what Python asks
    answers: Mapping[str, Callable[[Any], Any]] = {
        "__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex, "__index__": operator.index,
        "numpy": lambda elements: elements, "__array__": np.asarray,
    }  # fmt: skip

    def decide(self, size: Size) -> Any:
        return decide(self.recorder, size, self.locator.locate("a number", 3))

    def number(self, tensor: Any) -> Any:
        """The only element of a tensor, a whole number or float, as a number to be computed with; the tensor
        where it has to be known.
        """
        if not (
            isinstance(tensor, ops.SymbolicTensor) and tensor.graph is self.graph and self.reading.symbolic
        ):
            return tensor
        held = self.held(tensor)
        if np.size(held.seen) != 1 or not can_be_symbols(seen := held.seen.numpy().item()):
            return tensor
        if isinstance(held.item, np.ndarray):
            return symbolic(self, held.item.item())
        if not self.recorder.varies(held.item) or self.recorder.is_random(held.item):
            return tensor
        self.reading.any = True
        return symbolic(
            self,
            record_read(
                self.recorder, READ, held.item, seen, self.locator.locate(READ, 3), CallRecord("item")
            ),
        )

    def tensor(self, size: Size, dtype: Any) -> Any:
        """A size as a scalar of the traced graph."""
        if tf.executing_eagerly():
            return tf.constant(self.decide(size), dtype)
        with self.graph.as_default():
            tensor = tf.compat.v1.placeholder(dtype, ())
        with computing():
            self.reader.held[id(tensor)] = Held(known(size), tf.constant(hint_of(size), dtype))
        return tensor

    def elements(self, tensor: Any, call: str) -> Any:
        """The elements of a tensor as a numpy array, as a guard."""
        held = self.held(tensor)
        if isinstance(held.item, np.ndarray):
            return np.array(
                [self.decide(one) if isinstance(one, Size) else one for one in held.item.ravel()],
                held.made.dtype.as_numpy_dtype,
            ).reshape(held.item.shape)
        origin, elements = self.locator.locate(call, 3), held.seen.numpy()
        if np.size(elements) > _MOST:
            raise TracingError(
                f"{origin}: Python reads {np.size(elements)} elements of an array, which would be constants of the recording. Compute with "
                "the array instead (tf.where, tf.cond), or return it"
            )
        self.recorder.decide_value(held.item, np.asarray(elements).tolist(), origin)
        return elements

    def shape(self, tensor: Any) -> Any:
        """The shape as the user's code sees it."""
        traced = _SHAPE(tensor)
        if traced.rank is None or traced.is_fully_defined():
            return traced
        if tensor.graph is not self.graph:
            return inside(traced, 1) if self.is_open else traced
        return traced if asked_by(*PACKAGES) and not wants_numbers(1) else self._open_shape(tensor, traced)

    def length(self, tensor: Any) -> Any:
        """What ``len`` gives of a tensor: a size; None of anything else, and where TensorFlow has an error."""
        if not (
            isinstance(tensor, ops.SymbolicTensor) and tensor.graph is self.graph and _SHAPE(tensor).rank
        ):
            return None
        return self._open_shape(tensor, _SHAPE(tensor))[0]

    def _open_shape(self, tensor: Any, traced: Any) -> Any:
        held = self.held(tensor)
        if not isinstance(held.item, Value):
            return tf.TensorShape(held.made.shape)
        sizes = [Size.of(Symbol(held.item, axis, hint)) for axis, hint in enumerate(held.item.shape)]
        numbers = (symbolic(self, size) if dim is None else dim for dim, size in zip(traced.as_list(), sizes))
        return Shape(traced, tuple(numbers))

    def _told_shape(self, tensor: Any, shape: Any) -> Any:
        """A shape that a tensor is said to have, without the numbers that are symbols: that they are its
        sizes is a guard.
        """
        numbers = getattr(shape, "numbers", shape)
        if not isinstance(numbers, (list, tuple)) or not any(
            type(number) is SizeNumber for number in numbers
        ):
            return shape
        own = self._open_shape(tensor, _SHAPE(tensor)) if tensor.graph is self.graph else _SHAPE(tensor)
        is_so = [
            type(number) is SizeNumber and size is not None and bool(size == number)
            for number, size in zip(numbers, own)
        ]
        return [
            None if known else int(number) if type(number) is SizeNumber else number
            for known, number in zip(is_so, numbers)
        ]

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Inside of the block traced tensors of this graph answer Python."""
        names = ("numpy", "__array__", "__bool__", "__int__", "__float__", "__complex__")
        places = (
            *((ops.SymbolicTensor, name, method) for name, method in self._methods().items()),
            *((BaseResourceVariable, name, self._of_variable(name)) for name in names),
            *((tf, name, answer) for name, answer in (self._modes() | self._questions()).items()),
            *((tf.TensorShape, name, beside_shapes(name)) for name in ("is_compatible_with", "merge_with")),
            (
                tf,
                "ensure_shape",
                lambda x, shape, name=None, said=tf.ensure_shape: said(x, self._told_shape(x, shape), name),
            ),
            (
                ops.SymbolicTensor,
                "set_shape",
                lambda x, shape, said=tf.Tensor.set_shape: said(x, self._told_shape(x, shape)),
            ),
            self.graph.place(),
            (OwnedIterator, "__next__", lambda iterator: self._next_element(iterator)),  # noqa: PLW0108
        )
        with replaced(places):
            yield

    def _next_element(self, iterator: Any) -> Any:
        """Refuses what would have no end: while it is traced, a dataset tells of no last element."""
        raise UnsupportedOperation(
            "a dataset is iterated inside of the function; give its elements as arguments\n    "
            f"{self.locator.locate('tf.data.Dataset.__iter__', 3)}"
        )

    def _of_variable(self, name: str) -> Callable[..., Any]:
        """What Python asks of a variable, as it asks a tensor."""
        before = getattr(BaseResourceVariable, name)

        def method(variable: Any, *args: Any, **kwargs: Any) -> Any:
            if asked_by("tensorflow.") or tf.compat.v1.get_default_graph() is not self.graph:
                return before(variable, *args, **kwargs)
            return self.answers[name](self.elements(variable.read_value(), f"tf.Variable.{name}"))

        return method

    def _modes(self) -> dict[str, Any]:
        """What code that runs eagerly hears of the mode that it runs in."""

        def asked(name: str, answer: bool) -> Callable[[], bool]:
            before = getattr(tf, name)
            return lambda: (
                answer
                if tf.compat.v1.get_default_graph() is self.graph and not asked_by(*BELOW)
                else before()
            )

        return {
            "executing_eagerly": asked("executing_eagerly", True),
            "inside_function": asked("inside_function", False),
        }

    def _questions(self) -> dict[str, Any]:
        """What code that runs eagerly hears of tensors and sizes, by functions of TensorFlow."""

        def asked(
            name: str, concerns: Callable[[Any], bool], answer: Callable[..., Any]
        ) -> Callable[..., Any]:
            before = getattr(tf, name)

            def function(*args: Any, **kwargs: Any) -> Any:
                first = (*args, *kwargs.values())[0]
                return (before if asked_by(*PACKAGES) or not concerns(first) else answer)(*args, **kwargs)

            vars(function)["autograph_info__"] = {}  # AutoGraph calls it as it is
            return function

        def is_own(item: Any) -> bool:
            return isinstance(item, ops.SymbolicTensor) and item.graph is self.graph

        return {
            "cond": asked("cond", lambda item: isinstance(item, bool), _taken),
            "is_tensor": asked("is_tensor", lambda item: type(item) is SizeNumber, lambda x: False),
            "is_symbolic_tensor": asked("is_symbolic_tensor", is_own, lambda tensor: False),
            "get_static_value": asked(
                "get_static_value",
                is_own,
                lambda tensor, partial=False: self.elements(tensor, "tf.get_static_value"),
            ),
        }

    def _text(self, name: str) -> Callable[..., str]:
        """Text of a tensor shows its elements; that of a message ties the graph to none."""
        before = getattr(ops.SymbolicTensor, name)

        def method(tensor: Any, *args: Any) -> str:
            if tensor.graph is not self.graph or asked_by(*PACKAGES):
                return str(before(tensor, *args))
            if not self.locator.in_message():
                self.elements(tensor, f"tf.Tensor.{name}")
            return str(getattr(self.held(tensor).seen, name)(*args))

        return method

    def _pickled(self, tensor: Any) -> Any:
        return tf.constant, (self.elements(tensor, "tf.Tensor.__reduce__"),)

    def _device(self, tensor: Any) -> str:
        """Where the array of the call is."""
        return str(
            self.held(tensor).seen.device
            if tensor.graph is self.graph and not asked_by(*PACKAGES)
            else _DEVICE(tensor)
        )

    def _methods(self) -> dict[str, Any]:
        def of_elements(name: str, answer: Callable[[Any], Any]) -> Callable[..., Any]:
            before = getattr(ops.SymbolicTensor, name, None)

            def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
                if tensor.graph is self.graph and not asked_by("tensorflow."):
                    return answer(self.elements(tensor, f"tf.Tensor.{name}"))
                if before is None:
                    raise Unanswered(f"a traced tensor has no {name}")
                return before(tensor, *args, **kwargs)

            return method

        return {
            **{name: of_elements(name, answer) for name, answer in self.answers.items()},
            **{
                f"__{kind}{name}__": _beside_sizes(f"__{kind}{name}__")
                for name in _OPERATORS
                for kind in ("", "r")
            },
            **{f"__{name}__": _beside_sizes(f"__{name}__") for name in _COMPARISONS},
            **{name: self._text(name) for name in ("__str__", "__repr__", "__format__")},
            **dict.fromkeys(
                ("__copy__", "__deepcopy__"), lambda tensor, *memo: tensor
            ),  # a tensor never changes
            "__reduce__": lambda tensor: self._pickled(tensor),  # noqa: PLW0108
            "__hash__": tf.Tensor.__hash__,
            "device": property(self._device),
            "__iter__": lambda tensor: self._rows(tensor),  # noqa: PLW0108
            "__len__": lambda tensor: int(
                self.length(tensor) if tensor.graph is self.graph else tensor.shape[0]
            ),
            "shape": property(self.shape, tf.Tensor.shape.fset),
        }

    def _rows(self, tensor: Any) -> Iterator[Any]:
        """The rows of a tensor, whose number is assumed."""
        if tensor.graph is not self.graph:
            return iter(tf.Tensor.__iter__(tensor))
        held = self.held(tensor)
        count = held.made.shape[0]
        if isinstance(held.item, Value) and _SHAPE(tensor)[0] is None:
            count = self.decide(Size.of(Symbol(held.item, 0, count)))
        return iter(tf.unstack(tensor, num=count))


_SHAPE, _DEVICE = tf.Tensor.shape.fget, ops.SymbolicTensor.device.fget


def _taken(
    pred: bool, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    return true_fn() if pred else false_fn()


def _beside_sizes(name: str) -> Callable[..., Any]:
    """An operator beside a symbolic number, which takes the type of the tensor as a number of Python does."""
    original = getattr(tf.Tensor, name)

    @forwards
    def method(tensor: Any, other: Any) -> Any:
        if isinstance(other, list) and name in ("__mul__", "__rmul__") and asked_by("keras."):
            return NotImplemented  # a list that is repeated: Keras takes the tensor for a number, as sizes are eagerly
        return original(
            tensor, tf.convert_to_tensor(other, tensor.dtype) if type(other) is SizeNumber else other
        )

    return method
