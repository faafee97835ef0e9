"""Random numbers and new identifiers of Python and NumPy, and the state of their generators."""

from __future__ import annotations

import itertools
import random
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import TracingError
from ...forwarding import forwards
from ..code.ownership import user_of
from .patch import Patch, PatchSet

# A recording replaces the public functions, but a nested one still has to read and restore the states.
_GET_PYTHON, _GET_NUMPY, _SET_PYTHON, _SET_NUMPY = (
    random.getstate,
    np.random.get_state,
    random.setstate,
    np.random.set_state,
)

_NO_DRAWS = frozenset({"seed", "getstate", "setstate", "get_state", "set_state"})


def _methods(module: Any, generator: Any) -> Iterator[str]:
    return (
        name
        for name, item in vars(module).items()
        if getattr(item, "__self__", None) is generator and name not in _NO_DRAWS
    )


# Functions that draw from the global generator of their module; ``ranf`` and ``sample`` call another one.
DRAWS: dict[Any, tuple[str, ...]] = {
    random: tuple(_methods(random, random._inst)),
    np.random: (*_methods(np.random, np.random.mtrand._rand), "ranf", "sample"),
}


def host_state() -> tuple[Any, Any]:
    # The older form is one of the Mersenne Twister alone, which `np.random.set_bit_generator` replaces.
    return _GET_PYTHON(), _GET_NUMPY(legacy=False)


def restore_host_state(states: tuple[Any, Any]) -> None:
    _SET_PYTHON(states[0])
    _SET_NUMPY(states[1])


@contextmanager
def host_state_kept() -> Iterator[None]:
    before = host_state()
    try:
        yield
    finally:
        restore_host_state(before)


@contextmanager
def host_state_seeded(seed: int) -> Iterator[None]:
    with host_state_kept():
        # Setting a state is no draw to an enclosing recording.
        bits = type(np.random.mtrand._rand._bit_generator)(seed % 2**32)
        restore_host_state(
            (random.Random(seed).getstate(), np.random.RandomState(bits).get_state(legacy=False))
        )
        yield


def same_host_state(left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    return bool(left[0] == right[0] and state_key(left[1]) == state_key(right[1]))


def state_key(state: Any) -> Any:
    """Return the state of a NumPy generator in a form without arrays, so that ``==`` compares it."""
    if isinstance(state, dict):
        return tuple((name, state_key(part)) for name, part in state.items())
    if isinstance(state, tuple):
        return tuple(map(state_key, state))
    return state.tobytes() if isinstance(state, np.ndarray) else state


# -------------------------------------------------------------------------------------------- new identifiers
# A recorded function may make identifiers that are new at each call (``uuid.uuid4``) if nothing that it
# computes depends on them.

_here = threading.local()
_numbers = itertools.count(1)
# The slots of a UUID, which `NewUUID` hides.
_INT: Any = vars(uuid.UUID)["int"]
_SAFE: Any = vars(uuid.UUID)["is_safe"]
# Digits that the identifiers of further recordings begin with, so that what depends on their text differs.
_PATTERNS = (0x0, 0xFFFFFFFFFFFFFFFFFFFF)


class _IdentifierWatch:
    """State of :func:`watching_names`.

    pattern: the upper 80 bits of the UUIDs, apart from the version; None if ``uuid`` itself makes them.
    origin: the function and line that made the first UUID; empty if none was made.
    """

    def __init__(self, pattern: int | None = None) -> None:
        self.pattern, self.origin = pattern, ""


@contextmanager
def watching_names(pattern: int | None = None) -> Iterator[_IdentifierWatch]:
    """Watch calls of ``uuid1`` and ``uuid4`` by recorded code in this thread, and yield the watch."""
    before, _here.watch = getattr(_here, "watch", None), _IdentifierWatch(pattern)
    try:
        yield _here.watch
    finally:
        _here.watch = before


def patterns() -> tuple[int, ...]:
    return _PATTERNS


class NewUUID(uuid.UUID):
    """UUID whose string can be read, while its number raises ``TracingError``."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def int(self) -> Any:
        frame = user_of(sys._getframe(1))
        place = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
        raise TracingError(
            f"the number of a UUID{place} gives something else at each call, and would become a constant. "
            "Pass it as an argument"
        )

    @property
    def hex(self) -> str:
        return _plain(self).hex

    def __str__(self) -> str:
        return str(_plain(self))

    def __hash__(self) -> Any:
        return hash(_plain(self))

    def __eq__(self, other: object) -> bool:
        return _plain(self) == (_plain(other) if isinstance(other, NewUUID) else other)


def _plain(name: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=_INT.__get__(name))


def _name(number: Any) -> NewUUID:
    made = uuid.UUID.__new__(NewUUID)
    _INT.__set__(made, number)
    _SAFE.__set__(made, uuid.SafeUUID.unknown)
    return made


def new_identifier(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim that returns a :class:`NewUUID` to recorded code inside :func:`watching_names`."""

    @forwards
    def named(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if patches.here() else None
        watch: _IdentifierWatch | None = getattr(_here, "watch", None)
        if frame is None or watch is None:
            return original(*args, **kwargs)
        watch.origin = (
            watch.origin
            or f"{patch.owner.__name__}.{patch.name} at {frame.f_code.co_filename}:{frame.f_lineno}"
        )
        # The first recording uses real identifiers.
        if watch.pattern is None:
            return _name(original(*args, **kwargs).int)
        # The count makes identifiers of two recordings differ, as those of two calls do. The last operation
        # sets version 4, as ``uuid4`` does.
        number = (watch.pattern << 48 | next(_numbers)) & ~(0xF << 76) | 4 << 76
        return _name(number)

    named.__wrapped__ = original  # type: ignore[attr-defined]
    return named


NAMES: tuple[Patch, ...] = (
    Patch(uuid, "uuid1", new_identifier, None),  # type: ignore[arg-type]
    Patch(uuid, "uuid4", new_identifier, None),  # type: ignore[arg-type]
)
