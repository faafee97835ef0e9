"""Assumption about which arguments are the same object."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import JsonReader, JsonWriter, MatcherNames, MismatchedCall, Substitution
from ..ir.graph import Graph

# Index for an input that is no array, or whose identity does not matter.
NO_ARRAY = -1


@dataclass(frozen=True, slots=True)
class SameArray:
    """Assumption about which inputs are the same object.

    Inputs that were one object while recording are one object in each call, and distinct ones are
    distinct, since a write to one shows in the other. Frontends with mutable arrays add it once.

    firsts: for each input, the index of the first input that is the same object; `NO_ARRAY` if its
        identity does not matter.
    """

    kind: ClassVar[str] = "same_array"
    firsts: tuple[int, ...]

    def apart(self) -> list[int]:
        return [number for number, first in enumerate(self.firsts) if first == number]

    def lines(self, names: MatcherNames) -> list[str]:
        is_one = [
            names.require(f"{names.given(number)} is {names.given(first)}")
            for number, first in enumerate(self.firsts)
            if first not in (number, NO_ARRAY)
        ]
        apart = [names.given(number) for number in self.apart()]
        # For two arrays a comparison costs less than a set, and most calls have few.
        if len(apart) == 2:
            return [*is_one, names.require(f"{apart[0]} is not {apart[1]}")]
        if len(apart) > 2:
            return [
                *is_one,
                names.require(f"len({{{', '.join(f'id({name})' for name in apart)}}}) == {len(apart)}"),
            ]
        return is_one

    def broken_by(self, call: MismatchedCall) -> str | None:
        arrays = [number for number, first in enumerate(self.firsts[: len(call.leaves)]) if first != NO_ARRAY]
        for number, other in itertools.combinations(arrays, 2):
            is_one = call.leaves[number] is call.leaves[other]
            if is_one != (self.firsts[number] == self.firsts[other]):
                now, then = ("one array", "two") if is_one else ("two arrays", "one")
                names = f"{call.inputs[number].name} and {call.inputs[other].name}"
                return f"{names} are {now} and were {then} while recording"
        return None

    def mapped(self, replaced: Substitution) -> SameArray:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return list(self.firsts)

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> SameArray:
        if (
            type(data) is not list
            or len(data) > len(read.inputs)
            or not all(type(first) is int for first in data)
        ):
            raise InvalidFile("same_array has no numbers of inputs")
        if not all(
            first == NO_ARRAY or 0 <= first <= number and data[first] == first
            for number, first in enumerate(data)
        ):
            raise InvalidFile("same_array has numbers of what is no first array")
        return cls(tuple(data))


def first_of_each(graph: Graph) -> list[int]:
    """Return, for each input, the index of the first input that is the same object.

    It is the input's own index if nothing is assumed.
    """
    known = [first for assumption in graph.assumed(SameArray) for first in assumption.firsts]
    return [
        known[number] if number < len(known) and known[number] != NO_ARRAY else number
        for number in range(len(graph.inputs))
    ]
