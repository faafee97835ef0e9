"""Convolutions."""

from __future__ import annotations

from typing import Any

from .....ops.layouts import CHANNELS_FIRST, CHANNELS_LAST
from ..table import JaxBuilder, rows, tupled
from .shapes import spaced


@rows.row("conv_general_dilated_p")
def conv_general_dilated(
    b: JaxBuilder,
    x: Any,
    weight: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> Any:
    """Axes in any order: batch and channels of ``x``, output and input channels of the weight, then space."""
    given, kernel, made = (tupled(spec) for spec in (dimension_numbers.lhs_spec, dimension_numbers.rhs_spec, dimension_numbers.out_spec))
    if any(b.result.hints[axis] == 0 for axis in made[2:]):  # the window is larger than the array
        return b.without_elements(x, weight)
    dtype = "int32" if b.result.dtype == "bool" else b.result.dtype
    x, weight = b.astype(x, dtype=dtype), b.astype(weight, dtype=dtype)
    batch_groups = b.fix(batch_group_count)
    last = (0, x.ndim - 1, *range(1, x.ndim - 1))
    layout = CHANNELS_LAST if given == made == last and batch_groups == 1 else CHANNELS_FIRST
    if layout == CHANNELS_FIRST:
        x = _with_batch_groups(b, b.permute_dims(x, axes=given), batch_groups)
    space = range(1, x.ndim - 1) if layout == CHANNELS_LAST else range(2, x.ndim)
    x, pads = _ready(b, x, list(space), tupled(lhs_dilation), tuple(padding))
    result = b.conv(
        x,
        b.permute_dims(weight, axes=kernel),
        strides=tupled(window_strides),
        padding=pads,
        dilation=tupled(rhs_dilation),
        groups=b.fix(feature_group_count) * batch_groups,
        layout=layout,
    )
    result = b.not_equal(result, 0) if b.result.dtype == "bool" else result  # whether any of the products is true
    return result if layout == CHANNELS_LAST else b.permute_dims(result, axes=tuple(made.index(axis) for axis in range(x.ndim)))


def _with_batch_groups(b: JaxBuilder, x: Any, groups: int) -> Any:
    """The groups of a batch, each of which meets a part of the kernels, as groups of channels."""
    if groups == 1:
        return x
    count, channels, *space = x.shape
    parted = b.reshape(x, shape=(groups, b.fix(count) // groups, channels, *space))
    turned = b.permute_dims(parted, axes=(1, 0, *range(2, parted.ndim)))
    return b.reshape(turned, shape=(turned.shape[0], groups * channels, *space))


def _ready(b: JaxBuilder, x: Any, space: list[int], dilation: tuple[int, ...], padding: tuple[Any, ...]) -> tuple[Any, Any]:
    """``x`` with zeros between its elements, and cut where padding is negative; the padding that is left."""
    gaps, pads = [0] * x.ndim, [(0, 0)] * x.ndim
    for axis, gap, pair in zip(space, dilation, padding):
        gaps[axis], pads[axis] = gap - 1, pair
    x = spaced(b, x, 0, tuple(gaps))
    cut = tuple(tuple(map(_cut, pair)) for pair in pads)
    x = b.pad(x, padding=cut)
    return x, tuple(tuple(side - _cut(side) for side in pads[axis]) for axis in space)


def _cut(side: Any) -> int:
    """Padding as far as it is negative."""
    return min(side, 0) if isinstance(side, int) else 0
