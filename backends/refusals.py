"""What a framework's functions raise where they do not take their arguments."""

from __future__ import annotations

_KINDS = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


def told(problem: Exception, more: tuple[type[Exception], ...] = (), but: tuple[type[Exception], ...] = ()) -> str | None:
    """The class and the first line of such an exception, or of one of ``more``; None of others, and of those in ``but``.

    >>> told(ValueError("no such axis")), told(StopIteration())
    ('ValueError: no such axis', None)
    """
    if isinstance(problem, but) or not isinstance(problem, (*_KINDS, *more)):
        return None
    return f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
