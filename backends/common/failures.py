"""Failures of framework functions: which exceptions are reported, and which results show them as NaN."""

from __future__ import annotations

from collections.abc import Sequence

from ...trees import Tree, statics


def shows_as_nan(tree: Tree, floating: Sequence[bool]) -> bool:
    """Return True if filling the floating arrays of a result with NaN marks the whole result as wrong.

    This requires at least one array, only floating arrays, and no Python numbers in ``tree``. ``floating``
    has an item for each array of the result.

    >>> from graph_compiler.trees import flatten
    >>> trees = [flatten(result, lambda item: False)[1] for result in ((1.5j, 2), ("name", None))]
    >>> [shows_as_nan(tree, [True]) for tree in trees]
    [False, True]
    """
    return (
        bool(floating)
        and all(floating)
        and not any(isinstance(item, (bool, int, float, complex)) for item in statics(tree))
    )


_KINDS = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


def failure_text(
    problem: Exception, more: tuple[type[Exception], ...] = (), but: tuple[type[Exception], ...] = ()
) -> str | None:
    """Return the class and the first line of ``problem`` if a framework may raise it for bad arguments.

    Return None for other exceptions. ``more`` are further classes to describe, and ``but`` are classes to
    exclude, also from ``more``.

    >>> failure_text(ValueError("no such axis")), failure_text(StopIteration())
    ('ValueError: no such axis', None)
    """
    if isinstance(problem, but) or not isinstance(problem, (*_KINDS, *more)):
        return None
    return f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
