"""Rows of matrix products, convolutions, decompositions and FFTs."""

from __future__ import annotations

import string
from typing import Any

from ....ops.convolution import CHANNELS_FIRST, CHANNELS_LAST
from ....ops.dtypes import is_complex
from ....sizes import hint_of
from .manipulation import dilate
from .table import JaxBuilder, int_tuple, rows


@rows.row("dot_general_p")
def dot_general(b: JaxBuilder, x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> Any:
    (left, right), (left_batch, right_batch) = (tuple(map(int_tuple, pair)) for pair in dimension_numbers)
    # A product of bools is true if any of the element products is.
    if b.result.dtype == "bool":
        x, y = (b.array(b.array(item), "int32") for item in (x, y))
        return b.not_equal(_product(b, x, y, (left, right), (left_batch, right_batch)), 0)
    return _product(b, b.as_result(x), b.as_result(y), (left, right), (left_batch, right_batch))


def _product(b: JaxBuilder, x: Any, y: Any, contracted: Any, batched: Any) -> Any:
    (left, right), (left_batch, right_batch) = contracted, batched
    batch = len(left_batch)
    if (
        left_batch == right_batch == tuple(range(batch))
        and len(left) == 1
        and left == (x.ndim - 1,)
        and _is_matrix(x, y, batch)
    ):
        if right == (batch,):
            return b.matmul(x, y)
        if y.ndim == batch + 2:
            return b.matmul(x, b.permute_dims(y, axes=(*range(batch), batch + 1, batch)))
    return b.einsum(x, y, equation=_equation(x.ndim, y.ndim, (left, right), (left_batch, right_batch)))


def _is_matrix(x: Any, y: Any, batch: int) -> bool:
    if batch:
        return x.ndim == y.ndim == batch + 2
    return x.ndim >= 1 and y.ndim in (1, 2)


def _equation(left_rank: int, right_rank: int, contracted: Any, batched: Any) -> str:
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(left_rank)]
    right = [next(letters) for _ in range(right_rank)]
    for pairs in (contracted, batched):
        for i, j in zip(*pairs):
            right[j] = left[i]
    free_left = [letter for i, letter in enumerate(left) if i not in contracted[0] and i not in batched[0]]
    free_right = [letter for j, letter in enumerate(right) if j not in contracted[1] and j not in batched[1]]
    result = [left[i] for i in batched[0]] + free_left + free_right
    return f"{''.join(left)},{''.join(right)}->{''.join(result)}"


rows.table({
    "cholesky_p": lambda b, x, **_: b.cholesky(x),
    "geqrf_p": lambda b, x: b.geqrf(x),
    "householder_product_p": lambda b, x, tau: b.householder_product(x, tau),
})  # fmt: skip


@rows.row("ormqr_p")
def ormqr(b: JaxBuilder, x: Any, tau: Any, y: Any, *, left: bool, transpose: bool) -> Any:
    # JAX reads one column for each factor, and torch rejects further columns.
    vectors = b.getitem(x, key=(*((None, None, 1),) * (x.ndim - 1), (None, tau.shape[-1], 1)))
    return b.ormqr(vectors, tau, y, left=left, transpose=transpose)


@rows.row("eigh_p")
def eigh(b: JaxBuilder, x: Any, *, lower: bool = True, subset_by_index: Any = None, **_: Any) -> Any:
    if subset_by_index is not None and tuple(subset_by_index) != (0, hint_of(x.shape[-1])):
        raise NotImplementedError("eigh of a part of the eigenvalues")
    values, vectors = b.eigh(x, upper=not lower)
    return vectors, values


@rows.row("eig_p")
def eig(
    b: JaxBuilder, x: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> Any:
    if compute_left_eigenvectors:
        raise NotImplementedError("left eigenvectors")
    return b.eig(x) if compute_right_eigenvectors else (b.eigvals(x),)


@rows.row("qr_p")
def qr(b: JaxBuilder, x: Any, *, full_matrices: bool, pivoting: bool = False, **_: Any) -> Any:
    if pivoting:
        raise NotImplementedError("qr with pivoting")
    return b.qr(x, mode="complete" if full_matrices else "reduced")


@rows.row("svd_p")
def svd(
    b: JaxBuilder, x: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any = None, **_: Any
) -> Any:
    if subset_by_index is not None:
        raise NotImplementedError("svd of a part of the singular values")
    if not compute_uv:
        return (b.svdvals(x),)
    left, values, right = b.svd(x, full_matrices=bool(full_matrices))
    return values, left, right


@rows.row("lu_p")
def lu(b: JaxBuilder, x: Any) -> Any:
    packed, pivots = b.lu_factor(x)
    exchange, _, _ = b.lu_unpack(packed, pivots)
    exchange = b.real(exchange) if is_complex(exchange.dtype) else exchange
    return packed, b.subtract(pivots, 1), b.astype(b.argmax(exchange, axis=x.ndim - 2), dtype="int32")


@rows.row("lu_pivots_to_permutation_p")
def lu_pivots_to_permutation(b: JaxBuilder, pivots: Any, *, permutation_size: Any) -> Any:
    size = permutation_size
    nothing = b.zeros(shape=(*pivots.shape[:-1], size, pivots.shape[-1]), dtype="float32")
    # Pivots in the canonical operation begin at 1, as in LAPACK.
    exchange, _, _ = b.lu_unpack(nothing, b.add(pivots, 1))
    return b.astype(b.argmax(exchange, axis=nothing.ndim - 2), dtype="int32")


@rows.row("ragged_dot_general_p")
def ragged_dot_general(
    b: JaxBuilder,
    x: Any,
    weights: Any,
    sizes: Any,
    *,
    ragged_dot_dimension_numbers: Any,
    group_offset: Any = None,
    **_: Any,
) -> Any:
    numbers = ragged_dot_dimension_numbers
    found = (numbers.dot_dimension_numbers, numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions)
    if str(found) != str(((((1,), (1,)), ((), ())), (0,), (0,))) or group_offset is not None or x.ndim != 2:
        raise NotImplementedError("ragged_dot_general of other axes than those of ragged_dot")
    x, weights, sizes = b.as_result(x), b.as_result(weights), b.array(sizes)
    rows_, groups = (
        b.arange(start=0, stop=size, step=1, dtype=sizes.dtype) for size in (x.shape[0], weights.shape[0])
    )
    group = b.searchsorted(b.cumulative_sum(sizes, axis=0, dtype=sizes.dtype), rows_, side="right")
    inside = b.equal(b.reshape(groups, shape=(weights.shape[0], 1)), b.astype(group, dtype=sizes.dtype))
    # Group sizes are known only at run time, so each row is multiplied by the matrices of all groups.
    products = b.matmul(b.reshape(x, shape=(1, *x.shape)), weights)
    kept = b.where(b.reshape(inside, shape=(*inside.shape, 1)), products, b.array(0, products.dtype))
    return b.sum(kept, axis=(0,), dtype=products.dtype)


@rows.row("triangular_solve_p")
def triangular_solve(
    b: JaxBuilder,
    a: Any,
    y: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    a = b.conj(a) if conjugate_a and is_complex(a.dtype) else a
    return b.solve_triangular(
        a,
        y,
        upper=not lower,
        left=bool(left_side),
        transpose=bool(transpose_a),
        unit_diagonal=bool(unit_diagonal),
    )


@rows.row("tridiagonal_solve_p")
def tridiagonal_solve(
    b: JaxBuilder, lower: Any, diagonal: Any, upper: Any, y: Any, *, perturb_singular: bool = False
) -> Any:
    if perturb_singular:
        raise NotImplementedError("tridiagonal_solve with perturb_singular")
    return b.tridiagonal_solve(lower, diagonal, upper, y)


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
    # Each spec lists the axes of batch and channels, and then the spatial axes.
    given, kernel, made = (
        int_tuple(spec)
        for spec in (dimension_numbers.lhs_spec, dimension_numbers.rhs_spec, dimension_numbers.out_spec)
    )
    # A window that is larger than the array has no position.
    if any(b.result.hints[axis] == 0 for axis in made[2:]):
        return b.without_elements(x, weight)
    # A convolution of bools is true if any of the products is.
    dtype = "int32" if b.result.dtype == "bool" else b.result.dtype
    x, weight = b.astype(x, dtype=dtype), b.astype(weight, dtype=dtype)
    batch_groups = b.fix(batch_group_count)
    last = (0, x.ndim - 1, *range(1, x.ndim - 1))
    layout = CHANNELS_LAST if given == made == last and batch_groups == 1 else CHANNELS_FIRST
    if layout == CHANNELS_FIRST:
        x = _with_batch_groups(b, b.permute_dims(x, axes=given), batch_groups)
    space = range(1, x.ndim - 1) if layout == CHANNELS_LAST else range(2, x.ndim)
    x, pads = _dilate_and_crop(b, x, list(space), int_tuple(lhs_dilation), tuple(padding))
    result = b.conv(
        x,
        b.permute_dims(weight, axes=kernel),
        strides=int_tuple(window_strides),
        padding=pads,
        dilation=int_tuple(rhs_dilation),
        groups=b.fix(feature_group_count) * batch_groups,
        layout=layout,
    )
    result = b.not_equal(result, 0) if b.result.dtype == "bool" else result
    return (
        result
        if layout == CHANNELS_LAST
        else b.permute_dims(result, axes=tuple(made.index(axis) for axis in range(x.ndim)))
    )


def _with_batch_groups(b: JaxBuilder, x: Any, groups: int) -> Any:
    if groups == 1:
        return x
    count, channels, *space = x.shape
    parted = b.reshape(x, shape=(groups, b.fix(count) // groups, channels, *space))
    turned = b.permute_dims(parted, axes=(1, 0, *range(2, parted.ndim)))
    return b.reshape(turned, shape=(turned.shape[0], groups * channels, *space))


def _dilate_and_crop(
    b: JaxBuilder, x: Any, space: list[int], dilation: tuple[int, ...], padding: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Dilate ``x`` with zeros, and apply negative int padding by cropping.

    Return the result, and the remaining padding of each axis in ``space``.
    """
    gaps, pads = [0] * x.ndim, [(0, 0)] * x.ndim
    for axis, gap, pair in zip(space, dilation, padding):
        gaps[axis], pads[axis] = gap - 1, pair
    x = dilate(b, x, 0, tuple(gaps))
    cut = tuple(tuple(map(_cut, pair)) for pair in pads)
    x = b.pad(x, padding=cut)
    return x, tuple(tuple(side - _cut(side) for side in pads[axis]) for axis in space)


def _cut(side: Any) -> int:
    return min(side, 0) if isinstance(side, int) else 0


_KINDS = {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn", "IRFFT": "irfftn"}


@rows.row("fft_p")
def fft(b: JaxBuilder, x: Any, *, fft_type: Any, fft_lengths: Any) -> Any:
    if 0 in x.spec.hints:
        return b.without_elements(x)
    kind = _KINDS[fft_type.name if hasattr(fft_type, "name") else list(_KINDS)[fft_type]]
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    # Only the size of a real result does not follow from that of the operand.
    return getattr(b, kind)(x, s=tuple(fft_lengths) if kind == "irfftn" else None, axes=axes)
