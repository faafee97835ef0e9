"""The original function as a reference: random inputs for it, and runs without side effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import tensorflow as tf

from ...forwarding import forward
from ...ir.graph import Graph
from ...ir.node import Value
from ...trees import flatten
from ..common import reference
from ..common.reference import Range, random_array
from . import tracing as arguments
from .names import dtype_of_array
from .variables import VariableWeights

# Tensors never change, so there is nothing to save or watch.
saved = watching = None
COPY = "tf.identity"
# No call reads or sets the state of TensorFlow's global generator.
RANDOM_STATE = ("", "")


def is_array(item: Any) -> bool:
    return arguments.is_array(item)


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return list(map(arguments.as_tensor, flatten((args, kwargs), arguments.is_array, arguments.opens)[0]))


def ranges(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Range, ...]:
    return tuple(map(_range, leaves(args, kwargs)))


def _range(array: Any) -> Range:
    if not hasattr(array, "numpy") or array.dtype.is_complex or 0 in array.shape:
        return (0.0, 0.0)
    plain = to_numpy(array).astype(np.float64)
    return (float(plain.min()), float(plain.max()))


def fresh(shape: Sequence[int], dtype: str, seen: Range, seed: int) -> Any:
    """Return a random tensor of this ``shape`` and ``dtype``, the same for the same ``seed``.

    ``seen`` are the bounds of the original's elements, which :func:`random_array` uses.

    >>> fresh((2,), "int32", (3.0, 3.0), seed=0).numpy().tolist()
    [3, 3]
    """
    return tf.constant(random_array(shape, dtype, seen, seed).astype(tf.as_dtype(dtype).as_numpy_dtype))


def with_facts(array: Any, facts: Mapping[str, Any]) -> Any:
    return array


def copied(leaves: Sequence[Any]) -> list[Any]:
    return list(leaves)


def to_numpy(array: Any) -> Any:
    # NumPy has no bfloat16.
    return np.asarray(
        (
            tf.cast(array, tf.float32) if dtype_of_array(array) == "bfloat16" else tf.convert_to_tensor(array)
        ).numpy()
    )


def restoring_random_state() -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def restoring_state(weights: VariableWeights, seed: int) -> Iterator[None]:
    # The kernels that draw have states of their own, so ``seed`` is not used.
    places = [(place, place.saved()) for place in weights.places]
    with (
        weights.mode.applied(),
        weights.holding({name: variable.read_value() for name, variable in weights.variables.items()}),
    ):
        try:
            yield
        finally:
            for place, before in places:
                place.write(before)


def observe(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, list[Any]]]:
    forward(function, *args, **kwargs)
    return []


def with_intermediates(graph: Graph) -> tuple[Graph, list[Value]]:
    return reference.with_intermediates(graph, effects=[])
