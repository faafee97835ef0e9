"""Assumption that arrays which are written to share no memory with other arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidFile
from ..ir.assumption import (
    JsonReader,
    JsonWriter,
    MatcherNames,
    MismatchedCall,
    Substitution,
    input_number,
    row,
)

# Limit of combinations of steps that are tried. The stubs of NumPy know only two special values.
_MOST_WORK: Any = 10_000


def overlap(arrays: Sequence[Any], written: Sequence[int]) -> bool:
    """Return True if an array in `written` (indices) shares memory with another array or overlaps itself.

    Arrays that tell neither strides nor an address never overlap.
    """
    # Arrays that own contiguous memory, each passed once, cannot overlap. This is the common case.
    if all(map(_is_apart, arrays)) and len(set(map(id, arrays))) == len(arrays):
        return False
    places = [_place(array) for array in arrays]
    return any(map(_repeats, (arrays[index] for index in written))) or any(
        a[0] < b[1] and b[0] < a[1] and lie_together(arrays[index], arrays[other])
        for index in written
        if (a := places[index])
        for other, b in enumerate(places)
        if other != index and b
    )


def _is_apart(array: Any) -> bool:
    return type(array) is np.ndarray and (flags := array.flags).owndata and flags.forc


def lie_together(one: Any, other: Any) -> bool:
    """Return True if two arrays share an element in memory, or if deciding that would take too long.

    >>> import numpy as np
    >>> x = np.zeros((3, 4))
    >>> lie_together(x[:, ::2], x[:, 1::2]), lie_together(x[1:], x[:2])
    (False, True)
    """
    try:
        return np.shares_memory(np.asarray(_Steps(one)), np.asarray(_Steps(other)), max_work=_MOST_WORK)
    except np.exceptions.TooHardError:
        return True


class _Steps:
    """Array interface with the memory layout of an array. Its elements are not read."""

    def __init__(self, array: Any) -> None:
        given = getattr(array, "__array_interface__", None) if hasattr(array, "strides") else None
        size = array.itemsize if given else array.element_size()
        steps = array.strides if given else tuple(step * size for step in array.stride())
        start = given["data"][0] if given else array.data_ptr()
        self.__array_interface__ = {
            "version": 3,
            "data": (start, True),
            "shape": tuple(array.shape),
            "strides": steps,
            # Only the number of bytes matters, and NumPy lacks some dtypes, such as bfloat16.
            "typestr": f"|V{size}",
        }


def _repeats(array: Any) -> bool:
    """Return True if two elements may share memory, as in expanded arrays and sliding windows."""
    strides = getattr(array, "strides", None) or (array.stride() if hasattr(array, "stride") else ())
    reach = 0
    for step, size in sorted((abs(step), size) for step, size in zip(strides, array.shape) if size != 1):
        if step <= reach:
            return 0 not in array.shape
        reach += step * (size - 1)
    return False


def _place(array: Any) -> tuple[int, int] | None:
    """Return the address range of an array, or None if it is empty or has no address."""
    if hasattr(array, "strides") and not hasattr(array, "data_ptr"):
        start = array.__array_interface__["data"][0]
        reach = sum((size - 1) * step for size, step in zip(array.shape, array.strides)) + array.itemsize
        return (start, start + reach) if array.size else None
    if not hasattr(array, "data_ptr") or not array.numel():
        return None
    start = array.data_ptr()
    reach = sum((size - 1) * step for size, step in zip(array.shape, array.stride())) + 1
    return start, start + reach * array.element_size()


@dataclass(frozen=True, slots=True)
class DisjointMemory:
    """Assumption that arrays which are written to share no memory, neither with others nor within themselves.

    Otherwise a write to one array would show in another. Frontends with mutable arrays add it if something
    is written.

    arrays: indices of inputs.
    written: those of `arrays` that are written to.
    """

    kind: ClassVar[str] = "disjoint_memory"
    arrays: tuple[int, ...]
    written: tuple[int, ...]

    def _written(self) -> list[int]:
        return [self.arrays.index(number) for number in self.written]

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(overlap=overlap)
        return [
            names.require(f"not overlap([{', '.join(map(names.given, self.arrays))}], {self._written()})")
        ]

    def broken_by(self, call: MismatchedCall) -> str | None:
        if max(self.arrays) < len(call.leaves) and overlap(
            [call.leaves[number] for number in self.arrays], self._written()
        ):
            return (
                "an array that is written to shares memory with another one, or its elements with each other"
            )
        return None

    def mapped(self, replaced: Substitution) -> DisjointMemory:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return [list(self.arrays), list(self.written)]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> DisjointMemory:
        arrays, written = row(data, 2)
        if type(arrays) is not list or type(written) is not list or not written:
            raise InvalidFile("disjoint_memory names no inputs")
        arrays = tuple(input_number(number, read) for number in arrays)
        if any(type(number) is not int or number not in arrays for number in written):
            raise InvalidFile("disjoint_memory names an array that is written to and none of the arrays")
        return cls(arrays, tuple(written))
