"""Names of weights that differ by a number: ``encoder.layer.0.weight`` and ``encoder.layer.1.weight``."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.graph import Graph
from ..ir.node import Value

_NUMBER = re.compile(r"(\d+)")
_SEPARATOR = re.compile(r"[./]")
_PART = re.compile(r"(.*?)_?(\d*)", re.DOTALL)
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


class Numbering(NamedTuple):
    """Two names of which the parts from ``place`` on have other numbers: the parts without numbers, and the first of these numbers."""

    parts: tuple[str, ...]
    place: int
    one: int
    other: int

    @property
    def inside(self) -> str:
        """What the array is called in its layer."""
        return "_".join(filter(None, self.parts[self.place + 1 :]))


def numbering(one: str, other: str) -> Numbering | None:
    """Where two names have other numbers, at the ends of parts of their paths; a part without a number has the number 0, as in Keras.

    >>> numbering("residual/dense_1/kernel", "residual_1/dense_3/kernel")
    Numbering(parts=('residual', 'dense', 'kernel'), place=0, one=0, other=1)
    >>> numbering("layers.0.fc1.weight", "layers.1.fc1.weight").inside, numbering("norm", "embed")
    ('fc_weight', None)
    """
    parts, others = _parts(one), _parts(other)
    bare = tuple(text for text, _ in parts)
    place = next((place for place, (first, second) in enumerate(zip(parts, others)) if first != second), None)
    if place is None or bare != tuple(text for text, _ in others):
        return None
    return Numbering(bare, place, parts[place][1], others[place][1])


@functools.lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[tuple[str, int], ...]:
    found = (_PART.fullmatch(part) for part in _SEPARATOR.split(name))
    return tuple([(part[1], int(part[2] or 0)) for part in found if part is not None])


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
        bare = Counter(tuple(text for text, _ in _parts(name)) for name in self.of_value.values())
        return max(bare.values(), default=0) >= fewest

    def numbering(self, one: object, other: object) -> Numbering | None:
        """By which numbers two arrays differ."""
        if one is other or not isinstance(one, Value) or not isinstance(other, Value):
            return None
        first, second = self.of_value.get(one), self.of_value.get(other)
        return None if first is None or second is None else numbering(first, second)


def word(parts: Sequence[str]) -> str:
    """What one of the things is called whose paths begin with these parts.

    >>> word(["encoder", "layers", ""]), word(["residual_block"]), word(["transformer", "h", ""])
    ('layer', 'block', 'layer')
    """
    found = re.findall(r"[A-Za-z]+", " ".join(parts))
    last = found[-1].lower() if found else ""
    if len(last) < _SHORTEST:
        return "layer"
    return last[:-1] if last.endswith("s") and not last.endswith("ss") and len(last) > _SHORTEST else last
