"""Resampling of torch, and moving elements between channels and space."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .....errors import UnsupportedOperation
from .....sizes import Size, apply
from ..demands import assume
from ..table import TorchBuilder, rows
from .pooling import adaptive_avg
from .windows import spread

_METHODS = {
    "nearest": "nearest",
    "nearest-exact": "nearest-exact",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
    "lanczos": "lanczos",
}


def _scaled(dim: Any, factor: Any) -> Any:
    """``floor(dim * factor)`` in the arithmetic of sizes: whole numbers and simple fractions exactly."""
    if isinstance(factor, Size) or not isinstance(dim, Size):
        product = dim * factor
        return apply("trunc", product) if isinstance(product, Size) else int(product)
    ratio = Fraction(factor)
    if ratio.denominator <= 64:
        return dim * ratio.numerator // ratio.denominator
    return apply("trunc", apply("mul", dim, factor))


def _interpolate(
    b: TorchBuilder, x: Any, method: str, size: Any, factors: Any, align_corners: Any = False, antialias: bool = False, ignore: bool = False
) -> Any:
    """``x`` resampled to ``size``, or by ``factors``; with ``ignore`` these only give the size."""
    space = x.shape[2:]
    if size is None:
        size = tuple(map(_scaled, space, spread(factors, len(space))))
    scales = None if factors is None or ignore else spread(factors, len(space))
    if scales is not None and (align_corners or all(f is None or _implied(f, n, out) for f, n, out in zip(scales, space, size))):
        scales = None
    options = {"scales": scales, "align_corners": bool(align_corners), "antialias": antialias}
    return b.interpolate(x, size=spread(size, len(space)), method=method, **options)


def _implied(factor: Any, dim: Any, out: Any) -> bool:
    """Whether output size by input size is the factor anyway."""
    return not isinstance(factor, Size) and float(factor).is_integer() and bool(out == dim * int(factor))


@rows.row("interpolate")
def interpolate(
    b: TorchBuilder,
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    if mode == "area":
        space = input.shape[2:]
        wanted = spread(size, len(space)) if size is not None else tuple(map(_scaled, space, spread(scale_factor, len(space))))
        return adaptive_avg(b, input, wanted)
    if mode not in _METHODS:
        raise UnsupportedOperation(f"interpolate with mode={mode!r}")
    return _interpolate(b, input, _METHODS[mode], size, scale_factor, align_corners, antialias, bool(recompute_scale_factor))


# ---------------------------------------------------------------------------------------------- aten
def _factors(scales: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The factors of ``upsample_*(..., scales_h, scales_w)`` or ``upsample_*.vec(..., scale_factors)``, None where there are none."""
    given = (*scales, *named.values())
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(given[0])
    return None if all(factor is None for factor in given) else given


def _upsample_aligned(name: str, method: str, antialias: bool = False) -> None:
    @rows.row(name)
    def row(b: TorchBuilder, input: Any, output_size: Any, align_corners: bool, *scales: Any, **named: Any) -> Any:
        """aten::upsample_linear1d, upsample_bilinear2d, upsample_bicubic2d, ..., both overloads."""
        return _interpolate(b, input, method, output_size, _factors(scales, named), align_corners, antialias)


def _upsample_nearest(name: str, method: str) -> None:
    @rows.row(name)
    def row(b: TorchBuilder, input: Any, output_size: Any, *scales: Any, **named: Any) -> Any:
        """aten::upsample_nearest1d, ..., both overloads."""
        return _interpolate(b, input, method, output_size, _factors(scales, named))


for _name, _method in {"linear1d": "linear", "bilinear2d": "linear", "trilinear3d": "linear", "bicubic2d": "cubic"}.items():
    _upsample_aligned(f"upsample_{_name}", _method)
for _name, _method in {"bilinear2d": "linear", "bicubic2d": "cubic", "lanczos2d": "lanczos"}.items():
    _upsample_aligned(f"_upsample_{_name}_aa", _method, antialias=True)
for _rank in (1, 2, 3):
    _upsample_nearest(f"upsample_nearest{_rank}d", "nearest")
    _upsample_nearest(f"_upsample_nearest_exact{_rank}d", "nearest-exact")


# ---------------------------------------------------------------------------------------------- grids
@rows.row("grid_sample")
def grid_sample(
    b: TorchBuilder, input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    return b.grid_sample(input, grid, method=_METHODS[mode], padding=padding_mode, align_corners=bool(align_corners))


@rows.row("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback", "cudnn_grid_sampler")
def grid_sampler(
    b: TorchBuilder, input: Any, grid: Any, interpolation_mode: int = 0, padding_mode: int = 0, align_corners: bool = True
) -> Any:
    """torch.grid_sampler, with numbers for mode and padding."""
    method, padding = ("linear", "nearest", "cubic")[interpolation_mode], ("zeros", "border", "reflection")[padding_mode]
    return b.grid_sample(input, grid, method=method, padding=padding, align_corners=align_corners)


@rows.row("affine_grid", "affine_grid_generator")
def affine_grid(b: TorchBuilder, theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    assume(b, "eq", theta.shape[0], size[0])
    return b.affine_grid(theta, size=tuple(size)[2:], align_corners=bool(align_corners))


# ---------------------------------------------------------------------------------------------- shuffles
rows.table({
    "pixel_shuffle": lambda b, input, upscale_factor: b.pixel_shuffle(input, factor=upscale_factor),
    "pixel_unshuffle": lambda b, input, downscale_factor: b.pixel_unshuffle(input, factor=downscale_factor),
    ("channel_shuffle", "native_channel_shuffle"): lambda b, input, groups: b.channel_shuffle(input, groups=groups),
})  # fmt: skip
