"""Pooling, unpooling, interpolation, grid sampling and shuffles of pixels and channels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .....errors import UnsupportedOperation
from .....sizes import Size, apply, product
from ..table import TorchBuilder, assume, rows
from .convolution import both_sides, spread, strides_or


def _max_options(
    rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> dict[str, Any]:
    kernel = spread(kernel_size, rank)
    return {
        "kernel": kernel,
        "strides": strides_or(stride, kernel),
        "padding": both_sides(padding, rank),
        "dilation": spread(dilation, rank),
        "ceil_mode": ceil_mode,
    }


def _max_pool(rank: int, name: str, gives_indices: bool) -> None:
    @rows.row(name)
    def max_pool(
        b: TorchBuilder,
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        options = _max_options(rank, kernel_size, stride, padding, dilation, ceil_mode)
        return (
            b.max_pool_with_indices(input, **options)
            if gives_indices or return_indices
            else b.max_pool(input, **options)
        )


def _avg_pool(rank: int) -> None:
    @rows.row(f"avg_pool{rank}d")
    def avg_pool(
        b: TorchBuilder,
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        kernel = spread(kernel_size, rank)
        return b.avg_pool(
            input,
            kernel=kernel,
            strides=strides_or(stride, kernel),
            padding=both_sides(padding, rank),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )


def _lp_pool(rank: int) -> None:
    @rows.row(f"lp_pool{rank}d")
    def lp_pool(
        b: TorchBuilder,
        input: Any,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Any:
        kernel = spread(kernel_size, rank)
        # The norms of infinite order are the largest and the smallest absolute value.
        if norm_type in (float("inf"), -float("inf")):
            options = _max_options(rank, kernel, stride, 0, 1, ceil_mode)
            sizes = b.abs(input)
            return (
                b.max_pool(sizes, **options)
                if norm_type > 0
                else b.negative(b.max_pool(b.negative(sizes), **options))
            )
        if "float" not in input.dtype:
            raise NotImplementedError("lp_pool of integers, whose powers torch averages in integers")
        return b.lp_pool(
            input, ord=norm_type, kernel=kernel, strides=strides_or(stride, kernel), ceil_mode=ceil_mode
        )


# ---------------------------------------------------------------------------------------------- adaptive
def _adaptive_size(b: TorchBuilder, x: Any, rank: int, output_size: Any) -> tuple[Any, ...]:
    for size in x.shape[-rank:]:
        assume(b, "ge", size, 1)
    # None keeps the size of the axis.
    return tuple(n if out is None else out for n, out in zip(x.shape[-rank:], spread(output_size, rank)))


def _known(dim: Any, number: int) -> bool:
    return isinstance(dim, int) and dim == number


def _even_kernel(x: Any, size: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the kernel of an ordinary pooling that equals the adaptive one, or None if none is known."""
    space = x.shape[-len(size) :]
    if all(_known(out, 1) for out in size):
        return tuple(space)
    even = all(isinstance(out, int) and out > 0 and _known(n % out, 0) for n, out in zip(space, size))
    return tuple(n // out for n, out in zip(space, size)) if even else None


def adaptive_avg(b: TorchBuilder, x: Any, size: tuple[Any, ...]) -> Any:
    rank = len(size)
    if all(_known(out, 1) for out in size):
        return b.mean(x, axis=tuple(range(x.ndim - rank, x.ndim)), keepdims=True)
    if x.shape[-rank:] == size:
        return x
    kernel = _even_kernel(x, size)
    if kernel is not None:
        return b.avg_pool(x, kernel=kernel, strides=kernel, padding=both_sides(0, rank))
    return b.adaptive_avg_pool(x, size=size)


def _adaptive_max(b: TorchBuilder, x: Any, size: tuple[Any, ...], return_indices: bool) -> Any:
    # The operation ``max`` would not do, because equal elements share its gradient, while that of a pooling
    # goes to one element.
    kernel = _even_kernel(x, size)
    if kernel is None:
        return (
            b.adaptive_max_pool_with_indices(x, size=size)
            if return_indices
            else b.adaptive_max_pool(x, size=size)
        )
    rank = len(size)
    options = {"kernel": kernel, "strides": kernel, "padding": both_sides(0, rank), "dilation": (1,) * rank}
    return b.max_pool_with_indices(x, **options) if return_indices else b.max_pool(x, **options)


def _adaptive(rank: int) -> None:
    @rows.row(f"adaptive_avg_pool{rank}d", f"_adaptive_avg_pool{rank}d")
    def adaptive_avg_pool(b: TorchBuilder, input: Any, output_size: Any) -> Any:
        return adaptive_avg(b, input, _adaptive_size(b, input, rank, output_size))

    @rows.row(f"adaptive_max_pool{rank}d", f"adaptive_max_pool{rank}d_with_indices")
    def adaptive_max_pool_with_indices(
        b: TorchBuilder, input: Any, output_size: Any, return_indices: bool = True
    ) -> Any:
        return _adaptive_max(b, input, _adaptive_size(b, input, rank, output_size), True)

    @rows.row(f"nn.functional.adaptive_max_pool{rank}d")
    def adaptive_max_pool(b: TorchBuilder, input: Any, output_size: Any, return_indices: bool = False) -> Any:
        return _adaptive_max(b, input, _adaptive_size(b, input, rank, output_size), return_indices)


# ---------------------------------------------------------------------------------------------- unpooling
def _unpool(rank: int) -> None:
    @rows.row(f"nn.functional.max_unpool{rank}d")
    def max_unpool(
        b: TorchBuilder,
        input: Any,
        indices: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Any:
        kernel = spread(kernel_size, rank)
        strides = strides_or(stride, kernel)
        covered = tuple(
            (n - 1) * s + k - 2 * p
            for n, k, s, p in zip(input.shape[-rank:], kernel, strides, spread(padding, rank))
        )
        if output_size is None:
            return b.max_unpool(input, indices, size=covered)
        wanted = tuple(output_size)[-rank:]
        for size, whole, step in zip(wanted, covered, strides):
            # torch accepts a size that differs from the default by less than a stride.
            assume(b, "gt", size, whole - step)
            assume(b, "lt", size, whole + step)
        return b.max_unpool(input, indices, size=wanted)


@rows.row("max_unpool2d", "max_unpool3d")
def aten_max_unpool(
    b: TorchBuilder, self: Any, indices: Any, output_size: Any, stride: Any = None, padding: Any = None
) -> Any:
    return b.max_unpool(self, indices, size=tuple(output_size))


def _gradient_of_max(b: TorchBuilder, gradient: Any, input: Any, indices: Any, rank: int) -> Any:
    lead = input.shape[:-rank]
    flat = b.zeros(shape=(*lead, product(input.shape[-rank:])), dtype=gradient.dtype)
    shape = (*lead, product(gradient.shape[-rank:]))
    whole = b.scatter(
        # Windows that overlap may have the same maximum, whose gradients are added.
        flat,
        b.reshape(indices, shape=shape),
        b.reshape(gradient, shape=shape),
        axis=len(lead),
        reduce="sum",
    )
    return b.reshape(whole, shape=input.shape)


def _max_pool_backward(rank: int) -> None:
    @rows.row(f"max_pool{rank}d_with_indices_backward")
    def max_pool_backward(
        b: TorchBuilder,
        grad_output: Any,
        self: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        indices: Any,
    ) -> Any:
        return _gradient_of_max(b, grad_output, self, indices, rank)

    @rows.row(f"adaptive_max_pool{rank}d_backward")
    def adaptive_max_pool_backward(b: TorchBuilder, grad_output: Any, self: Any, indices: Any) -> Any:
        return _gradient_of_max(b, grad_output, self, indices, rank)


# ---------------------------------------------------------------------------------------------- fractional
def _fractional(
    b: TorchBuilder, x: Any, rank: int, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any
) -> Any:
    kernel, space = spread(kernel_size, rank), x.shape[-rank:]
    if output_size is None:
        size = tuple(b.fix(b.fix(n) * ratio) for n, ratio in zip(space, spread(output_ratio, rank)))
    else:
        size = spread(output_size, rank)
    if samples is None:
        lead = (1,) * (rank + 2 - x.ndim) + x.shape[:-rank]
        samples = b.random_uniform(b.next_key(), shape=(*lead, rank), dtype=x.dtype)
    return b.fractional_max_pool(x, samples, kernel=kernel, size=size)


def _fractional_max_pool(rank: int) -> None:
    def fractional_max_pool(
        b: TorchBuilder,
        input: Any,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        both = _fractional(b, input, rank, kernel_size, output_size, output_ratio, _random_samples)
        return both if return_indices else both[0]

    rows.row(f"nn.functional.fractional_max_pool{rank}d", f"fractional_max_pool{rank}d_with_indices")(
        fractional_max_pool
    )

    @rows.row(f"fractional_max_pool{rank}d")
    def aten_fractional_max_pool(
        b: TorchBuilder, self: Any, kernel_size: Any, output_size: Any, random_samples: Any
    ) -> Any:
        return _fractional(b, self, rank, kernel_size, output_size, None, random_samples)


for _rank in (1, 2, 3):
    _max_pool(_rank, f"max_pool{_rank}d", False)
    _max_pool(_rank, f"max_pool{_rank}d_with_indices", True)
    _avg_pool(_rank)
    _lp_pool(_rank)
    _adaptive(_rank)
    _unpool(_rank)
for _rank in (2, 3):
    _fractional_max_pool(_rank)
    _max_pool_backward(_rank)


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
    if isinstance(factor, Size) or not isinstance(dim, Size):
        product = dim * factor
        return apply("trunc", product) if isinstance(product, Size) else int(product)
    ratio = Fraction(factor)
    if ratio.denominator <= 64:
        return dim * ratio.numerator // ratio.denominator
    return apply("trunc", apply("mul", dim, factor))


def _interpolate(
    b: TorchBuilder,
    x: Any,
    method: str,
    size: Any,
    factors: Any,
    align_corners: Any = False,
    antialias: bool = False,
    recompute_scale_factor: bool = False,
) -> Any:
    space = x.shape[2:]
    if size is None:
        size = tuple(map(_scaled, space, spread(factors, len(space))))
    scales = None if factors is None or recompute_scale_factor else spread(factors, len(space))
    if scales is not None and (
        # With ``align_corners`` torch ignores the factors, and integer factors follow from the sizes.
        align_corners or all(f is None or _implied(f, n, out) for f, n, out in zip(scales, space, size))
    ):
        scales = None
    options = {"scales": scales, "align_corners": bool(align_corners), "antialias": antialias}
    return b.interpolate(x, size=spread(size, len(space)), method=method, **options)


def _implied(factor: Any, dim: Any, out: Any) -> bool:
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
        wanted = (
            spread(size, len(space))
            if size is not None
            else tuple(map(_scaled, space, spread(scale_factor, len(space))))
        )
        return adaptive_avg(b, input, wanted)
    if mode not in _METHODS:
        raise UnsupportedOperation(f"interpolate with mode={mode!r}")
    return _interpolate(
        b, input, _METHODS[mode], size, scale_factor, align_corners, antialias, bool(recompute_scale_factor)
    )


# ---------------------------------------------------------------------------------------------- aten
def _factors(scales: tuple[Any, ...], named: dict[str, Any]) -> Any:
    given = (*scales, *named.values())
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(given[0])
    return None if all(factor is None for factor in given) else given


def _upsample_aligned(name: str, method: str, antialias: bool = False) -> None:
    @rows.row(name)
    def row(
        b: TorchBuilder, input: Any, output_size: Any, align_corners: bool, *scales: Any, **named: Any
    ) -> Any:
        return _interpolate(b, input, method, output_size, _factors(scales, named), align_corners, antialias)


def _upsample_nearest(name: str, method: str) -> None:
    @rows.row(name)
    def row(b: TorchBuilder, input: Any, output_size: Any, *scales: Any, **named: Any) -> Any:
        return _interpolate(b, input, method, output_size, _factors(scales, named))


for _name, _method in {
    "linear1d": "linear",
    "bilinear2d": "linear",
    "trilinear3d": "linear",
    "bicubic2d": "cubic",
}.items():
    _upsample_aligned(f"upsample_{_name}", _method)
for _name, _method in {"bilinear2d": "linear", "bicubic2d": "cubic", "lanczos2d": "lanczos"}.items():
    _upsample_aligned(f"_upsample_{_name}_aa", _method, antialias=True)
for _resampled_rank in (1, 2, 3):
    _upsample_nearest(f"upsample_nearest{_resampled_rank}d", "nearest")
    _upsample_nearest(f"_upsample_nearest_exact{_resampled_rank}d", "nearest-exact")


# ---------------------------------------------------------------------------------------------- grids
@rows.row("grid_sample")
def grid_sample(
    b: TorchBuilder,
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    return b.grid_sample(
        input, grid, method=_METHODS[mode], padding=padding_mode, align_corners=bool(align_corners)
    )


@rows.row(
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "_grid_sampler_2d_cpu_fallback",
    "cudnn_grid_sampler",
)
def grid_sampler(
    b: TorchBuilder,
    input: Any,
    grid: Any,
    interpolation_mode: int = 0,
    padding_mode: int = 0,
    align_corners: bool = True,
) -> Any:
    method, padding = (
        ("linear", "nearest", "cubic")[interpolation_mode],
        ("zeros", "border", "reflection")[padding_mode],
    )
    return b.grid_sample(input, grid, method=method, padding=padding, align_corners=align_corners)


@rows.row("affine_grid", "affine_grid_generator")
def affine_grid(b: TorchBuilder, theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    assume(b, "eq", theta.shape[0], size[0])
    return b.affine_grid(theta, size=tuple(size)[2:], align_corners=bool(align_corners))


# ---------------------------------------------------------------------------------------------- shuffles
rows.table({
    "pixel_shuffle": lambda b, input, upscale_factor: b.pixel_shuffle(input, factor=upscale_factor),
    "pixel_unshuffle": lambda b, input, downscale_factor: b.pixel_unshuffle(input, factor=downscale_factor),
    ("channel_shuffle", "native_channel_shuffle"): lambda b, input, groups:
        b.channel_shuffle(input, groups=groups),
})  # fmt: skip
