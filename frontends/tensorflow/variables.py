"""The variables of models and modules, which are the parameters of a graph, named by their paths."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record
from tensorflow.python.trackable.autotrackable import AutoTrackable

from ... import contracts
from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...recording.environment_guards import EnvironmentGuard
from ...recording.state.places import StatePlace
from ...sizes import Size, Symbol
from .names import dtype_name
from .outside import array_of
from .process_state import Mode


@dataclass(frozen=True, slots=True)
class TensorValue:
    """Tensor of a traced graph, with its item in the recording and its array.

    item: the ``Value`` of the graph; an object array of numbers and symbolic sizes, for small arrays whose
        elements are known while recording; an object such as ``PartialList``, for a list of TensorFlow; None
        for strings, handles and the like.
    made: the array, or a :class:`~graph_compiler.frontends.tensorflow.outside.LazyArray`.
    """

    item: Any
    made: Any

    @property
    def seen(self) -> Any:
        return array_of(self.made)

    @property
    def spec(self) -> ArraySpec:
        return self.item.spec if isinstance(self.item, Value) else spec_of(self.made)


def spec_of(array: Any) -> ArraySpec:
    return ArraySpec(tuple(array.shape), dtype_name(array.dtype))


def sizes_of(held: TensorValue, tensor: Any) -> tuple[Any, ...]:
    """Return the sizes of ``held``: numbers where the size of ``tensor`` is static, otherwise symbols.

    If ``held`` has no value in the recording, all sizes are those of its array.
    """
    if not isinstance(held.item, Value):
        return tuple(held.made.shape)
    dims = tensor.shape.as_list() if tensor.shape.rank is not None else [None] * held.item.ndim
    known = zip(dims, held.item.shape)
    return tuple(
        hint if dim is not None else Size.of(Symbol(held.item, axis, hint))
        for axis, (dim, hint) in enumerate(known)
    )


def named_variables(objects: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield ``(name, variable)`` for the variables among ``objects``, and for those of models and modules.

    Names and variables may repeat.
    """
    for item in objects:
        if isinstance(item, keras.Variable):
            yield item.path, item
        # Layers and modules are ``AutoTrackable`` too, so they come before it.
        elif isinstance(item, (keras.Layer, keras.optimizers.Optimizer, keras.Metric)):
            yield from ((variable.path, variable) for variable in item.variables)
        elif isinstance(item, tf.Module):
            yield from _module_variables(item)
        elif isinstance(item, AutoTrackable):
            yield from _saved_model_variables(item)
        elif isinstance(item, tf.Variable):
            yield str(item.name).partition(":")[0], item


def _module_variables(module: tf.Module) -> Iterator[tuple[str, Any]]:
    yield from named_variables(
        part for part in module._flatten(predicate=lambda item: isinstance(item, keras.Layer))
    )
    for path, variable in module._flatten(
        predicate=lambda item: isinstance(item, tf.Variable), with_path=True
    ):
        yield ".".join(map(str, path)), variable


def _saved_model_variables(item: Any) -> Iterator[tuple[str, Any]]:
    waiting, seen = [("", item)], {id(item)}
    while waiting:
        path, holder = waiting.pop(0)
        for name, child in holder._trackable_children().items():
            if isinstance(child, tf.Variable):
                yield f"{path}{name}", child
            elif id(child) not in seen:
                seen.add(id(child))
                waiting.append((f"{path}{name}.", child))


def variable_of(variable: Any) -> Any:
    return variable._value if isinstance(variable, keras.Variable) else variable


class VariableWeights(contracts.Weights):
    """Variables that a function may read or assign, by name.

    places: state outside of variables.
    """

    def __init__(self, objects: Iterable[Any], mode: Mode) -> None:
        objects, self.mode = list(objects), mode
        self.places: tuple[StatePlace, ...] = ()
        self._has_layers = any(isinstance(item, keras.Layer) for item in objects)
        # Names by the id of the handle.
        self._names: dict[int, str] = {}
        self.variables: dict[str, Any] = {}
        # Keras variables instead of the TensorFlow variables that they wrap, because ``trainable`` is theirs.
        self._marked: dict[str, Any] = {}
        for name, variable in named_variables(objects):
            self._add(name, variable)

    def _add(self, name: str, given: Any) -> str:
        variable = variable_of(given)
        number = id(variable.handle)
        if number not in self._names:
            # Two models may have layers of the same name.
            wish, count = name, 0
            while name in self.variables:
                count += 1
                name = f"{wish}_{count}"
            self._names[number], self.variables[name], self._marked[name] = name, variable, given
        return self._names[number]

    def name_of(self, handle: Any, watched: Iterable[Any]) -> str | None:
        """Return the name of the variable with this handle, or None.

        An unknown variable that is in ``watched`` gets a name.
        """
        if id(handle) not in self._names:
            for name, variable in named_variables(item for item in watched if item.handle is handle):
                self._add(name, variable)
        return self._names.get(id(handle))

    # ------------------------------------------------------------------------------ modes
    @property
    def has_modes(self) -> bool:
        return self._has_layers

    def set_training(self, mode: bool) -> None:
        self.mode.training = mode

    def in_mode(self, mode: bool) -> AbstractContextManager[None]:
        return self.mode.using(mode)

    def is_training(self) -> bool:
        return bool(self.mode.training) if self.has_modes else True

    def guards(self, names: Iterable[str]) -> list[EnvironmentGuard]:
        """Return guards on shapes, and on ``trainable`` if one of the attributes ``names`` depends on it."""
        asked = (
            [pair for pair in self._marked.items() if isinstance(pair[1], keras.Variable)]
            if not _ASKED.isdisjoint(names)
            else []
        )
        return [
            *(
                EnvironmentGuard(
                    "tuple({}.read_value().shape) == {}",
                    (one, tuple(one.read_value().shape)),
                    f"the shape of the variable {name}",
                )
                for name, one in self.variables.items()
                if not one.shape.is_fully_defined()
            ),
            *(
                EnvironmentGuard(
                    "{}.trainable is {}",
                    (one, one.trainable),
                    f"whether the variable {name} is trainable",
                    vars(one),
                )
                for name, one in asked
            ),
        ]

    # ------------------------------------------------------------------------------ current arrays
    def live(self, names: Iterable[str]) -> LiveVariables:
        return LiveVariables({name: self.variables[name] for name in names})

    def buffers(self) -> list[Any]:
        return [variable for name, variable in self.variables.items() if not self.is_trained(name)]

    def owner_of(self, name: str) -> Any:
        return self.variables[name]

    def rebind(self, name: str, array: Any) -> None:
        self.variables[name].assign(array)

    def set_elements(self, name: str, elements: Any, rebound: bool) -> Any:
        self.rebind(name, tf.constant(elements, self.variables[name].dtype))
        return self.variables[name].read_value()

    def is_trained(self, name: str) -> bool:
        variable = self.variables[name]
        return bool(self._marked[name].trainable) and bool(
            variable.dtype.is_floating or variable.dtype.is_complex
        )

    @contextmanager
    def holding(self, values: Mapping[str, Any]) -> Iterator[None]:
        before = {name: self.variables[name].read_value() for name in values}
        try:
            for name, array in values.items():
                self.rebind(name, array)
            yield
        finally:
            for name, array in before.items():
                self.rebind(name, array)


_ASKED = frozenset(
    {
        "trainable",
        "trainable_variables",
        "trainable_weights",
        "non_trainable_variables",
        "non_trainable_weights",
    }
)
# With more variables than the first number, from the call after the second number on, one compiled function
# reads all of them. Fewer would not make up for the time of tracing it.
# Read one by one, 262 variables took 10 of the 16 ms of a call of MobileNetV2.
_MANY, _OFTEN = 24, 8


class LiveVariables(contracts.Live):
    """Callable that returns the current arrays of variables, by name.

    Several calls may return the same dict.
    """

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = dict(variables)
        self._held: dict[str, Any] = {}
        self._places: dict[str, Any] = {}
        self._calls = 0

    @property
    def is_captured(self) -> bool:
        return all(variable.shape.is_fully_defined() for variable in self._variables.values())

    def __call__(self) -> dict[str, Any]:
        if not tf.executing_eagerly() or record.could_possibly_record():
            # A tape or a graph must see that the variables are read.
            return {name: variable.read_value() for name, variable in self._variables.items()}
        self._calls += 1
        together = self._calls > _OFTEN and len(self._variables) > _MANY
        read = dict(zip(self._variables, self._together() if together else self._read()))
        # A stored tensor keeps its buffer alive, so an assignment moves the variable to another buffer.
        # A read shares the buffer of the variable, so comparing addresses needs no comparison of elements.
        places = {name: _buffer_address(tensor) for name, tensor in read.items()}
        if places != self._places or None in places.values():
            same = {
                name
                for name, place in places.items()
                if place is not None and self._places.get(name) == place
            }
            self._held = {name: self._held[name] if name in same else tensor for name, tensor in read.items()}
            self._places = places
        return self._held

    def _read(self) -> list[Any]:
        return [
            tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
            for variable in self._variables.values()
        ]

    @functools.cached_property
    def _together(self) -> Any:
        return tf.function(self._read, autograph=False).get_concrete_function()


def _buffer_address(tensor: Any) -> Any:
    # A buffer on a GPU is exported as a temporary copy, whose address may be that of an earlier one.
    if "GPU" in tensor.device:
        return None
    # Python's buffer protocol has no bfloat16. A bitcast shares the memory.
    plain = tf.bitcast(tensor, tf.uint16) if tensor.dtype is tf.bfloat16 else tensor
    try:
        return np.frombuffer(plain, np.uint8).__array_interface__["data"][0]
    except ValueError:
        return 0
