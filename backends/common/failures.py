"""What a framework's functions raise where they do not take their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from ...trees import Tree, statics


def shows_as_nan(tree: Tree, floating: Sequence[bool]) -> bool:
    """Whether NaN in the floating arrays tells that a result is wrong: there are some, and no number beside
    them that a user could take for right.

    ``floating`` says of each array of the result whether it can hold NaN; Python's own numbers stand in the
    ``tree``.

    >>> from graph_compiler.trees import flatten
    >>> [shows_as_nan(flatten(result, lambda item: False)[1], [True]) for result in ((1.5j, 2), ("name", None))]
    [False, True]
    """
    return (
        bool(floating)
        and all(floating)
        and not any(isinstance(item, (bool, int, float, complex)) for item in statics(tree))
    )


_KINDS = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


def told(
    problem: Exception, more: tuple[type[Exception], ...] = (), but: tuple[type[Exception], ...] = ()
) -> str | None:
    """The class and the first line of such an exception, or of one of ``more``; None of others, and of those
    in ``but``.

    >>> told(ValueError("no such axis")), told(StopIteration())
    ('ValueError: no such axis', None)
    """
    if isinstance(problem, but) or not isinstance(problem, (*_KINDS, *more)):
        return None
    return f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
