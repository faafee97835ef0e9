"""Guards: conditions on sizes and elements that the recorded program itself computes."""

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
    """Condition that must hold for the graph to be right.

    Conditions on sizes of inputs are checked when a call is matched, those on sizes of intermediate arrays
    inside of the function, and elements after the function has run (:meth:`require`).

    condition: a boolean `Size`, or a value whose elements must equal `expected`.
    expected: elements that were read while recording; True for conditions on sizes.
    origin: location of the code that read the elements or compared the sizes.
    rounding: relative tolerance for floats, since other frameworks round differently.

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
        """Raise `GuardFailed` if the elements `seen` differ from those of the recording."""
        if not same_elements(seen, self.expected, self.rounding):
            raise GuardFailed(
                f"elements handed to Python were {self.expected!r} while recording and are {seen!r} now, read by {self.origin}"
            )

    def symbols(self) -> tuple[Symbol, ...]:
        """Return the symbols in a condition on sizes; an empty tuple for a condition on elements."""
        return tuple(self.condition.symbols()) if isinstance(self.condition, Size) else ()

    # ------------------------------------------------------------------------------ as an assumption
    def lines(self, names: Names) -> list[str]:
        """Return the comparison, if all sizes in it are known before the function runs."""
        if not isinstance(self.condition, Size) or not all(map(names.knows, self.symbols())):
            return []
        return names.require_of_sizes(self.condition.text(names.size), str(self))

    def broken_by(self, call: Call) -> str | None:
        """Return a description of the condition if it does not hold, or cannot be decided, for this call.
        Conditions on elements return None.
        """
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
        """Return the guard with its condition replaced, or None if the new condition is True."""
        condition = replaced(self.condition)
        return None if condition is True else dataclasses.replace(self, condition=condition)

    def to_json(self, write: Writer) -> Any:
        """Return condition, expected elements, origin and rounding."""
        return [write.item(self.condition), write.item(self.expected), write.origin(self.origin), self.rounding]

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> Guard:
        """Return the guard that `to_json` wrote. Raise `InvalidFile` for malformed data."""
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
    """Return a node without outputs that stands for `guard` within a block.

    A check on sizes runs where it stands. The pass :mod:`graph_compiler.passes.carried_checks` moves a
    check on elements out of its region.
    """
    details = (guard.expected, guard.rounding) if isinstance(guard.condition, Value) else ()
    return Node(GUARD, (guard.condition, *details), {}, guard.origin, (), CallRecord(GUARD) if is_recorded else None)


def guard_of(node: Node) -> Guard | None:
    """Return the guard for which a check node stands, or None for other nodes."""
    if node.op != GUARD:
        return None
    condition, *details = node.inputs
    return Guard(condition, True, node.origin) if not details else Guard(condition, details[0], node.origin, details[1])


def reads_elements(guard: Guard) -> bool:
    """Return True if the guard depends on elements, so that it can only be checked by running the function."""
    return isinstance(guard.condition, Value) or guard.condition.reads_elements()
