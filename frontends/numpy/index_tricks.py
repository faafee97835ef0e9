"""``np.r_``, ``np.c_``, ``np.mgrid`` and ``np.ogrid`` as recorded calls, since no protocol covers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .sizes import hint

# Returns the function that records calls of the NumPy function with a name.
Recorded = Callable[[str], Callable[..., Any]]


class IndexTrick:
    """Replacement of ``np.r_`` or a similar object, whose indexing is recorded.

    Outside of a recording, and for indices with strings, the original object is indexed. Otherwise
    ``compute(recorded, items)`` computes the result with recorded calls.
    """

    def __init__(
        self,
        original: Any,
        recorded: Recorded,
        is_open: Callable[[], bool],
        compute: Callable[[Recorded, Any], Any],
    ) -> None:
        self._original, self._recorded, self._is_open, self._compute = original, recorded, is_open, compute

    def __getitem__(self, items: Any) -> Any:
        parts = items if isinstance(items, tuple) else (items,)
        if not self._is_open() or any(isinstance(part, str) for part in parts):
            return self._original[items]
        return self._compute(self._recorded, items)

    def __len__(self) -> int:
        return 0


def _line(recorded: Recorded, item: Any) -> Any:
    """Return the numbers of a slice as an array; an imaginary step is their count.

    Return other items unchanged.
    """
    if not isinstance(item, slice):
        return item
    start, stop = 0 if item.start is None else item.start, item.stop
    if isinstance(item.step, complex):
        return recorded("linspace")(start, stop, int(abs(item.step)))
    return recorded("arange")(start, stop, 1 if item.step is None else item.step)


def _parts(recorded: Recorded, items: Any) -> list[Any]:
    """Return the items as arrays with at least one axis. Python numbers get the common dtype of all items."""
    found = [_line(recorded, item) for item in (items if isinstance(items, tuple) else (items,))]
    # Python numbers are passed as they are, because NumPy types them weakly.
    kind = np.result_type(
        *(hint(part) if _is_number(part) else recorded("asarray")(part).dtype for part in found)
    )
    return [
        recorded("array")(part, **({"dtype": kind} if _is_number(part) else {}), ndmin=1) for part in found
    ]


def _is_number(part: Any) -> bool:
    return isinstance(part, (bool, int, float, complex)) and not isinstance(part, np.generic)


def rows(recorded: Recorded, items: Any) -> Any:
    return np.concatenate(_parts(recorded, items))


def columns(recorded: Recorded, items: Any) -> Any:
    return np.concatenate(
        [part.reshape(-1, 1) if part.ndim == 1 else part for part in _parts(recorded, items)], axis=-1
    )


def open_grid(recorded: Recorded, items: Any) -> Any:
    if isinstance(items, slice):
        return _line(recorded, items)
    lines = [_line(recorded, item) for item in items]
    return tuple(
        line.reshape([-1 if i == place else 1 for i in range(len(lines))]) for place, line in enumerate(lines)
    )


def whole_grid(recorded: Recorded, items: Any) -> Any:
    if isinstance(items, slice):
        return _line(recorded, items)
    return np.stack(recorded("meshgrid")(*(_line(recorded, item) for item in items), indexing="ij"))


COMPUTED: dict[str, Callable[[Recorded, Any], Any]] = {
    "r_": rows,
    "c_": columns,
    "ogrid": open_grid,
    "mgrid": whole_grid,
}
