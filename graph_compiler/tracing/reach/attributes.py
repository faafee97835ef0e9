"""Attributes that somebody has put on arrays and on containers."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...errors import TracingError
from ...trees import containers

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def is_plain(held: Any) -> bool:
    """Whether what an attribute holds is told apart by its text."""
    return type(held) in _PLAIN


def refuse_attributed(value: Any) -> None:
    """``TracingError`` for a list, tuple or dict with attributes beside its items: it could not be made again from these.

    >>> class Row(list):
    ...     pass
    >>> row = Row([1])
    >>> refuse_attributed({"row": row})
    >>> row.name = "first"
    >>> try:
    ...     refuse_attributed({"row": row})
    ... except TracingError as problem:
    ...     print(str(problem)[:39])
    a Row has attributes (name) beside what
    """
    for item in containers(value):
        own = getattr(item, "__dict__", None) if isinstance(item, (list, tuple, dict)) else None
        if own and own is not item and not dataclasses.is_dataclass(item):
            base = next(base.__name__ for base in (list, tuple, dict) if isinstance(item, base))
            raise TracingError(
                f"a {type(item).__name__} has attributes ({', '.join(map(str, own))}) beside what it holds as a {base}, which cannot be "
                "recorded; make these items, or keep the items in an attribute as well"
            )
