"""Traces a function into a graph, reads it while it is built, and answers Python about tensors.

A traced tensor has no elements. The user's code would run eagerly and may ask for them (``if``, ``int``,
``.numpy()``). The operations that lead to the tensor are run on the arrays of the call, so their result can
be the answer, under a guard.
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
from ...sizes import Size, Symbol, expression_of, hint_of, is_symbolic
from ..common.input_checks import input_check
from ..common.read_numbers import Reading, can_be_symbols, decide, record_read
from .evaluation import run_eagerly
from .known_numbers import as_known_array
from .names import BELOW, PACKAGES, READ, dtype_of_array
from .reader import GraphReader, LineNotingGraph
from .sizes import RequiredShape, Shape, SizeTensor, asked_by, resolving_partial_shapes, symbolic
from .variables import TensorValue


def is_array(item: Any) -> bool:
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


def unwrap(structure: Any) -> Any:
    """Replace the wrappers that ``tf.Module`` puts around lists, tuples and dicts by plain containers."""
    # ``tape.gradient`` returns such wrappers if its sources are wrapped.
    if isinstance(structure, data_structures.TrackableDataStructure):
        structure = data_structures.wrap_or_unwrap(structure)
        structure = list(structure) if isinstance(structure, data_structures.ListWrapper) else structure
    if type(structure) in (list, tuple):
        return type(structure)(map(unwrap, structure))
    return {key: unwrap(item) for key, item in structure.items()} if type(structure) is dict else structure


def as_tensor(array: Any) -> Any:
    """Return an array or a variable as a tensor.

    >>> as_tensor(np.arange(2)).numpy().tolist()
    [0, 1]
    """
    if isinstance(array, (tf.Tensor, tf.Variable)):
        return tf.convert_to_tensor(array)
    # NumPy cannot convert a torch tensor that requires a gradient, is on another device, or is conjugated
    # lazily.
    if hasattr(array, "detach"):
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        # NumPy has no bfloat16.
        is_half = dtype_of_array(array) == "bfloat16"
        return tf.cast(plain.float().numpy(), tf.bfloat16) if is_half else tf.constant(plain.numpy())
    return tf.constant(np.asarray(array))


# ``TimeDistributed`` iterates over the batch if the number of time steps is unknown.
_THROUGH_TIME = "keras.src.layers.rnn.time_distributed."
# Code in these modules computes with sizes in Python.
_MODULES = ("keras.src.backend.tensorflow.", "keras.src.layers.preprocessing.", _THROUGH_TIME)
# A frame of one of these functions tells which ``tf.function`` is being traced, and for what.
_CALL, _CONCRETE = (
    inspect.unwrap(method).__code__ for method in (Function.__call__, Function.get_concrete_function)
)
# This function only compares sizes to detect the addition of a bias, so it does not need numbers.
_OTHERS = frozenset({("keras.src.backend.tensorflow.numpy", "add")})


def wants_numbers(depth: int) -> bool:
    module, function = _asking_code(depth + 1)
    return module.startswith(_MODULES) and (module.removesuffix("."), function) not in _OTHERS


def inner_shape(traced: Any, depth: int) -> Any:
    """Return the shape of a tensor in an inner ``tf.function``, for the code ``depth`` frames up.

    Frames are counted from the caller.
    """
    module = _asking_code(depth + 1)[0]
    is_needed = (
        module == _THROUGH_TIME
        or not module.startswith(PACKAGES)
        and not _has_signature(sys._getframe(depth + 1))
    )
    return RequiredShape(traced) if is_needed else traced


def _has_signature(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in (_CALL, _CONCRETE):
            return frame.f_code is _CONCRETE or frame.f_locals["self"].input_signature is not None
        frame = frame.f_back
    return False


def _asking_code(depth: int) -> tuple[str, str]:
    frame = sys._getframe(depth + 1)
    return f"{frame.f_globals.get('__name__', '')}.", frame.f_code.co_name


@contextmanager
def restore_unbuilt(layers: Iterable[Any]) -> Iterator[None]:
    """If this context raises, restore the list of layers of each unbuilt ``keras.Sequential``."""
    # Keras adds an input layer with the sizes of this tracing, and would then refuse to build the model with
    # other sizes.
    before = [
        (model, model._layers) for model in layers if isinstance(model, keras.Sequential) and not model.built
    ]
    try:
        yield
    except BaseException:
        for model, held in before:
            if not model.built:
                model._layers = held
        raise


# Python may read at most this many elements at once, because they become constants of the recording.
_MOST = 64
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class MissingAttribute(TypeError, AttributeError, Signal):
    """Error for an attribute that a traced tensor lacks, such as ``numpy`` inside of a ``tf.function``.

    It is a ``TypeError`` too, because Python expects one if ``__index__`` fails.
    """


class TensorFlowTrace:
    """Traced graph of one attempt, and the answers of its tensors to the user's code.

    is_open: True if further sizes of the arguments may be fixed.
    graph: the traced graph.
    failed: an error that an operation raised on the arrays of the call, or None.
    """

    def __init__(
        self,
        recorder: Recorder,
        reader: GraphReader,
        locator: Locator,
        reading: Reading,
        is_open: bool = True,
    ) -> None:
        self.recorder, self.reader, self.locator, self.reading = recorder, reader, locator, reading
        self.is_open = is_open
        self.graph = LineNotingGraph(recorder.graph.name)
        # The user's code may have caught this error.
        self.failed: Exception | None = None

    def argument(self, value: Value, array: Any, fixed: Sequence[bool]) -> Any:
        """Return a placeholder for the input ``value``, whose array while recording is ``array``.

        Its sizes are unknown along the axes that are not ``fixed``.
        """
        shape = [size if is_fixed else None for size, is_fixed in zip(array.shape, fixed)]
        with self.graph.as_default():
            tensor = tf.compat.v1.placeholder(array.dtype, shape)
        self.reader.held[id(tensor)] = TensorValue(value, array)
        return tensor

    def value_of(self, tensor: Any) -> TensorValue:
        """Read all operations that were added to the graph, and return the ``TensorValue`` of ``tensor``.

        Store a ``tf.errors.OpError`` in ``failed`` before it is raised.
        """
        with run_eagerly():
            try:
                self.reader.read(self.graph, {})
            except tf.errors.OpError as problem:
                self.failed = problem
                raise
        return self.reader.held[id(tensor)]

    # ------------------------------------------------------------------------------ answers to Python
    answers: Mapping[str, Callable[[Any], Any]] = {
        "__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex,
        "__index__": operator.index, "numpy": lambda elements: elements, "__array__": np.asarray,
    }  # fmt: skip

    def decide(self, size: Size) -> Any:
        return decide(self.recorder, size, self.locator.locate("a number", 3))

    def number(self, tensor: Any) -> Any:
        if not (
            isinstance(tensor, ops.SymbolicTensor) and tensor.graph is self.graph and self.reading.symbolic
        ):
            return tensor
        held = self.value_of(tensor)
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
        # Code that has left the traced graph, as in ``tf.init_scope``, needs an eager tensor.
        if tf.executing_eagerly():
            return tf.constant(self.decide(size), dtype)
        with self.graph.as_default():
            tensor = tf.compat.v1.placeholder(dtype, ())
        with run_eagerly():
            self.reader.held[id(tensor)] = TensorValue(
                as_known_array(size), tf.constant(hint_of(size), dtype)
            )
        return tensor

    def elements(self, tensor: Any, call: str) -> Any:
        """Return the elements of ``tensor`` in NumPy, and guard on them if they may vary.

        ``call`` names the function that reads them. Raise ``TracingError`` for many elements that are not
        known numbers.
        """
        held = self.value_of(tensor)
        if isinstance(held.item, np.ndarray):
            return np.array(
                [self.decide(one) if isinstance(one, Size) else one for one in held.item.ravel()],
                held.made.dtype.as_numpy_dtype,
            ).reshape(held.item.shape)
        origin, elements = self.locator.locate(call, 3), held.seen.numpy()
        if np.size(elements) > _MOST:
            raise TracingError(
                f"{origin}: Python reads {np.size(elements)} elements of an array, which would be "
                "constants of the recording. Compute with "
                "the array instead (tf.where, tf.cond), or return it"
            )
        self.recorder.decide_value(held.item, np.asarray(elements).tolist(), origin)
        return elements

    def shape(self, tensor: Any) -> Any:
        traced = _SHAPE(tensor)
        if traced.rank is None or traced.is_fully_defined():
            return traced
        if tensor.graph is not self.graph:
            return inner_shape(traced, 1) if self.is_open else traced
        return traced if asked_by(*PACKAGES) and not wants_numbers(1) else self._open_shape(tensor, traced)

    def length(self, tensor: Any) -> Any:
        if not (
            isinstance(tensor, ops.SymbolicTensor) and tensor.graph is self.graph and _SHAPE(tensor).rank
        ):
            return None
        return self._open_shape(tensor, _SHAPE(tensor))[0]

    def _open_shape(self, tensor: Any, traced: Any) -> Any:
        held = self.value_of(tensor)
        if not isinstance(held.item, Value):
            return tf.TensorShape(held.made.shape)
        sizes = [Size.of(Symbol(held.item, axis, hint)) for axis, hint in enumerate(held.item.shape)]
        numbers = (symbolic(self, size) if dim is None else dim for dim, size in zip(traced.as_list(), sizes))
        return Shape(traced, tuple(numbers))

    def _is_unknown(self, tensor: Any, axis: int) -> bool:
        is_own = isinstance(tensor, ops.SymbolicTensor) and tensor.graph is self.graph
        return is_own and _SHAPE(tensor)[axis] is None

    def _fixed_shape(self, tensor: Any, axes: Sequence[int]) -> list[int]:
        shape = self._open_shape(tensor, _SHAPE(tensor))
        for axis in axes:
            int(shape[axis])
        return [hint_of(expression_of(size)) for size in shape]

    def _stated_shape(self, tensor: Any, shape: Any) -> Any:
        """Return ``shape``, which the user's code states for ``tensor``, with symbolic numbers replaced."""
        given = getattr(shape, "numbers", shape)
        rows = list(self._rows(given)) if isinstance(given, ops.SymbolicTensor) else given
        numbers = [*map(self.number, rows)] if isinstance(rows, (list, tuple)) else []
        if not any(isinstance(number, (SizeTensor, ops.SymbolicTensor)) for number in numbers):
            return shape
        own = self._open_shape(tensor, _SHAPE(tensor)) if tensor.graph is self.graph else _SHAPE(tensor)
        # Of a shape with another rank, TensorFlow refuses the numbers.
        sizes = own if own.rank == len(numbers) else [None] * len(numbers)
        return [
            self._stated_size(number, size)
            if isinstance(number, (SizeTensor, ops.SymbolicTensor))
            else number
            for number, size in zip(numbers, sizes)
        ]

    @staticmethod
    def _stated_size(number: Any, size: Any) -> int | None:
        return None if type(number) is SizeTensor and size is not None and size == number else int(number)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Patch TensorFlow in this context, so that the user's code can read traced tensors as if eager."""
        names = ("numpy", "__array__", "__bool__", "__int__", "__float__", "__complex__")
        # The patches change classes, so the replacements themselves check that a tensor belongs to this
        # graph.
        places = (
            *((ops.SymbolicTensor, name, method) for name, method in self._methods().items()),
            *((BaseResourceVariable, name, self._variable_method(name)) for name in names),
            *((tf, name, answer) for name, answer in (self._modes() | self._questions()).items()),
            *(
                (tf.TensorShape, name, resolving_partial_shapes(name))
                for name in ("is_compatible_with", "merge_with")
            ),
            (
                tf,
                "ensure_shape",
                lambda x, shape, name=None, said=tf.ensure_shape: said(x, self._stated_shape(x, shape), name),
            ),
            (
                ops.SymbolicTensor,
                "set_shape",
                lambda x, shape, said=tf.Tensor.set_shape: said(x, self._stated_shape(x, shape)),
            ),
            self.graph.stack_patch(),
            input_check(keras, self._is_unknown, self._fixed_shape),
            (OwnedIterator, "__next__", lambda iterator: self._next_element(iterator)),  # noqa: PLW0108
        )
        with replaced(places):
            yield

    def _next_element(self, iterator: Any) -> Any:
        # A traced dataset cannot tell Python that it has no further element.
        raise UnsupportedOperation(
            "a dataset is iterated inside of the function; give its elements as arguments\n    "
            f"{self.locator.locate('tf.data.Dataset.__iter__', 3)}"
        )

    def _variable_method(self, name: str) -> Callable[..., Any]:
        before = getattr(BaseResourceVariable, name)

        def method(variable: Any, *args: Any, **kwargs: Any) -> Any:
            if asked_by("tensorflow.") or tf.compat.v1.get_default_graph() is not self.graph:
                return before(variable, *args, **kwargs)
            return self.answers[name](self.elements(variable.read_value(), f"tf.Variable.{name}"))

        return method

    def _modes(self) -> dict[str, Any]:
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
        # None of these functions would raise. Code that got the other answer would silently take another path
        # than in eager mode.
        def asked(
            name: str, concerns: Callable[[Any], bool], answer: Callable[..., Any]
        ) -> Callable[..., Any]:
            before = getattr(tf, name)

            def function(*args: Any, **kwargs: Any) -> Any:
                # The tensor or condition comes first, even if it is passed by name.
                first = (*args, *kwargs.values())[0]
                return (before if asked_by(*PACKAGES) or not concerns(first) else answer)(*args, **kwargs)

            # This marks the function as converted, so AutoGraph calls it unchanged.
            vars(function)["autograph_info__"] = {}
            return function

        def is_own(item: Any) -> bool:
            return isinstance(item, ops.SymbolicTensor) and item.graph is self.graph

        return {
            "cond": asked("cond", lambda item: isinstance(item, bool), _call_branch),
            "is_tensor": asked("is_tensor", lambda item: type(item) is SizeTensor, lambda x: False),
            "is_symbolic_tensor": asked("is_symbolic_tensor", is_own, lambda tensor: False),
            "get_static_value": asked(
                "get_static_value",
                is_own,
                lambda tensor, partial=False: self.elements(tensor, "tf.get_static_value"),
            ),
        }

    def _text(self, name: str) -> Callable[..., str]:
        before = getattr(ops.SymbolicTensor, name)

        def method(tensor: Any, *args: Any) -> str:
            if tensor.graph is not self.graph or asked_by(*PACKAGES):
                return str(before(tensor, *args))
            # The elements of an error message need no guards.
            if not self.locator.in_message():
                self.elements(tensor, f"tf.Tensor.{name}")
            return str(getattr(self.value_of(tensor).seen, name)(*args))

        return method

    def _reduce(self, tensor: Any) -> Any:
        return tf.constant, (self.elements(tensor, "tf.Tensor.__reduce__"),)

    def _device(self, tensor: Any) -> str:
        return str(
            self.value_of(tensor).seen.device
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
                    raise MissingAttribute(f"a traced tensor has no {name}")
                return before(tensor, *args, **kwargs)

            return method

        return {
            **{name: of_elements(name, answer) for name, answer in self.answers.items()},
            **{
                f"__{kind}{name}__": _with_size_operands(f"__{kind}{name}__")
                for name in _OPERATORS
                for kind in ("", "r")
            },
            **{f"__{name}__": _with_size_operands(f"__{name}__") for name in _COMPARISONS},
            **{name: self._text(name) for name in ("__str__", "__repr__", "__format__")},
            # A tensor never changes, so it is its own copy.
            **dict.fromkeys(("__copy__", "__deepcopy__"), lambda tensor, *memo: tensor),
            # A bound method would not receive the tensor when it is called as an attribute of the class.
            "__reduce__": lambda tensor: self._reduce(tensor),  # noqa: PLW0108
            "__hash__": tf.Tensor.__hash__,
            "device": property(self._device),
            "__iter__": lambda tensor: self._rows(tensor),  # noqa: PLW0108
            "__len__": lambda tensor: int(
                self.length(tensor) if tensor.graph is self.graph else tensor.shape[0]
            ),
            "shape": property(self.shape, tf.Tensor.shape.fset),
        }

    def _rows(self, tensor: Any) -> Iterator[Any]:
        if tensor.graph is not self.graph:
            return iter(tf.Tensor.__iter__(tensor))
        held = self.value_of(tensor)
        count = held.made.shape[0]
        if isinstance(held.item, Value) and _SHAPE(tensor)[0] is None:
            count = self.decide(Size.of(Symbol(held.item, 0, count)))
        return iter(tf.unstack(tensor, num=count))


# These are the original properties, which are replaced during a recording.
_SHAPE, _DEVICE = tf.Tensor.shape.fget, ops.SymbolicTensor.device.fget


def _call_branch(
    pred: bool, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    return true_fn() if pred else false_fn()


def _with_size_operands(name: str) -> Callable[..., Any]:
    original = getattr(tf.Tensor, name)

    @forwards
    def method(tensor: Any, other: Any) -> Any:
        if isinstance(other, list) and name in ("__mul__", "__rmul__") and asked_by("keras."):
            # Keras repeats a list by a size, which is a number in eager mode.
            return NotImplemented
        # Like a Python number, a symbolic number is converted to the dtype of the tensor.
        return original(
            tensor, tf.convert_to_tensor(other, tensor.dtype) if type(other) is SizeTensor else other
        )

    return method
