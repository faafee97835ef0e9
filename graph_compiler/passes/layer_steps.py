"""Where the layers of a stretch of equal nodes begin: where the number in the names of their weights changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..ir.node import Value
from .layer_names import Names
from .roll_periods import Stretch
from .roll_steps import Program, Steps


def layers_in(program: Program, stretch: Stretch, names: Names, fewest: int) -> Steps | None:
    """The layers of a stretch, each with weights of one number; None where no weights change, or fewer layers are left than ``fewest``.

    Numbers that advance evenly come before others. Between the last weight of a layer and the first one of the next a layer begins where
    the fewest arrays go from one to the other, and where the modules have the least in common.
    """
    cuts = _Cuts(program, stretch, names)
    counted = [(first, (stretch.end - first) // stretch.period) for first in cuts.places()]
    ranked = [
        ((cuts.numbers_from(first), cuts.strides(first, count), -count, *cuts.rank(first)), first, count)
        for first, count in counted
        if count >= fewest
    ]
    if not ranked:
        return None
    _, first, count = min(ranked)
    return Steps(program, first, stretch.period, count, ())


class _Cuts:
    """The places of one stretch at which a layer may begin."""

    def __init__(self, program: Program, stretch: Stretch, names: Names) -> None:
        self.program, self.stretch, self.names = program, stretch, names
        first, end, self.period = stretch
        self.numbers = [self._number(place) for place in range(first, end)]

    def _number(self, place: int) -> int | None:
        """The number of the weights that a node reads; None where it reads none that change."""
        other = place + self.period if place + self.period < self.stretch.end else place - self.period
        pairs = zip(self.program.rows[place].leaves, self.program.rows[other].leaves)
        found = (self.names.numbering(one, two) for one, two in pairs)
        return next((each.one for each in found if each is not None), None)

    def places(self) -> Iterator[int]:
        """Each place of the first period in front of which the number changes, and those before it up to the last weight."""
        first, period = self.stretch.first, self.period
        known = [(place, number) for place, number in enumerate(self.numbers) if number is not None]
        for (before, number), (after, other) in pairwise(known):
            if number != other and before < period:
                yield from (first + (cut - period if cut >= period else cut) for cut in range(before + 1, after + 1))

    def numbers_from(self, first: int) -> int:
        """How many numbers the weights of one layer have."""
        begin = first - self.stretch.first
        return len({number for number in self.numbers[begin : begin + self.period] if number is not None})

    def strides(self, first: int, count: int) -> int:
        """By how many different steps the number goes from layer to layer."""
        begin = first - self.stretch.first
        place = next(place for place in range(begin, begin + self.period) if self.numbers[place] is not None)
        numbers = [self.numbers[place + layer * self.period] or 0 for layer in range(count)]
        return len({after - before for before, after in pairwise(numbers)})

    def rank(self, first: int) -> tuple[int, int, int]:
        """How many arrays of a layer the next ones read, and how much of their paths the modules on both sides have in common."""
        nodes, begin = self.program.block.nodes, first + self.period
        made = (value for node in nodes[first:begin] for value in node.outputs)
        crossing = sum(self._is_read_from(value, begin) for value in made)
        paths = (nodes[place].origin.module.split(".") for place in (begin - 1, begin))
        shared = next((depth for depth, (one, other) in enumerate(zip(*paths)) if one != other), len(nodes))
        return crossing, shared, first

    def _is_read_from(self, value: Value, begin: int) -> bool:
        return any(user >= begin for user in self.program.users.get(value, ()))
