"""What is used of the steps of a loop outside of them: what the last ones carry on, and what all of them give, stacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ir.node import Node, Value
from ..ops.registry import ArraySpec
from .roll_forms import joined, parts_joined
from .roll_steps import Earlier, Slot, Steps


@dataclass(frozen=True)
class Gathered:
    """A slot whose values in all steps the node ``user`` takes, from its ``place``-th array on. They are the output ``result`` of the loop,
    of which ``nodes`` make what the user has made where that is more."""

    slot: Slot
    user: int
    place: int
    result: Value
    nodes: Sequence[Node] = ()


def fitted(steps: Steps, fewest: int) -> tuple[Steps, Sequence[Gathered]] | None:
    """The steps, or the first ones of them, so that nothing else uses what they make; None where that leaves too few."""
    while steps.count >= max(fewest, _reach(steps) + 1):
        gathered = list(_gathered(steps))
        count = _first_used(steps, {(each.slot, each.user) for each in gathered})
        if count is None:
            return steps, gathered
        steps = steps.part(0, min(count, steps.count - 1))
    return None


def _reach(steps: Steps) -> int:
    return max((pattern.distance for row in steps.patterns for pattern in row if isinstance(pattern, Earlier)), default=0)


def _outside(steps: Steps, value: Value) -> Iterator[int]:
    """The nodes outside of the steps that use a value."""
    return (user for user in steps.program.users.get(value, ()) if not steps.first <= user < steps.end)


def _gathered(steps: Steps) -> Iterator[Gathered]:
    for slot in steps.slots():
        first = steps.value(0, slot)
        for user in dict.fromkeys(_outside(steps, first)):
            node = steps.program.block.nodes[user]  # of -1, which are the outputs of the block, the last one
            items = joined(node) if user >= 0 else None
            place = items.index(first) if items is not None and first in items else 0
            if items is None or len(items) < place + steps.count:
                continue
            others = (*items[:place], *items[place + steps.count :])
            is_apart = not any(map(steps.makes, others)) and (node.record is None or not others) and node.outputs[0].dtype == first.dtype
            if is_apart and all(item is steps.value(step, slot) for step, item in enumerate(items[place : place + steps.count])):
                yield _gathering(steps, slot, user, place, bool(others))


def _gathering(steps: Steps, slot: Slot, user: int, place: int, has_others: bool) -> Gathered:
    node, value = steps.program.block.nodes[user], steps.value(0, slot)
    if not has_others and node.outputs[0].ndim == value.ndim + 1:
        return Gathered(slot, user, place, node.outputs[0])
    result = Value(node.outputs[0].name, ArraySpec((steps.count, *value.shape), value.dtype))
    return Gathered(slot, user, place, result, parts_joined(node, place, result))


def _first_used(steps: Steps, gathered: set[tuple[Slot, int]]) -> int | None:
    """The first step something of which is used outside that the loop does not give."""
    carried: dict[Slot, int] = {}  # for how many steps
    for row in steps.patterns:
        for pattern in row:
            if isinstance(pattern, Earlier):
                carried[pattern.slot] = max(carried.get(pattern.slot, 0), pattern.distance)
    slots = list(steps.slots())
    for step in range(steps.count):
        for slot in slots:
            if steps.count - step <= carried.get(slot, 0):
                continue
            if any((slot, user) not in gathered for user in _outside(steps, steps.value(step, slot))):
                return step
    return None
