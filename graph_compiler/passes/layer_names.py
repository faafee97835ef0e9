"""Names of weights that differ by a number: ``encoder.layer.0.weight`` and ``encoder.layer.1.weight``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.graph import Graph
from ..ir.node import Value

_NUMBER = re.compile(r"(\d+)")
_SHORTEST = 3  # letters of a name that says what it is


class Difference(NamedTuple):
    """Two names that differ by one number: the text in front of it and behind it, and the number in either."""

    before: str
    after: str
    one: int
    other: int


def difference(one: str, other: str) -> Difference | None:
    """The one number by which two names differ; None where they are equal or differ otherwise.

    >>> difference("layers.0.fc2.weight", "layers.1.fc2.weight")
    Difference(before='layers.', after='.fc2.weight', one=0, other=1)
    >>> difference("layers.0.fc1.weight", "layers.1.fc2.weight"), difference("norm", "embed")
    (None, None)
    """
    parts, others = _NUMBER.split(one), _NUMBER.split(other)
    places = [place for place, pair in enumerate(zip(parts, others)) if pair[0] != pair[1]]
    if len(parts) != len(others) or len(places) != 1 or not places[0] % 2:
        return None
    place = places[0]
    numbers = parts[place], others[place]
    if any(str(int(number)) != number for number in numbers):  # 01
        return None
    return Difference("".join(parts[:place]), "".join(parts[place + 1 :]), *map(int, numbers))


@dataclass(frozen=True)
class Names:
    """What the arrays of a graph that no node makes are called."""

    of_value: Mapping[Value, str]

    @classmethod
    def of(cls, graph: Graph) -> Names:
        """Of parameters and constants by their own names, of inputs by what they are called in generated code."""
        names = {value: value.name for value in graph.inputs}
        names.update((value, name) for name, value in graph.parameters.items())
        names.update((value, name) for name, (value, _) in graph.constants.items())
        return cls(names)

    def may_differ(self, fewest: int) -> bool:
        """Whether so many names are the same but for numbers."""
        return max(Counter(_NUMBER.sub("", name) for name in self.of_value.values()).values(), default=0) >= fewest

    def difference(self, one: object, other: object) -> Difference | None:
        """By which number two arrays differ."""
        if one is other or not isinstance(one, Value) or not isinstance(other, Value):
            return None
        first, second = self.of_value.get(one), self.of_value.get(other)
        return None if first is None or second is None else difference(first, second)


def word(before: str) -> str:
    """What one of the things is called whose names begin so.

    >>> word("encoder.layers."), word("blocks/block_"), word("transformer.h.")
    ('layer', 'block', 'layer')
    """
    found = re.findall(r"[A-Za-z]+", before)
    last = found[-1].lower() if found else ""
    if len(last) < _SHORTEST:
        return "layer"
    return last[:-1] if last.endswith("s") and not last.endswith("ss") and len(last) > _SHORTEST else last


__all__ = ["Difference", "Names", "difference", "word"]
