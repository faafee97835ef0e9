"""Simplify guards on sizes: solve them for the size that they constrain, and drop those that others imply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Union

from ...ir.graph import Graph, Guard
from ...sizes import Compared, Scalar, Size, Symbol, apply, comparison, isolate, substitute
from ...sizes.algebra import factor_into_sums
from ...sizes.bounds import ALL, MIRRORED, Range, range_of
from ..driver import only_with

# A guard with its comparison; None for a guard that is not solved.
Row = tuple[Guard, Union[Compared, None]]


@only_with(guards=True)
def simplify_guards(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with simplified guards on sizes, which hold for the same calls.

    A guard on sizes of inputs may be solved: ``(n - 1) // 2 + 1 >= 3`` becomes ``n >= 5``. Guards that are
    found to hold always, or if the others hold, are dropped.
    """
    entry = {id(guard) for guard in graph.entry_guards()}
    rows = _replace_fixed(
        [
            each
            for guard in graph.guards
            for each in (_solve(guard) if id(guard) in entry else [(guard, None)])
        ]
    )
    groups: dict[Size, list[tuple[Guard, Compared]]] = {}
    for guard, compared in rows:
        if compared is not None:
            groups.setdefault(compared.size, []).append((guard, compared))
    ranges = {
        symbol: _within(_range_of_symbol(symbol), (compared for _, compared in group))
        for size, group in groups.items()
        if (symbol := _symbol(size)) is not None
    }
    kept: list[Guard] = []
    for guard, compared in rows:
        group = groups[compared.size] if compared is not None else []
        if compared is None:
            kept.append(guard)
        # All guards of a size move to the position of the first one.
        elif guard is group[0][0]:
            kept += _strongest_guards(group, ranges)
    return (graph, False) if kept == graph.guards else (graph.derive(guards=kept), True)


def _solve(guard: Guard) -> Iterator[Row]:
    """Yield ``(guard, comparison)``, with the condition of ``guard`` solved for a size as far as possible.

    Yield nothing if the guard always holds, and ``(guard, None)`` if it is not solved.
    """
    found = comparison(guard.condition)
    solved = isolate(found) if found is not None else False
    if isinstance(solved, Compared):
        row = _facing(solved)
        is_solved = row == found and len(list(row.size.terms())) == 1
        yield guard if is_solved else replace(guard, condition=_condition(row)), row
    elif solved is False:
        yield guard, None


def _facing(row: Compared) -> Compared:
    # The first term becomes positive: ``b - a <= -1`` becomes ``a - b >= 1``.
    _, factor = min(row.size.terms(), key=lambda term: repr(term[0]))
    if factor > 0:
        return row
    size: Any = -row.size
    return Compared(size, MIRRORED[row.function], -row.number)


def _condition(row: Compared) -> Any:
    difference: Any = row.size - row.number
    if factor_into_sums(list(difference.terms())) is not None:
        return apply(row.function, difference, 0)
    terms = [math.prod(map(Size.of, monomial), start=factor) for monomial, factor in row.size.terms()]
    factors = [factor for _, factor in row.size.terms()]
    left = sum(term for term, factor in zip(terms, factors) if factor > 0)
    right = sum(-term for term, factor in zip(terms, factors) if factor < 0)
    if isinstance(right, Size) and row.number < 0:
        return apply(row.function, left - row.number, right)
    return apply(row.function, left, right + row.number)


# --------------------------------------------------------------------------------- sizes that guards fix
def _replace_fixed(rows: list[Row]) -> list[Row]:
    used: list[Guard] = []
    while (found := _next_fixed(rows, used)) is not None:
        fixing, symbol, value = found
        used.append(fixing)
        rows = [
            each for row in rows for each in ([row] if row[0] is fixing else _with_value(row, symbol, value))
        ]
    return rows


def _next_fixed(rows: list[Row], used: list[Guard]) -> tuple[Guard, Symbol, Scalar] | None:
    found = [
        (guard, *fixed)
        for guard, row in rows
        if row is not None
        and (fixed := _fixed(row)) is not None
        and not any(guard is other for other in used)
    ]
    # Guards that fix a size to a number come first.
    return min(found, key=lambda each: isinstance(each[2], Size), default=None)


def _fixed(row: Compared) -> tuple[Symbol, Scalar] | None:
    if row.function != "eq":
        return None
    if (symbol := _symbol(row.size)) is not None:
        return symbol, row.number
    terms = [(atoms[0], factor) for atoms, factor in row.size.terms() if len(atoms) == 1]
    symbols = {factor: atom for atom, factor in terms if isinstance(atom, Symbol)}
    if row.number or symbols.keys() != {1, -1} or len(list(row.size.terms())) != 2:
        return None
    return symbols[-1], Size.of(symbols[1])


def _with_value(row: Row, symbol: Symbol, value: Scalar) -> Iterator[Row]:
    """Yield ``row`` with ``symbol`` replaced by ``value``, if possible; nothing if it then holds always."""
    guard, solved = row
    condition = guard.condition
    if not isinstance(condition, Size) or symbol not in condition.symbols():
        yield row
        return
    condition = substitute(condition, lambda other: value if other == symbol else Size.of(other))
    if condition is True:
        return
    if not isinstance(condition, Size) or comparison(condition) is None:
        yield row
    elif solved is None:
        yield replace(guard, condition=condition), None
    else:
        yield from _solve(replace(guard, condition=condition))


# --------------------------------------------------------------------------------- ranges
def _symbol(size: Size) -> Symbol | None:
    (monomial, factor), *more = size.terms()
    atom = monomial[0] if not more and factor == 1 and len(monomial) == 1 else None
    return atom if isinstance(atom, Symbol) else None


def _range_of_symbol(symbol: Symbol) -> Range:
    return (0, math.inf) if symbol.kind == "size" else ALL


# For each comparison with a number, the smallest and the largest size for which it holds.
_RANGES: dict[str, Callable[[int], Range]] = {
    "eq": lambda n: (n, n),
    "ge": lambda n: (n, math.inf),
    "le": lambda n: (-math.inf, n),
    # This excludes a single size, so it is no range.
    "ne": lambda n: ALL,
}


def _within(given: Range, compared: Iterable[Compared]) -> Range:
    rows = [given, *(_RANGES[row.function](row.number) for row in compared)]
    return max(low for low, _ in rows), min(high for _, high in rows)


def _strongest_guards(group: list[tuple[Guard, Compared]], ranges: Mapping[Symbol, Range]) -> list[Guard]:
    """Return the guards in ``group`` without those that others or ``ranges`` are found to imply."""
    size = group[0][1].size
    symbol = _symbol(size)
    given = (
        _range_of_symbol(symbol)
        if symbol is not None
        else range_of(size, lambda each: ranges.get(each, _range_of_symbol(each)))
    )
    low, high = _within(given, (row for _, row in group))
    # Ends of the range that a guard in the result already checks.
    kept, settled = [], set(enumerate(given))
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
