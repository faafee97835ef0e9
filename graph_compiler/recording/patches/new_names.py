"""Names that are new at each call (``uuid.uuid4``).

A function that is recorded may make some, if nothing that it computes depends on them.
"""

from __future__ import annotations

import itertools
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import TracingError
from ...forwarding import forwards
from ..code.ownership import user_of
from .patch import Probe, Probes

_here = threading.local()
_numbers = itertools.count(1)
# The slots of a UUID, which `Name` hides.
_INT: Any = vars(uuid.UUID)["int"]
_SAFE: Any = vars(uuid.UUID)["is_safe"]
# Digits that the names of a further recording begin with: what is computed from the text of a name differs.
_PATTERNS = (0x0, 0xFFFFFFFFFFFFFFFFFFFF)


class _Watch:
    """Names that a recording makes. ``pattern`` is what they begin with, None for those of the original."""

    def __init__(self, pattern: int | None = None) -> None:
        self.pattern, self.origin = pattern, ""


@contextmanager
def watching_names(pattern: int | None = None) -> Iterator[_Watch]:
    """Inside the block names are noted, and made of a pattern if there is one."""
    before, _here.watch = getattr(_here, "watch", None), _Watch(pattern)
    try:
        yield _here.watch
    finally:
        _here.watch = before


def patterns() -> tuple[int, ...]:
    return _PATTERNS


class Name(uuid.UUID):
    """A UUID whose text may be used, and whose number may not."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def int(self) -> Any:
        """Raise ``TracingError``: the number is another one at each call."""
        frame = user_of(sys._getframe(1))
        place = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
        raise TracingError(
            f"the number of a UUID{place} gives something else at each call, and would become a constant. Pass it as an argument"
        )

    @property
    def hex(self) -> str:
        return _plain(self).hex

    def __str__(self) -> str:
        return str(_plain(self))

    def __hash__(self) -> Any:
        return hash(_plain(self))

    def __eq__(self, other: object) -> bool:
        return _plain(self) == (_plain(other) if isinstance(other, Name) else other)


def _plain(name: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=_INT.__get__(name))


def _name(number: Any) -> Name:
    made = uuid.UUID.__new__(Name)
    _INT.__set__(made, number)
    _SAFE.__set__(made, uuid.SafeUUID.unknown)
    return made


def NAME(probe: Probe, probes: Probes, original: Any) -> Any:
    """A new name for the user's code, which is noted; elsewhere what the original gives."""

    @forwards
    def named(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if probes.here() else None
        watch: _Watch | None = getattr(_here, "watch", None)
        if frame is None or watch is None:
            return original(*args, **kwargs)
        watch.origin = (
            watch.origin
            or f"{probe.owner.__name__}.{probe.name} at {frame.f_code.co_filename}:{frame.f_lineno}"
        )
        if watch.pattern is None:
            return _name(original(*args, **kwargs).int)
        # Names of two recordings are never equal, as those of two calls.
        number = (watch.pattern << 48 | next(_numbers)) & ~(0xF << 76) | 4 << 76
        return _name(number)

    named.__wrapped__ = original  # type: ignore[attr-defined]
    return named


NAMES: tuple[Probe, ...] = (Probe(uuid, "uuid1", NAME, None), Probe(uuid, "uuid4", NAME, None))  # type: ignore[arg-type]
