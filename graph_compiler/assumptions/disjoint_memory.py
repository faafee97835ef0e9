"""Assumption that arrays which are written to share no memory with other arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import Call, Names, Reader, Replaced, Writer, input_number, row
from .overlap import overlap


@dataclass(frozen=True, slots=True)
class DisjointMemory:
    """The inputs `written`, a subset of `arrays`, share no memory with the other `arrays`, and no two of
    their elements overlap.

    Otherwise a write to one array would show in another. Frontends with mutable arrays add it if something
    is written.
    """

    kind: ClassVar[str] = "disjoint_memory"
    arrays: tuple[int, ...]
    written: tuple[int, ...]

    def _written(self) -> list[int]:
        return [self.arrays.index(number) for number in self.written]

    def lines(self, names: Names) -> list[str]:
        names.bind(overlap=overlap)
        return [names.require(f"not overlap([{', '.join(map(names.given, self.arrays))}], {self._written()})")]

    def broken_by(self, call: Call) -> str | None:
        if max(self.arrays) < len(call.leaves) and overlap([call.leaves[number] for number in self.arrays], self._written()):
            return "an array that is written to shares memory with another one, or its elements with each other"
        return None

    def mapped(self, replaced: Replaced) -> DisjointMemory:
        return self

    def to_json(self, write: Writer) -> Any:
        return [list(self.arrays), list(self.written)]

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> DisjointMemory:
        arrays, written = row(data, 2)
        if type(arrays) is not list or type(written) is not list or not written:
            raise InvalidFile("disjoint_memory names no inputs")
        arrays = tuple(input_number(number, read) for number in arrays)
        if any(type(number) is not int or number not in arrays for number in written):
            raise InvalidFile("disjoint_memory names an array that is written to and none of the arrays")
        return cls(arrays, tuple(written))
