"""Source text of ``getitem`` and ``setitem`` keys in NumPy's syntax, and random keys of ``vmap``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...errors import CallMismatch

WHOLE = (None, None, 1)


def key_text(key: tuple[Any, ...], rank: int) -> str:
    """Return the source of ``key``, with brackets, for an array of ``rank`` axes.

    >>> key_text(((None, None, 1), (1, None, 1), None), 2)
    '[:, 1:, None]'
    >>> key_text(((None, None, 1), (None, None, 1), 0), 3), key_text((None, -1), 2)
    ('[..., 0]', '[None, -1]')
    """
    items = _without_trailing(list(key))
    texts = [item_text(item) for item in items]
    leading = next((i for i, item in enumerate(items) if item != WHOLE), len(items))
    covered = sum(item is not None for item in items) == rank
    if (
        covered
        and leading < len(items)
        and (leading > 1 or (leading and all(item is None for item in items[leading:]) and rank > 1))
    ):
        texts = ["...", *texts[leading:]]
    return f"[{', '.join(texts) or '...'}]"


def _without_trailing(items: list[Any]) -> list[Any]:
    # Axes that a key does not mention are taken whole.
    while items and items[-1] == WHOLE:
        items.pop()
    return items


def item_text(item: Any) -> str:
    if not isinstance(item, tuple):
        return repr(item)
    start, stop, step = ("" if bound is None else repr(bound) for bound in item)
    return f"{start}:{stop}" + ("" if step == "1" else f":{step}")


def arrays_text(arrays: tuple[Any, ...], axes: tuple[int, ...], rank: int) -> str:
    """Return the source of a key, with brackets, that has index ``arrays`` at ``axes`` and slices elsewhere.

    >>> arrays_text(("i", "j"), (0, 2), 3), arrays_text(("i",), (2,), 3), arrays_text(("i",), (0,), 3)
    ('[i, :, j]', '[..., i]', '[i]')
    """
    at = dict(zip(axes, arrays, strict=False))
    texts = [str(at.get(axis, ":")) for axis in range(axes[-1] + 1)]
    if axes[-1] == rank - 1 and axes[0] > 1:
        texts = ["...", *texts[axes[0] :]]
    return f"[{', '.join(texts)}]"


Draw = Callable[[], Any]
UNSAID = (
    "vmap: the function draws random numbers: say whether they are others for each slice, "
    "randomness='different', or not, randomness='same'"
)


class KeysOfSlices:
    """Context-local source of random keys, which replaces that of a target inside :meth:`drawing`.

    :meth:`next` returns a function that draws a key, or None outside.

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
        return self._draw.get()

    @contextmanager
    def drawing(self, randomness: str, outside: Draw, of_slice: Callable[[Any], Any]) -> Iterator[None]:
        """Draw keys by ``outside`` inside of the ``with`` block.

        With ``"same"`` the keys are used unchanged, with ``"different"`` they are mapped by ``of_slice``,
        and with ``"error"`` drawing a key raises ``CallMismatch``. ``outside`` itself draws as before the
        block.
        """

        def draw() -> Any:
            if randomness == "error":
                raise CallMismatch(UNSAID)
            # ``outside`` may draw from another ``drawing`` around this one, and must not call this function
            # again.
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
