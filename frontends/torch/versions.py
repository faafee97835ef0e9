"""Versions of dicts: Python counts the changes of each dict (PEP 509; watched dicts from 3.12 on), torch's compiler tells the count."""

from __future__ import annotations

from typing import Any

from ...tracing.conjunction import Version


def _counted() -> Version | None:
    """torch's function, where it is there and does what it is used for here."""
    try:
        from torch._C._dynamo.guards import dict_version
    except ImportError:
        return None
    held: dict[str, Any] = {"a": 1}
    seen = [dict_version(held)]
    for change in (lambda: held.update(a=2), lambda: held.update(b=3), lambda: held.pop("a")):
        change()
        seen.append(dict_version(held))
    return dict_version if len(set(seen)) == len(seen) and dict_version(held) == seen[-1] else None


dict_version: Version | None = _counted()
