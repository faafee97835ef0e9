"""Iterators that a function takes from: what they give next is another at each call, and is gone once it was taken."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import TracingError
from ...trees import iterate_structure
from ..reach.wrappers import wrapped_by


def iterators_in(items: Iterable[Any]) -> Iterator[Any]:
    """Those of the items, and of what tuples of them hold or what is behind them, that give something else each time and do not say what:
    all but objects of the user's own classes, whose attributes tell.

    >>> row = iter([1, 2])
    >>> [found is row for found in iterators_in([3, (row, "text"), row.__next__])]
    [True, True]
    """
    for item in items:
        if isinstance(item, Iterator):
            yield from () if isinstance(getattr(type(item), "__next__", None), types.FunctionType) else (item,)
        else:
            yield from iterators_in(item if type(item) is tuple else wrapped_by(item))


def refuse_outside(items: Iterable[Any], name: str = "") -> None:
    """``TracingError`` for an iterator among what a function finds outside of its arguments, under a ``name`` where it is known.

    >>> try:
    ...     refuse_outside([iter([1, 2])], "rows")
    ... except TracingError as problem:
    ...     print(str(problem)[:44])
    rows is an iterator outside of the recorded
    """
    for item in iterators_in(items):
        raise TracingError(
            f"{name or f'a {type(item).__name__}'} is an iterator outside of the recorded function: what the function takes from it "
            "cannot be recorded. Pass it as an argument"
        )


def refuse_iterators(value: Any) -> None:
    """``TracingError`` for an iterator among the arguments: a recording would take its items away from the call.

    >>> refuse_iterators({"rows": [1, 2]})
    >>> try:
    ...     refuse_iterators({"rows": iter([1, 2])})
    ... except TracingError as problem:
    ...     print(str(problem)[:30])
    an argument is a list_iterator
    """
    for item in iterators_in(iterate_structure(value)):
        raise TracingError(
            f"an argument is a {type(item).__name__}, an iterator: what the function takes from it is gone afterwards, which cannot be "
            "recorded. Pass a list of its items"
        )
