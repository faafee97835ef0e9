"""Resampling of signals, images and volumes ``[batch, channels, *space]``, and moving elements between channels and space."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import Dim, product
from ..layouts import CHANNELS_FIRST, axes_of_space
from ..registry import ArraySpec, declare, decomposition
from ..rules import dtype_of

_SECTION = "resampling"

METHODS = ("nearest", "nearest-exact", "linear", "cubic", "lanczos")
PADDINGS = ("zeros", "border", "reflection")


@declare(_SECTION)
def interpolate(
    x: ArraySpec,
    /,
    *,
    size: tuple[Dim, ...],
    method: str,
    scales: tuple[Any, ...] | None = None,
    align_corners: bool = False,
    antialias: bool = False,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    """``x`` with its last axes (or those before the channels) resampled to ``size`` (torch.nn.functional.interpolate).

    ``scales`` are the factors that positions are computed with, None for output size by input size; ``method`` is "nearest",
    "nearest-exact", "linear" (in every axis), "cubic" or "lanczos"; ``antialias`` widens the filter when shrinking.
    """
    if method not in METHODS:
        raise InvalidGraph(f"interpolate knows the methods {', '.join(METHODS)}, not {method!r}")
    axes = axes_of_space(x.ndim, len(size), layout)
    return ArraySpec((*x.shape[: axes.start], *size, *x.shape[axes.stop :]), x.dtype)


@declare(_SECTION)
def grid_sample(
    x: ArraySpec, grid: ArraySpec, /, *, method: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> ArraySpec:
    """``x[batch, channels, *space]`` at the positions ``grid[batch, *out, axes]``, -1 to 1 over each axis, the last axis first.

    ``padding`` says what lies outside: "zeros", "border" (the nearest element) or "reflection" (torch.nn.functional.grid_sample).
    """
    if method not in ("nearest", "linear", "cubic") or padding not in PADDINGS:
        raise InvalidGraph(f"grid_sample knows no method {method!r} with padding {padding!r}")
    return ArraySpec((*x.shape[:2], *grid.shape[1:-1]), dtype_of(x, grid))


@declare(_SECTION)
def affine_grid(theta: ArraySpec, /, *, size: tuple[Dim, ...], align_corners: bool = False) -> ArraySpec:
    """The positions that :func:`grid_sample` needs for affine maps ``theta[batch, n, n + 1]`` of a space of ``size``."""
    return ArraySpec((theta.shape[0], *size, len(size)), theta.dtype)


@declare(_SECTION)
def pixel_shuffle(x: ArraySpec, /, *, factor: int) -> ArraySpec:
    """``[..., channels * factor ** 2, height, width]`` to ``[..., channels, height * factor, width * factor]`` (torch.pixel_shuffle)."""
    *batch, channels, height, width = x.shape
    return ArraySpec((*batch, channels // (factor * factor), height * factor, width * factor), x.dtype)


@declare(_SECTION)
def pixel_unshuffle(x: ArraySpec, /, *, factor: int) -> ArraySpec:
    """The inverse of :func:`pixel_shuffle` (torch.pixel_unshuffle)."""
    *batch, channels, height, width = x.shape
    return ArraySpec((*batch, channels * (factor * factor), height // factor, width // factor), x.dtype)


@declare(_SECTION)
def channel_shuffle(x: ArraySpec, /, *, groups: int) -> ArraySpec:
    """Channels (axis 1) of ``groups`` groups dealt out in turn (torch.channel_shuffle)."""
    return ArraySpec(x.shape, x.dtype)


# ------------------------------------------------------------------------------ in smaller operations
@decomposition("pixel_shuffle")
def _pixel_shuffle(b: Any, x: Any, *, factor: int) -> Any:
    *batch, channels, height, width = x.shape
    n = len(batch)
    split = b.reshape(x, shape=(*batch, channels // (factor * factor), factor, factor, height, width))
    moved = b.permute_dims(split, axes=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return b.reshape(moved, shape=pixel_shuffle(x.spec, factor=factor).shape)


@decomposition("pixel_unshuffle")
def _pixel_unshuffle(b: Any, x: Any, *, factor: int) -> Any:
    *batch, channels, height, width = x.shape
    n = len(batch)
    split = b.reshape(x, shape=(*batch, channels, height // factor, factor, width // factor, factor))
    moved = b.permute_dims(split, axes=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return b.reshape(moved, shape=pixel_unshuffle(x.spec, factor=factor).shape)


@decomposition("channel_shuffle")
def _channel_shuffle(b: Any, x: Any, *, groups: int) -> Any:
    split = b.reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, product(x.shape[2:])))
    return b.reshape(b.permute_dims(split, axes=(0, 2, 1, 3)), shape=x.shape)
