"""Arrays that are written to share memory with no other array of the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import Call, Names, Reader, Replaced, Writer, input_number, row
from .overlap import overlap


@dataclass(frozen=True, slots=True)
class DisjointMemory:
    """The inputs ``written``, which are some of ``arrays``, share no memory with the other ``arrays``, nor do their elements with each
    other.

    Where they did, a write to one would show in the other. Noted by frontends whose arrays can be written to, where something is written.
    """

    kind: ClassVar[str] = "disjoint_memory"
    arrays: tuple[int, ...]
    written: tuple[int, ...]

    def _written(self) -> list[int]:
        return [self.arrays.index(number) for number in self.written]

    def lines(self, names: Names) -> list[str]:
        """One call of :func:`~graph_compiler.assumptions.overlap.overlap`."""
        names.bind(overlap=overlap)
        return [names.require(f"not overlap([{', '.join(map(names.given, self.arrays))}], {self._written()})")]

    def broken_by(self, call: Call) -> str | None:
        """That they do."""
        if max(self.arrays) < len(call.leaves) and overlap([call.leaves[number] for number in self.arrays], self._written()):
            return "an array that is written to shares memory with another one, or its elements with each other"
        return None

    def mapped(self, replaced: Replaced) -> DisjointMemory:
        """Itself: a program of the same inputs."""
        return self

    def to_json(self, write: Writer) -> Any:
        """Both lists of inputs."""
        return [list(self.arrays), list(self.written)]

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> DisjointMemory:
        """Numbers of inputs, those that are written to among the arrays."""
        arrays, written = row(data, 2)
        if type(arrays) is not list or type(written) is not list or not written:
            raise InvalidFile("disjoint_memory names no inputs")
        arrays = tuple(input_number(number, read) for number in arrays)
        if any(type(number) is not int or number not in arrays for number in written):
            raise InvalidFile("disjoint_memory names an array that is written to and none of the arrays")
        return cls(arrays, tuple(written))
