"""Assumption about properties of arrays such as `requires_grad` or stride order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Union

from ..errors import InvalidFile
from ..ir.assumption import JsonReader, JsonWriter, MatcherNames, MismatchedCall, Substitution, row
from ..ir.graph import Graph
from ..registration import trait

Fact = Union[bool, str, tuple[int, ...]]

# Name of a device.
_NAME = re.compile(r"[a-z]+(:\d+)?")

# Facts of memory, which arrays of several frameworks have, with the end of a message about an array that
# differs from the recording. All other facts belong to a framework (``Traits.facts``).
_WORDS = {
    "layout": "lies in memory in another order than while recording, by which the function decided",
    "is_contiguous": "is contiguous, or is not, other than while recording",
}


@dataclass(frozen=True, slots=True)
class InputFact:
    """Assumption about one property of the first inputs, such as `requires_grad`.

    Frontends add it if a function reads the property, or if its result depends on it.

    fact: name of the property (see :func:`fact_of`).
    expected: its value for each of the inputs: a bool, a name, or an order of axes.
    """

    kind: ClassVar[str] = "input_fact"
    fact: str
    expected: tuple[Fact, ...]

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(**{f"{self.fact}_of": _reader(self.fact)})
        return [
            names.require(
                f"{self.fact}_of({names.given(number)}) {'is' if isinstance(wanted, bool) else '=='} "
                f"{wanted!r}"
            )
            for number, wanted in enumerate(self.expected)
        ]

    def broken_by(self, call: MismatchedCall) -> str | None:
        for value, leaf, wanted in zip(call.inputs, call.leaves, self.expected):
            if fact_of(leaf, self.fact) != wanted:
                return f"{value.name} {_WORDS.get(self.fact) or trait('facts')[self.fact].words}"
        return None

    @property
    def is_of_source(self) -> bool:
        return self.fact not in _WORDS and trait("facts")[self.fact].is_of_source

    def mapped(self, replaced: Substitution) -> InputFact:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return [
            self.fact,
            [list(wanted) if isinstance(wanted, tuple) else wanted for wanted in self.expected],
        ]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> InputFact:
        fact, expected = row(data, 2)
        if (
            type(fact) is not str
            or fact not in {*_WORDS, *trait("facts")}
            or type(expected) is not list
            or len(expected) > len(read.inputs)
        ):
            raise InvalidFile(f"{fact!r:.80} is no fact of inputs")
        return cls(fact, tuple(map(_read_fact, expected)))


def _read_fact(item: Any) -> Fact:
    if type(item) is bool or type(item) is str and _NAME.fullmatch(item):
        return item
    if type(item) is not list or not all(type(number) is int for number in item):
        raise InvalidFile(f"{item!r:.80} is no fact of an input")
    return tuple(item)


def assume_fact(graph: Graph, fact: str, expected: Sequence[Fact]) -> None:
    """Assume that the property `fact` of the first inputs has the values `expected`.

    If the graph has an assumption about this property already, keep the one about more inputs.
    """
    known = next((one for one in graph.assumed(InputFact) if one.fact == fact), None)
    if known is None:
        graph.assume(InputFact(fact, tuple(expected)))
    elif len(expected) > len(known.expected):
        wider = InputFact(fact, tuple(expected))
        graph.assumptions = tuple(wider if one is known else one for one in graph.assumptions)


def fact_of(array: Any, fact: str) -> Fact:
    """Return a property of an array: `"is_contiguous"`, `"layout"` or one that a framework registered.

    Objects that do not tell whether they are contiguous count as contiguous.
    """
    return _reader(fact)(array)


def _reader(fact: str) -> Callable[[Any], Fact]:
    own: dict[str, Callable[[Any], Fact]] = {"layout": _layout, "is_contiguous": _is_contiguous}
    found: Callable[[Any], Fact] = own[fact] if fact in own else trait("facts")[fact].read
    return found


def _is_contiguous(array: Any) -> bool:
    if hasattr(array, "flags"):
        return bool(array.flags.c_contiguous)
    return bool(array.is_contiguous()) if hasattr(array, "is_contiguous") else True


def _layout(array: Any) -> Fact:
    """Return True for row-major order; otherwise the axes from outermost to innermost in memory.

    If there are gaps, the strides in elements follow.

    >>> import numpy as np
    >>> x = np.zeros((2, 3, 4))
    >>> _layout(x), _layout(x.transpose(0, 2, 1)), _layout(x[..., ::2])
    (True, (0, 2, 1), (0, 1, 2, 12, 4, 2))
    """
    if _is_contiguous(array):
        return True
    steps = (
        array.stride()
        if hasattr(array, "stride")
        else tuple(step // array.itemsize for step in array.strides)
    )
    order = tuple(
        sorted((axis for axis, size in enumerate(array.shape) if size != 1), key=lambda axis: -steps[axis])
    )
    reach = 1
    for axis in reversed(order):
        if steps[axis] != reach:
            return (*order, *steps)
        reach *= array.shape[axis]
    return order
