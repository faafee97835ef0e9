"""Simplify guards on sizes: solve them for the size that they constrain, and drop those that others imply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Union

from ...ir.graph import Graph, Guard
from ...sizes import Compared, Size, Symbol, apply, comparison, isolate, substitute
from ..driver import only_with

# Floats are used for infinite ends of ranges only.
Number = Union[int, float]
Row = tuple[Guard, Compared]

# For each comparison with a number, the smallest and the largest size for which it holds. `ne` excludes a
# single size, so it is no range.
_RANGES: dict[str, Callable[[int], tuple[Number, Number]]] = {
    "eq": lambda n: (n, n),
    "ge": lambda n: (n, math.inf),
    "le": lambda n: (-math.inf, n),
}


@only_with(guards=True)
def simplify_guards(graph: Graph) -> tuple[Graph, bool]:
    """Return the graph with fewer and shorter guards on entry, which hold for the same calls.

    A guard that compares with a number is solved for its size: ``(n - 1) // 2 + 1 >= 3`` becomes
    ``n >= 5``. Among several guards on one size the strongest remain, and guards that follow from fixed
    sizes are dropped: among ``2 <= n``, ``n != 0``, ``n == 10`` and ``min(n, 12) >= 8`` only ``n == 10``
    remains. The remaining guards on a size move to the position of its first one, because later guards may
    be safe to evaluate only if it holds (``10 // n``).
    """
    entry = {id(guard) for guard in graph.entry_guards()}
    rows = [
        each for guard in graph.guards for each in (_solve(guard) if id(guard) in entry else [(guard, None)])
    ]
    rows = _drop_implied(rows)
    groups: dict[Size, list[Row]] = {}
    for guard, compared in rows:
        if compared is not None:
            groups.setdefault(compared.size, []).append((guard, compared))
    kept: list[Guard] = []
    for guard, compared in rows:
        group = groups[compared.size] if compared is not None else None
        # All guards of a size move to the position of the first one.
        if group is None or guard is group[0][0]:
            kept += [guard] if group is None else _strongest_guards(group)
    return (graph, False) if kept == graph.guards else (graph.derive(guards=kept), True)


def _solve(guard: Guard) -> Iterator[tuple[Guard, Compared | None]]:
    """Yield the guard solved for its innermost size, with the comparison; nothing if it always holds.

    A guard that cannot be solved or never holds is yielded unchanged, with None instead of a comparison.
    """
    found = comparison(guard.condition)
    row = isolate(found) if found is not None else None
    if found is None or row is False:
        yield guard, None
    elif isinstance(row, Compared):
        condition: Any = (
            guard.condition if row.size == found.size else apply(row.function, row.size, row.number)
        )
        yield replace(guard, condition=condition), row


def _fixes(row: Compared) -> Symbol | None:
    """Return the symbol that ``row`` sets equal to a number; None if ``row`` is any other comparison."""
    if row.function != "eq":
        return None
    (monomial, _), *more = row.size.terms()
    return monomial[0] if not more and len(monomial) == 1 and isinstance(monomial[0], Symbol) else None


def _drop_implied(rows: list[tuple[Guard, Compared | None]]) -> list[tuple[Guard, Compared | None]]:
    fixed = {symbol: row.number for _, row in rows if row is not None and (symbol := _fixes(row)) is not None}
    return [
        (guard, row)
        for guard, row in rows
        if (row is not None and _fixes(row) is not None) or not _follows(guard.condition, fixed)
    ]


def _follows(condition: Any, fixed: dict[Symbol, int]) -> bool:
    symbols = set(condition.symbols()) if isinstance(condition, Size) else set()
    return bool(symbols) and symbols <= fixed.keys() and substitute(condition, fixed.__getitem__) is True


def _strongest_guards(group: list[Row]) -> list[Guard]:
    """Return the guards in ``group`` that imply the others. All compare the same size with numbers."""
    ranges = [_RANGES[row.function](row.number) for _, row in group if row.function != "ne"]
    low, high = (
        max((least for least, _ in ranges), default=-math.inf),
        min((greatest for _, greatest in ranges), default=math.inf),
    )
    # Ends of the range that a guard in the result already checks. Infinite ends need no guard.
    kept, settled = [], {(0, -math.inf), (1, math.inf)}
    for guard, row in sorted(group, key=lambda each: each[1].function != "eq"):
        if row.function == "ne":
            is_needed = low <= row.number <= high
        else:
            ends = {
                end for end in enumerate(_RANGES[row.function](row.number)) if end in ((0, low), (1, high))
            }
            is_needed = not ends <= settled
            settled |= ends
        kept += [guard] if is_needed else []
    return kept
