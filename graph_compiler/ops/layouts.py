"""Positions of the channel axis: ``[batch, channels, *space]`` or ``[batch, *space, channels]``."""

from __future__ import annotations

from ..errors import InvalidGraph

CHANNELS_FIRST, CHANNELS_LAST = "channels_first", "channels_last"


def to_last(rank: int) -> tuple[int, ...]:
    """Return the permutation from ``[batch, channels, *space]`` to ``[batch, *space, channels]``.

    >>> to_last(4), to_first(4)
    ((0, 2, 3, 1), (0, 3, 1, 2))
    """
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> tuple[int, ...]:
    """Return the permutation from ``[batch, *space, channels]`` to ``[batch, channels, *space]``."""
    return (0, rank - 1, *range(1, rank - 1))


def weight_to_first(rank: int) -> tuple[int, ...]:
    """Return the permutation of a weight from ``[*kernel, in, out]`` to ``[out, in, *kernel]``.

    >>> weight_to_first(4)
    (3, 2, 0, 1)
    """
    return (rank - 1, rank - 2, *range(rank - 2))


def axes_of_space(rank: int, count: int, layout: str) -> range:
    """Return the ``count`` spatial axes: the last ones, or with channels last those before the last one.

    Raise ``InvalidGraph`` if the layout is unknown or the array has too few axes.

    >>> list(axes_of_space(4, 2, CHANNELS_FIRST)), list(axes_of_space(4, 2, CHANNELS_LAST))
    ([2, 3], [1, 2])
    """
    if layout not in (CHANNELS_FIRST, CHANNELS_LAST):
        raise InvalidGraph(f"layout is {CHANNELS_FIRST!r} or {CHANNELS_LAST!r}, not {layout!r}")
    last = rank if layout == CHANNELS_FIRST else rank - 1
    if last < count:
        raise InvalidGraph(f"an array of {rank} axes has no {count} axes of space in layout {layout!r}")
    return range(last - count, last)
