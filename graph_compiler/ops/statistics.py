"""Statistics of the array API standard, and order statistics, histograms, integrals and distances."""

from __future__ import annotations

from typing import Any

from ..sizes import hint_of
from .dtypes import UNSIGNED, is_bool, is_integer, real_of
from .registry import ArraySpec, Unknown, declare, decomposition
from .rules import Input, broadcast, dtype_of, normalise_axis, reduced, shape_of

# --------------------------------------------------------------------------------------- array API statistics
# ``axis`` is an axis, a tuple of axes, or None for all.

_STATISTICAL = "statistical"
Axis = int | tuple[int, ...] | None


def accumulated(dtype: str) -> str:
    """Return the default dtype of sums and products: uint64 for unsigned integers, int64 for signed and bool.

    Other dtypes are returned unchanged.
    """
    if is_bool(dtype) or is_integer(dtype):
        return "uint64" if dtype in UNSIGNED else "int64"
    return dtype


@declare(_STATISTICAL)
def sum_(
    x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False
) -> ArraySpec:
    """Sum over ``axis``; without ``dtype`` integers are summed in 64 bits.

    The result is then uint64 for unsigned integers, and int64 for signed integers and bools.
    """
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@declare(_STATISTICAL)
def prod(
    x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False
) -> ArraySpec:
    """Multiply over ``axis``; dtypes as in ``sum``."""
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@declare(_STATISTICAL)
def mean(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Compute the mean over ``axis`` of a float or complex array; NaN if there are no elements."""
    return reduced(x, axis, keepdims)


@declare(_STATISTICAL)
def var(x: ArraySpec, /, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> ArraySpec:
    """Compute the variance over ``axis`` with divisor ``max(0, N - correction)``; real for complex arrays.

    It is the sum of the squared absolute deviations from the mean, divided by that number. N is the number of
    elements over ``axis``.
    """
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_STATISTICAL)
def std(x: ArraySpec, /, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> ArraySpec:
    """Compute the standard deviation over ``axis``, the square root of ``var``."""
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_STATISTICAL)
def max_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False, first: bool = False) -> ArraySpec:
    """Compute the maximum over ``axis``; NaN if any element is.

    Equal extremes share the gradient. With ``first`` and a single axis, the first of them gets all of it.
    """
    return reduced(x, axis, keepdims)


@declare(_STATISTICAL)
def min_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False, first: bool = False) -> ArraySpec:
    """Compute the minimum over ``axis``; NaN if any element is.

    Equal extremes share the gradient. With ``first`` and a single axis, the first of them gets all of it.
    """
    return reduced(x, axis, keepdims)


@declare(_STATISTICAL)
def cumulative_sum(x: ArraySpec, /, *, axis: int, dtype: str | None = None) -> ArraySpec:
    """Compute the cumulative sum along ``axis``; dtypes as in ``sum``."""
    return ArraySpec(x.shape, dtype or accumulated(x.dtype))


@declare(_STATISTICAL)
def cumulative_prod(x: ArraySpec, /, *, axis: int, dtype: str | None = None) -> ArraySpec:
    """Compute the cumulative product along ``axis``; dtypes as in ``sum``."""
    return ArraySpec(x.shape, dtype or accumulated(x.dtype))


_UTILITY = "utility"


@declare(_UTILITY)
def all_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Return True where all elements over ``axis`` are true; numbers are true if they are not zero."""
    return reduced(x, axis, keepdims, "bool")


@declare(_UTILITY)
def any_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Return True where any element over ``axis`` is true; numbers are true if they are not zero."""
    return reduced(x, axis, keepdims, "bool")


@declare(_UTILITY)
def diff(x: ArraySpec, /, *, axis: int = -1, n: int = 1) -> ArraySpec:
    """Compute the ``n``-th difference of neighbours along ``axis``; of bools, their exclusive or."""
    return ArraySpec((*x.shape[:axis], _shortened(x.shape[axis], n), *x.shape[axis:][1:]), x.dtype)


# ------------------------------------------------------------------------------ beyond the array API standard
_STATISTICS = "statistics"


# ------------------------------------------------------------------------------------------------- reductions
@declare(_STATISTICS)
def logsumexp(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Compute ``log(sum(exp(x)))`` over ``axis`` without overflow."""
    return reduced(x, axis, keepdims)


@declare(_STATISTICS)
def nansum(
    x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False
) -> ArraySpec:
    """Sum over ``axis``, with NaN as zero; without ``dtype`` integers are summed in 64 bits."""
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@decomposition("nansum")
def _nansum(b: Any, x: Any, *, axis: Axis, dtype: str | None, keepdims: bool) -> Any:
    return b.sum(b.where(b.isnan(x), 0.0, x), axis=axis, dtype=dtype, keepdims=keepdims)


@declare(_STATISTICS)
def nanmean(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Compute the mean over ``axis`` of the elements that are not NaN.

    The mean of no elements is NaN.
    """
    return reduced(x, axis, keepdims)


@declare(_STATISTICS)
def lower_median(
    x: ArraySpec, /, *, axis: int, keepdims: bool = False, skip_nan: bool = False
) -> tuple[ArraySpec, ArraySpec]:
    """Return the median along ``axis``, the lower one of two, and its index.

    A slice with NaN has the median NaN. With ``skip_nan``, NaN is ignored unless the slice has nothing else.
    """
    return reduced(x, axis, keepdims), reduced(x, axis, keepdims, "int64")


@declare(_STATISTICS)
def mode(x: ArraySpec, /, *, axis: int, keepdims: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """Return the most frequent element along ``axis`` and the index of an occurrence.

    Ties go to the smallest element.
    """
    return reduced(x, axis, keepdims), reduced(x, axis, keepdims, "int64")


@declare(_STATISTICS)
def quantile(
    x: ArraySpec,
    q: Input,
    /,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    interpolation: str = "linear",
    skip_nan: bool = False,
) -> ArraySpec:
    """Compute the ``q``-th quantiles of ``x`` along ``axis``, or of all elements if it is None.

    ``q`` lies in [0, 1], and its axes come first in the result. ``interpolation`` is linear, lower,
    higher, midpoint or nearest. The result is NaN for a slice with NaN, unless ``skip_nan`` ignores NaN.
    """
    return ArraySpec(shape_of(q) + reduced(x, axis, keepdims).shape, x.dtype)


# ----------------------------------------------------------------------------------------- running statistics
@declare(_STATISTICS)
def cummax(x: ArraySpec, /, *, axis: int) -> tuple[ArraySpec, ArraySpec]:
    """Compute the cumulative maximum along ``axis``, and the index of its last occurrence so far.

    The gradient goes to that element.
    """
    return x, ArraySpec(x.shape, "int64")


@declare(_STATISTICS)
def cummin(x: ArraySpec, /, *, axis: int) -> tuple[ArraySpec, ArraySpec]:
    """Compute the cumulative minimum along ``axis``, and the index of its last occurrence so far.

    The gradient goes to that element.
    """
    return x, ArraySpec(x.shape, "int64")


@declare(_STATISTICS)
def logcumsumexp(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Compute ``log(cumulative_sum(exp(x)))`` along ``axis`` without overflow."""
    return x


# -------------------------------------------------------------------------------------------------- integrals
@declare(_STATISTICS)
def trapezoid(y: ArraySpec, x: ArraySpec | None = None, /, *, dx: Any = 1.0, axis: int = -1) -> ArraySpec:
    """Integrate ``y`` along ``axis`` by the trapezoidal rule, at points ``x`` or with spacing ``dx``.

    ``x`` is a vector of points along ``axis``, or broadcasts with ``y``.
    """
    shape = _sample_shape(y, x)
    place = normalise_axis(axis, len(shape))
    return ArraySpec(shape[:place] + shape[place + 1 :], y.dtype)


@declare(_STATISTICS)
def cumulative_trapezoid(
    y: ArraySpec, x: ArraySpec | None = None, /, *, dx: Any = 1.0, axis: int = -1
) -> ArraySpec:
    """Integrate ``y`` cumulatively along ``axis`` by the trapezoidal rule.

    The result has one element for each interval along ``axis``. ``x`` and ``dx`` are as in :func:`trapezoid`.
    """
    shape = _sample_shape(y, x)
    place = normalise_axis(axis, len(shape))
    return ArraySpec((*shape[:place], _shortened(shape[place], 1), *shape[place + 1 :]), y.dtype)


def _shortened(size: Any, by: int) -> Any:
    # An unknown size has no expression, so only its hint can be decreased.
    if isinstance(size, Unknown):
        return Unknown(max(size.hint - by, 0))
    return size - by if hint_of(size) >= by else 0 if isinstance(size, int) else Unknown(0)


def _sample_shape(y: ArraySpec, x: ArraySpec | None) -> tuple[Any, ...]:
    return y.shape if x is None or x.ndim == 1 else broadcast(y.shape, x.shape)


# --------------------------------------------------------------------------------------------------- counting
@declare(_STATISTICS)
def bincount(
    x: ArraySpec, weights: ArraySpec | None = None, /, *, minlength: Any = 0, hint: int = 0
) -> ArraySpec:
    """Count the occurrences of each of 0, 1, 2 ... in the vector ``x``, or sum their ``weights``.

    The result has ``max(x) + 1`` elements, but at least ``minlength``, which is the number for an empty
    ``x``. ``hint`` is the number of elements of the result while recording.
    """
    return ArraySpec((Unknown(hint),), weights.dtype if weights is not None else "int64")


@declare(_STATISTICS)
def histc(x: ArraySpec, /, *, bins: int, min: float, max: float) -> ArraySpec:
    """Count the elements in each of ``bins`` equal bins of ``[min, max]``.

    If ``min`` equals ``max``, the bins cover the range of ``x``, which is widened by 1 on both sides if it is
    a single number. Elements outside of the bins are ignored.
    """
    return ArraySpec((bins,), x.dtype)


@declare(_STATISTICS)
def histogram_bin_edges(x: ArraySpec, /, *, bins: int, range: tuple[float, float] | None = None) -> ArraySpec:
    """Return the ``bins + 1`` edges of equal bins over ``range``, or over the range of ``x``.

    A range of a single number is widened by 0.5 on both sides. The range of an empty ``x`` is (0, 1).
    """
    return ArraySpec((bins + 1,), x.dtype)


@declare(_STATISTICS)
def histogram(
    x: ArraySpec, bin_edges: ArraySpec, weights: ArraySpec | None = None, /, *, density: bool = False
) -> ArraySpec:
    """Count the elements, or sum their weights, between neighbouring ``bin_edges``.

    The last bin includes its upper edge. Elements outside of the bins are ignored. ``density`` normalises the
    integral to 1.
    """
    return ArraySpec((bin_edges.shape[0] - 1,), x.dtype)


# ---------------------------------------------------------------------------------- correlation and distances
@declare(_STATISTICS)
def cov(
    x: ArraySpec,
    fweights: ArraySpec | None = None,
    aweights: ArraySpec | None = None,
    /,
    *,
    correction: float = 1,
) -> ArraySpec:
    """Compute the covariance matrix of the rows of ``x``; for a vector, its variance as a scalar array.

    ``fweights`` are integers that say how often each column occurs, ``aweights`` any other weights of the
    columns. ``correction`` is ``ddof`` of ``numpy.cov``.
    """
    return ArraySpec(() if x.ndim < 2 else (x.shape[0], x.shape[0]), x.dtype)


@declare(_STATISTICS)
def corrcoef(x: ArraySpec, /) -> ArraySpec:
    """Compute Pearson's correlation matrix of the rows of ``x``; for a vector, a scalar array."""
    return ArraySpec(() if x.ndim < 2 else (x.shape[0], x.shape[0]), x.dtype)


@declare(_STATISTICS)
def cosine_similarity(x1: ArraySpec, x2: ArraySpec, /, *, axis: int, epsilon: float = 1e-8) -> ArraySpec:
    """Compute the cosine of the angle between ``x1`` and ``x2`` along ``axis`` of their broadcast shape.

    A norm below ``epsilon`` is replaced by ``epsilon``.
    """
    return reduced(ArraySpec(broadcast(x1.shape, x2.shape), dtype_of(x1, x2)), axis, False)


@decomposition("cosine_similarity")
def _cosine_similarity(b: Any, x1: Any, x2: Any, *, axis: int, epsilon: float) -> Any:
    shape = broadcast(x1.shape, x2.shape)
    whole = (b.broadcast_to(x, shape=shape) for x in (x1, x2))
    first, second = (
        b.divide(x, b.maximum(b.vector_norm(x, axis=axis, keepdims=True), epsilon)) for x in whole
    )
    return b.sum(b.multiply(first, second), axis=axis)


@declare(_STATISTICS)
def cdist(x1: ArraySpec, x2: ArraySpec, /, *, p: float = 2.0) -> ArraySpec:
    """Compute the ``p``-norm distances between all rows of ``x1`` and all rows of ``x2``.

    Leading axes broadcast.
    """
    return ArraySpec((*broadcast(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]), dtype_of(x1, x2))


@declare(_STATISTICS)
def pdist(x: ArraySpec, /, *, p: float = 2.0) -> ArraySpec:
    """Compute the ``p``-norm distances between all pairs of rows of ``x``.

    Their order is (0, 1), (0, 2) ... (1, 2) ...
    """
    rows = x.shape[0]
    return ArraySpec((rows * (rows - 1) // 2,), x.dtype)
