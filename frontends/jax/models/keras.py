"""Models, layers, optimizers and metrics of Keras on its JAX backend."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax

from .nnx import VariableModel


class KerasModel(VariableModel):
    """Model of a Keras object. Its variables are named by their paths (``dense/kernel``).

    A number is appended if two variables have the same path.
    """

    def __init__(self, item: Any) -> None:
        named: dict[str, Any] = {}
        for variable in item.variables:
            named[_unused_name(variable.path, named)] = variable
        super().__init__(item, named)

    def arrays(self) -> dict[str, Any]:
        return {name: _array(variable) for name, variable in self._variables.items()}

    def put(self, name: str, array: Any) -> None:
        self._variables[name].assign(array)

    def is_trained(self, name: str) -> bool:
        return bool(self._variables[name].trainable) and hasattr(self.item, "trainable_variables")

    def parts(self) -> list[Any]:
        return [*layers_of(self.item), *self._variables.values()]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], dict[str, Any]]]]:
        before = self.arrays()
        try:
            for name, variable in self._variables.items():
                variable._value = arrays[name]
            yield self.item, self.arrays
        finally:
            for name, variable in self._variables.items():
                variable._value = before[name]


def _array(variable: Any) -> jax.Array:
    value: jax.Array = variable._value if variable._value is not None else variable.value
    return value


def _unused_name(name: str, known: Mapping[str, Any]) -> str:
    numbered = (f"{name}_{number}" for number in range(1, len(known) + 2))
    return name if name not in known else next(one for one in numbered if one not in known)


def is_keras(item: Any) -> bool:
    keras = sys.modules.get("keras")
    # Without an import by the user there can be no objects of Keras, and an import takes long.
    if keras is None or not hasattr(keras, "Layer") or keras.backend.backend() != "jax":
        return False
    return isinstance(item, (keras.Layer, keras.optimizers.Optimizer, keras.metrics.Metric))


def layers_of(item: Any) -> list[Any]:
    return list(item._flatten_layers()) if hasattr(item, "_flatten_layers") else [item]
