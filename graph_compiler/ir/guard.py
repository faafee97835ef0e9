"""Guards: conditions on sizes and on elements, which the recorded program itself computes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import GuardFailed, InvalidFile
from ..sizes import Size, Symbol, substitute
from ..trees import iterate_structure
from .assumption import Call, Names, Reader, Replaced, Writer, row
from .elements import same_elements
from .node import Node, Origin, Value
from .record import CallRecord

GUARD = "guard"  # the operation of a node that stands for a guard in a block: see :func:`check`


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that must hold for the graph to be right.

    ``condition`` is a truth value over sizes, or a value whose elements must be ``expected``, floats but for ``rounding`` times themselves:
    another framework rounds otherwise. Conditions on sizes of inputs are checked when a call is matched, those on sizes of other arrays
    inside of the function (``codegen``), and elements after the function has run (:meth:`require`).

    >>> print(Guard(Value("mask", None), True, Origin("f.py", 3, call="bool")))
    the elements of mask are True, read by bool at f.py:3
    """

    kind: ClassVar[str] = "guard"
    condition: Size | Value
    expected: Any
    origin: Origin
    rounding: float = 0.0

    def __str__(self) -> str:
        if isinstance(self.condition, Value):
            return f"the elements of {self.condition.name} are {self.expected!r}, read by {self.origin}"
        return f"{self.condition!r}, assumed by {self.origin}"

    def require(self, seen: Any) -> None:
        """``GuardFailed`` where the elements ``seen`` are not those of the recording."""
        if not same_elements(seen, self.expected, self.rounding):
            raise GuardFailed(
                f"elements handed to Python were {self.expected!r} while recording and are {seen!r} now, read by {self.origin}"
            )

    def symbols(self) -> tuple[Symbol, ...]:
        """The sizes and numbers that the condition compares; none of a condition on elements."""
        return tuple(self.condition.symbols()) if isinstance(self.condition, Size) else ()

    # ------------------------------------------------------------------------------ as an assumption
    def lines(self, names: Names) -> list[str]:
        """One comparison, where the sizes are those of the call."""
        if not isinstance(self.condition, Size) or not all(map(names.knows, self.symbols())):
            return []
        return names.require_of_sizes(self.condition.text(names.size), str(self))

    def broken_by(self, call: Call) -> str | None:
        """The condition, where it does not hold or cannot be told."""
        given = call.inputs[: len(call.leaves)]  # others are numbers that a call draws
        symbols = self.symbols()
        is_of_call = all(symbol.source in given and symbol.kind in ("size", "item") for symbol in symbols)
        if not isinstance(self.condition, Size) or not is_of_call:
            return None
        if any(call.size(symbol) is None for symbol in symbols):
            return f"{self} cannot be told of sizes that are unknown yet"
        try:
            holds = substitute(self.condition, call.size)
        except call.undecided as problem:
            return f"{self} cannot be told of sizes that are unknown yet ({str(problem).partition(chr(10))[0]} Say it in their constraints)"
        return None if holds else f"{self} does not hold"

    def mapped(self, replaced: Replaced) -> Guard | None:
        """With the condition in other sizes, or on another value."""
        condition = replaced(self.condition)
        return None if condition is True else dataclasses.replace(self, condition=condition)

    def to_json(self, write: Writer) -> Any:
        """Condition, expected elements, origin and rounding."""
        return [write.item(self.condition), write.item(self.expected), write.origin(self.origin), self.rounding]

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> Guard:
        """A size or a value, plain elements, and a part of one for the rounding."""
        condition, expected, origin, rounding = row(data, 4)
        condition, expected = read.item(condition), read.item(expected)
        if not isinstance(condition, (Size, Value)):
            raise InvalidFile(f"{condition!r:.80} is no condition")
        if any(isinstance(part, (Size, Value)) for part in iterate_structure((expected,))):
            raise InvalidFile(f"{expected!r:.80} are no elements")
        if type(rounding) not in (int, float) or not 0 <= rounding < 1:
            raise InvalidFile(f"{rounding!r:.80} is no part of a number")
        return cls(condition, expected, read.origin(origin), float(rounding))


def check(guard: Guard, is_recorded: bool = False) -> Node:
    """A guard as a node of a block, without outputs. One on sizes is checked where it stands; one on elements inside of a region is carried
    out (:mod:`graph_compiler.passes.carried_checks`)."""
    details = (guard.expected, guard.rounding) if isinstance(guard.condition, Value) else ()
    return Node(GUARD, (guard.condition, *details), {}, guard.origin, (), CallRecord(GUARD) if is_recorded else None)


def guard_of(node: Node) -> Guard | None:
    """The guard that a node stands for; None for other nodes."""
    if node.op != GUARD:
        return None
    condition, *details = node.inputs
    return Guard(condition, True, node.origin) if not details else Guard(condition, details[0], node.origin, details[1])


def reads_elements(guard: Guard) -> bool:
    """Whether a guard looks at elements, which only a call that has run can tell."""
    return isinstance(guard.condition, Value) or guard.condition.reads_elements()
