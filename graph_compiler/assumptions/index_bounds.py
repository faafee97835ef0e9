"""Assumption about the bounds of index arrays, checked if their elements are available on the host."""

from __future__ import annotations

import dataclasses
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
from ..sizes import Size, substitute

_UNSIGNED = {np.dtype(f"int{bits}"): np.dtype(f"uint{bits}") for bits in (32, 64)}
# As unsigned 32-bit numbers, negative indices are at least this large, so a bound must not exceed it.
_LARGEST = 2**31


@dataclass(frozen=True, slots=True)
class IndexBounds:
    """Assumption that the elements of an input lie in `[low, high)`, or equal `besides`.

    Targets clamp an index out of bounds, or return NaN, where the source framework raises. Lifting rows
    add it.

    number: index of the input.
    low, high: ints or sizes of inputs.
    besides: another permitted element; None if there is none.
    """

    kind: ClassVar[str] = "index_bounds"
    number: int
    low: Any
    high: Any
    besides: int | None = None

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(lies_within=lies_within)
        texts = [
            item.text(names.size) if isinstance(item, Size) else repr(item)
            for item in (self.low, self.high, self.besides)
        ]
        return [
            names.require(
                f"(elements := {names.on_host(self.number)}) is None or lies_within(elements, "
                f"{', '.join(texts)})"
            )
        ]

    def broken_by(self, call: MismatchedCall) -> str | None:
        low, high = (
            substitute(item, call.size) if isinstance(item, Size) else item for item in (self.low, self.high)
        )
        elements = call.on_host(self.number)
        if elements is None or lies_within(elements, low, high, self.besides):
            return None
        return f"the indices {call.inputs[self.number].name} do not lie in [{low}, {high})"

    def mapped(self, replaced: Substitution) -> IndexBounds:
        return dataclasses.replace(self, low=replaced(self.low), high=replaced(self.high))

    def to_json(self, write: JsonWriter) -> Any:
        return [self.number, write.item(self.low), write.item(self.high), self.besides]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> IndexBounds:
        number, low, high, besides = row(data, 4)
        low, high = read.item(low), read.item(high)
        if not all(type(item) is int or isinstance(item, Size) for item in (low, high)) or type(
            besides
        ) not in (int, type(None)):
            raise InvalidFile("bounds of indices are no sizes")
        symbols = [symbol for item in (low, high) if isinstance(item, Size) for symbol in item.symbols()]
        if not all(symbol.source in read.inputs and symbol.kind == "size" for symbol in symbols):
            raise InvalidFile("bounds of indices are those of no inputs")
        return cls(input_number(number, read), low, high, besides)


def lies_within(elements: Any, low: int, high: int, besides: int | None = None) -> bool:
    """Return True if all elements of a numpy array lie in `[low, high)` or equal `besides`.

    >>> import numpy
    >>> inside, outside = numpy.array([0, 3]), numpy.array([-1, 3])
    >>> lies_within(inside, 0, 4), lies_within(outside, 0, 4), lies_within(outside, 0, 4, besides=-1)
    (True, False, True)
    """
    if besides is not None:
        elements = elements[elements != besides]
    unsigned = _UNSIGNED.get(elements.dtype)
    # One reduction instead of two: as unsigned numbers, negative ones are the largest. Every call of a small
    # model waits for this.
    if unsigned is not None and low == 0 <= high <= _LARGEST:
        return elements.size == 0 or bool(np.maximum.reduce(elements.view(unsigned), axis=None) < high)
    return elements.size == 0 or bool(elements.min() >= low and elements.max() < high)
