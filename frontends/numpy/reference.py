"""Reference runs of the original function: random inputs, and runs without side effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...ir.graph import Graph
from ...ir.node import CallRecord, Node, Origin, Value
from ...passes.lowering.region_checks import TRUTH, canonical
from ...recording.patches.host_random import host_state_kept as restoring_random_state
from ...trees import flatten
from ..common import reference
from ..common.reference import Range, random_array
from .calls import METHOD, as_array, is_array
from .parameters import NumpyWeights


def recorded(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """Return a recorded NumPy call that computes the canonical operation ``op``."""
    made = Value("held", TRUTH) if op == "array" else canonical(op, inputs, params, origin).outputs[0]
    if op == "getitem":
        return Node(
            f"{METHOD}__getitem__",
            (*inputs, params["key"]),
            {},
            origin,
            (made,),
            CallRecord("__getitem__", result=made),
        )
    return Node(f"numpy.{op}", inputs, dict(params), origin, (made,), CallRecord(op, result=made))


# NumPy arrays do not count writes.
watching = None
COPY = "numpy.copy"
RANDOM_STATE = ("numpy.random.get_state", "numpy.random.set_state")
Array = np.ndarray[Any, Any]


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Array]:
    return [as_array(leaf) for leaf in flatten((args, kwargs), is_array)[0]]


def saved(array: Array) -> Callable[[], None]:
    before = array.copy()
    return lambda: np.copyto(array, before)


def ranges(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Range, ...]:
    return tuple(map(_range, leaves(args, kwargs)))


def _range(array: Array) -> Range:
    # An empty array has no smallest element, and complex numbers have no order.
    if array.size == 0 or array.dtype.kind == "c":
        return (0.0, 0.0)
    return (float(array.min()), float(array.max()))


def fresh(shape: Sequence[int], dtype: str, seen: Range, seed: int) -> Array:
    """Return a random array of this ``shape`` and ``dtype``.

    >>> fresh((2,), "int64", (3.0, 3.0), seed=0)
    array([3, 3])
    """
    return np.asarray(random_array(shape, dtype, seen, seed)).astype(dtype)


def with_facts(array: Array, facts: Mapping[str, Any]) -> Array:
    """Return ``array``, in the memory order ``facts["packing"]`` if a transposed contiguous array has it.

    >>> with_facts(np.zeros((2, 3)), {"packing": (1, 0, 1, 1)}).strides
    (8, 16)
    """
    packing = facts.get("packing", True)
    if packing is True or not all(packing[len(packing) // 2 :]):
        return array
    order = packing[: len(packing) // 2]
    whole = (*(axis for axis in range(array.ndim) if axis not in order), *order)
    return np.ascontiguousarray(array.transpose(whole)).transpose(np.argsort(whole))


def copied(leaves: Sequence[Any]) -> list[Any]:
    return [leaf.copy() for leaf in leaves]


@contextmanager
def restoring_state(weights: NumpyWeights, seed: int) -> Iterator[None]:
    places = [(place, place.saved()) for place in weights.kept.places]
    kept = [leaf for _, held in places for leaf in flatten(held, is_array)[0] if isinstance(leaf, np.ndarray)]
    own = [
        (place, array) for place in weights.places.values() if isinstance(array := place.read(), np.ndarray)
    ]
    put_back = [saved(array) for array in (*kept, *(array for _, array in own))]
    with restoring_random_state():
        # NumPy accepts no larger seed.
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            for undo in put_back:
                undo()
            for place, array in own:
                place.write(array)
            for kept_place, before in places:
                kept_place.write(before)


def to_numpy(array: Any) -> Any:
    return np.asarray(array)


def observe(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, list[Array]]]:
    return []


def with_intermediates(graph: Graph) -> tuple[Graph, list[Value]]:
    return reference.with_intermediates(graph, COPY, effects=[])
