"""Keys of random numbers that a graph draws by itself, where a function runs for many slices at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import CallMismatch

Draw = Callable[[], Any]
UNSAID = (
    "vmap: the function draws random numbers: say whether they are others for each slice, randomness='different', or not, randomness='same'"
)


class KeysOfSlices:
    """What gives the next key inside of :meth:`drawing`, in the place of the sequence of a target.

    >>> keys = KeysOfSlices()
    >>> with keys.drawing("different", lambda: 7, lambda key: key + 1):
    ...     keys.next()()
    8
    >>> keys.next() is None
    True
    """

    def __init__(self) -> None:
        self._draw: ContextVar[Draw | None] = ContextVar("keys of slices", default=None)

    def next(self) -> Draw | None:
        """None outside of a function of slices."""
        return self._draw.get()

    @contextmanager
    def drawing(self, randomness: str, outside: Draw, of_slice: Callable[[Any], Any]) -> Iterator[None]:
        """Inside of the block keys are those from ``outside``, for ``"different"`` ones made that ``of_slice``. ``CallMismatch`` where one
        is drawn and it is not said which."""

        def draw() -> Any:
            if randomness == "error":
                raise CallMismatch(UNSAID)
            token = self._draw.set(around)
            try:
                key = outside()
            finally:
                self._draw.reset(token)
            return of_slice(key) if randomness == "different" else key

        around = self._draw.get()
        inside = self._draw.set(draw)
        try:
            yield
        finally:
            self._draw.reset(inside)
