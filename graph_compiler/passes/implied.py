"""Drops guards on sizes that others imply: of ``2 <= n``, ``n != 0`` and ``n == 10`` the last says it all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Union

from ..ir.graph import Graph, Guard
from ..sizes import Apply, Size

Number = Union[int, float]  # floats are infinite
Compared = tuple[Guard, str, int]

# comparison of a size with a number -> the least and the greatest size of which it is true; ``ne`` beside them leaves one size out
_RANGES: dict[str, Callable[[int], tuple[Number, Number]]] = {
    "eq": lambda n: (n, n),
    "ge": lambda n: (n, math.inf),
    "gt": lambda n: (n + 1, math.inf),
    "le": lambda n: (-math.inf, n),
    "lt": lambda n: (-math.inf, n - 1),
}
_MIRRORED = {"eq": "eq", "ne": "ne", "ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}


def drop_implied(graph: Graph) -> tuple[Graph, bool]:
    """The graph without guards on entry that compare a size with a number, where other comparisons of the same size settle them.

    Those that stay stand in the place of the first, for guards behind it may be computed only where it holds (``10 // n``).
    """
    by_size: dict[Size, list[Compared]] = {}
    group_of: dict[int, list[Compared]] = {}
    for guard in graph.entry_guards():
        if (found := _comparison(guard.condition)) is not None:
            group_of[id(guard)] = by_size.setdefault(found[0], [])
            group_of[id(guard)].append((guard, *found[1:]))
    if len(by_size) == len(group_of):
        return graph, False
    kept: list[Guard] = []
    for guard in graph.guards:
        group = group_of.get(id(guard))
        if group is None or guard is group[0][0]:
            kept += [guard] if group is None else _strongest(group)
    return graph.derive(guards=kept), len(kept) < len(graph.guards)


def _comparison(condition: Any) -> tuple[Size, str, int] | None:
    """A condition as a whole size, a comparison and a number, or None."""
    atom = next(condition.atoms())
    if not isinstance(atom, Apply) or atom.function not in _MIRRORED:
        return None
    (left, right), function = atom.arguments, atom.function
    if isinstance(right, Size):
        left, right, function = right, left, _MIRRORED[function]
    return (left, function, right) if isinstance(left, Size) and left.type is int and type(right) is int else None


def _strongest(group: list[Compared]) -> list[Guard]:
    """Of comparisons of one size, those that imply the others."""
    ranges = [_RANGES[function](number) for _, function, number in group if function != "ne"]
    low, high = max((least for least, _ in ranges), default=-math.inf), min((greatest for _, greatest in ranges), default=math.inf)
    kept, settled = [], {(0, -math.inf), (1, math.inf)}  # the ends of the range that are checked
    for guard, function, number in sorted(group, key=lambda row: row[1] != "eq"):
        if function == "ne":
            is_needed = low <= number <= high
        else:
            ends = {end for end in enumerate(_RANGES[function](number)) if end in ((0, low), (1, high))}
            is_needed = not ends <= settled
            settled |= ends
        kept += [guard] if is_needed else []
    return kept
