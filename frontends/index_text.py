"""How an index is written between brackets."""

from __future__ import annotations

from typing import Any


def index_text(index: Any) -> str:
    """The text of a recorded index.

    >>> index_text((slice(None, 3), Ellipsis)), index_text((0,))
    (':3, ...', '0,')
    """
    if isinstance(index, tuple) and index:
        return ", ".join(map(_part, index)) + ("," if len(index) == 1 else "")
    return _part(index)


def _part(part: Any) -> str:
    if isinstance(part, slice):
        start, stop, step = ("" if item is None else repr(item) for item in (part.start, part.stop, part.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "..." if part is Ellipsis else repr(part)
