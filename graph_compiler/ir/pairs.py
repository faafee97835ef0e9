"""Inputs of the body of ``associative_scan``, which combines pairs of elements."""

from __future__ import annotations

from collections.abc import Iterable

from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol
from .node import Value


def pairs_of(sequences: Iterable[tuple[str, ArraySpec]], axis: int, hint: int = 2) -> list[Value]:
    """Return values for the left and the right elements of `sequences` (names and specs).

    The length of `axis` is a symbol of the first value, with the recorded length `hint`.

    >>> left, right = pairs_of([("x", ArraySpec((5, 2), "float32"))], 0)
    >>> left, right, left.shape == right.shape
    (%left_x: float32[left_x.shape[0], 2], %right_x: float32[left_x.shape[0], 2], True)
    """
    given = list(sequences)
    wanted = [(f"{side}_{name}".rstrip("_"), spec) for side in ("left", "right") for name, spec in given]
    pairs = [Value(name, spec) for name, spec in wanted]
    own = Size.of(Symbol(pairs[0], axis, hint))
    for value in pairs:
        value.spec = ArraySpec((*value.shape[:axis], own, *value.shape[axis + 1 :]), value.dtype)
    return pairs
