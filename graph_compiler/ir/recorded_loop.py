"""Loops of the user's code as they were recorded: where each step begins, and what the variables held there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..sizes import Size, hint_of
from .node import Origin, Value
from .step_questions import Question

Path = tuple[Any, ...]  # the name of a variable, then keys of containers
ASKED: Path = ("while",)
"""Where a mark has the conditions of a ``while``, by their numbers: no variable bears this name."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a variable, or a part of one, holds at a mark.

    ``kind`` is equal for what a step cannot tell apart but by its elements: the type and shape of an array, the object itself of all else.
    ``item`` is the value of an array, the size of a symbolic number, and None of all else.
    """

    kind: Any
    item: Any = None


@dataclass(frozen=True, slots=True)
class Mark:
    """The moment before a step, or behind the last one: how many nodes there are, and what the variables of the loop hold."""

    position: int
    state: Mapping[Path, Held]
    index: Value | None = None
    """The number of the step, of which symbols are read. None behind the last step, and in a ``while``."""
    asked: int | None = None
    """How many calls there were when the first of the conditions of a ``while`` had been asked for."""

    def moved(self, places: Sequence[int]) -> Mark:
        """The mark where as many nodes as there were have become ``places`` of these."""
        return replace(self, position=places[self.position], asked=None if self.asked is None else places[self.asked])


@dataclass(eq=False, slots=True)
class RecordedLoop:
    """A ``for`` over ``range(start, stop, step)``, or a ``while``, of a function whose syntax shows that a step changes nothing but the
    variables that a mark tells.

    ``after`` are the variables that code behind the loop may read. ``asked`` are the truth values of a ``while`` in the order in which they
    were asked for, with the answers. It runs as long as each of its conditions is true, or false where it is ``negated``; with ``any_of``
    them, as long as one is. ``library`` is the module whose ``arange`` and ``logical_and`` such a loop is written with.
    """

    origin: Origin
    library: str
    start: Any = 0
    stop: Any = 0
    step: int = 1
    after: frozenset[str] = frozenset()
    outer: tuple[RecordedLoop, int] | None = None
    """The loop that was running, and its step."""
    marks: list[Mark] = field(default_factory=list)
    asked: list[tuple[Value, bool]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    """What code has asked of the numbers of steps, where all further steps have the answer; in the first one, where they may not."""
    negated: tuple[bool, ...] = ()
    any_of: bool = False
    is_open: bool = True
    """Whether nothing has asked for the number of a step, or done what a mark cannot tell."""
    is_whole: bool = False
    """Whether it has run to its end."""
    skipped: int = 0
    """How many steps at its end were run without being recorded, for they do what those before did."""

    @property
    def is_while(self) -> bool:
        """Whether conditions decide how many steps there are."""
        return bool(self.negated)

    def numbers(self) -> range:
        """The numbers of the steps that were recorded."""
        return range(hint_of(self.start), hint_of(self.stop), self.step)

    def bounds(self) -> tuple[Size, ...]:
        """The symbolic numbers that decide how many steps there are."""
        return tuple(bound for bound in (self.start, self.stop) if isinstance(bound, Size))
