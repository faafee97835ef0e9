"""Rows of linear algebra, Fourier transforms and signals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir import Value
from ....ops.dtypes import is_complex
from ....sizes import Size, apply, hint_of
from ...common.indexing import along, cut, holds_with_guard
from .manipulation import size_of
from .table import ComputedOperand, TensorFlowBuilder, numbers, rows

# Newton steps for a matrix root. They converge quadratically, so the last ones double the correct digits.
_STEPS = 20
# Repeated square roots bring a matrix close to the identity, where the logarithm's quadrature is accurate.
_ROOTS = 5
# Quadrature nodes.
_NODES = 10
_WIDE = {"float32": "float64", "complex64": "complex128"}
# The relative error above which a result is no square root.
_SINGLE = 1e-3


def _unit(b: TensorFlowBuilder, x: Value) -> Value:
    size: Size | int = x.shape[-1]
    found: Value = b.broadcast_to(b.eye(n_rows=size, n_cols=size, dtype=x.dtype), shape=x.shape)
    return found


def _root(b: TensorFlowBuilder, x: Value) -> Value:
    """Approximate the square root of each matrix by the scaled Denman-Beavers iteration.

    The root is NaN for a matrix for which the iteration does not converge.
    """
    root, other = x, _unit(b, x)
    for _ in range(_STEPS):
        # Scaling by the determinants shortens the slow first phase of the iteration.
        factor = _factor(b, root, other)
        root, other = (_mean(b, one, b.inv(two), factor) for one, two in ((root, other), (other, root)))
    # For a matrix with eigenvalues on the negative real axis the iteration does not converge.
    error = b.max(b.abs(b.subtract(b.matmul(root, root), x)), axis=(x.ndim - 2, x.ndim - 1), keepdims=True)
    whole = b.max(b.abs(x), axis=(x.ndim - 2, x.ndim - 1), keepdims=True)
    is_root = b.less_equal(error, b.multiply(whole, _SINGLE))
    found: Value = b.where(is_root, root, b.array(float("nan"), x.dtype))
    return found


def _factor(b: TensorFlowBuilder, root: Value, other: Value) -> Value:
    length = b.log(b.abs(b.multiply(b.det(root), b.det(other))))
    power = b.divide(length, b.array(-2 * root.shape[-1], length.dtype))
    whole = b.exp(b.clip(power, -10.0, 10.0))
    found: Value = b.stop_gradient(b.astype(b.reshape(whole, shape=(*whole.shape, 1, 1)), dtype=root.dtype))
    return found


def _mean(b: TensorFlowBuilder, one: Value, other: Value, factor: Value) -> Value:
    found: Value = b.multiply(b.add(b.multiply(one, factor), b.divide(other, factor)), 0.5)
    return found


@rows.row("MatrixSquareRoot")
def matrix_square_root(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    return b.astype(_root(b, b.astype(input, dtype=_WIDE.get(input.dtype, input.dtype))), dtype=input.dtype)


@rows.row("MatrixLogarithm")
def matrix_logarithm(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    x = b.astype(input, dtype=_WIDE.get(input.dtype, input.dtype))
    for _number in range(_ROOTS):
        x = _root(b, x)
    unit, total = _unit(b, x), None
    rest = b.subtract(x, unit)
    for place, weight in zip(*np.polynomial.legendre.leggauss(_NODES)):
        part = b.solve(b.add(unit, b.multiply(rest, float(place + 1) / 2)), rest)
        # The logarithm of a matrix is ``2**k`` times that of its ``k`` times repeated square root.
        part = b.multiply(part, float(weight) / 2 * 2**_ROOTS)
        total = part if total is None else b.add(total, part)
    return b.astype(total, dtype=input.dtype)


@rows.row("Diag")
def diag(b: TensorFlowBuilder, diagonal: Any, **_: Any) -> Any:
    count = math.prod(diagonal.shape)
    flat = b.reshape(diagonal, shape=(count,))
    return b.reshape(b.diag_embed(flat), shape=(*diagonal.shape, *diagonal.shape))


@rows.row("DiagPart")
def diag_part(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    shape = input.shape[: input.ndim // 2]
    count = math.prod(shape)
    return b.reshape(b.diagonal(b.reshape(input, shape=(count, count))), shape=shape)


@rows.row("MatrixBandPart", static=("num_lower", "num_upper"))
def matrix_band_part(b: TensorFlowBuilder, input: Any, num_lower: Any, num_upper: Any, **_: Any) -> Any:
    low, high = size_of(num_lower), size_of(num_upper)
    # A negative number keeps all diagonals of its side.
    for count in (low, high):
        b.guard(apply("ge" if hint_of(count) >= 0 else "lt", count, 0))
    if hint_of(low) >= 0:
        input = b.triu(input, k=-low)
    return b.tril(input, k=high) if hint_of(high) >= 0 else input


class _DiagonalBand:
    """Layout of the diagonals ``low`` to ``high`` of matrices as rows of equal length, the highest first.

    ``align`` names the sides (``"LEFT_RIGHT"``) to which the diagonals from the main one upwards, and those
    below it, are aligned. The remaining elements of a row are padding.
    """

    def __init__(self, low: int, high: int, height: Any, width: Any, align: str) -> None:
        self.low, self.high, self.height, self.width = low, high, height, width
        above, below = align.split("_")
        self.sides = {True: above, False: below}
        self.length = apply("min", height + min(high, 0), width - max(low, 0))

    def numbers(self) -> range:
        return range(self.high, self.low - 1, -1)

    def length_of(self, number: int) -> Any:
        return (
            self.length
            if self.low == self.high
            else apply("min", self.height + min(number, 0), self.width - max(number, 0))
        )

    def padding(self, number: int) -> tuple[Any, Any]:
        rest = self.length - self.length_of(number)
        return (rest, 0) if self.sides[number >= 0] == "RIGHT" else (0, rest)


def _limits(k: Any) -> tuple[int, int]:
    found = numbers(k, "the number of a diagonal")
    return int(found[0]), int(found[-1])


rows.table({
    "MatrixDiagPart": lambda b, input, **_: b.diagonal(input),
    "MatrixDiag": lambda b, diagonal, **_: b.diag_embed(diagonal),
})  # fmt: skip


@rows.row("MatrixDiagPartV2", "MatrixDiagPartV3", static=("k", "padding_value"))
def matrix_diag_part_v3(
    b: TensorFlowBuilder, input: Any, k: Any, padding_value: Any, *, align: str = "LEFT_LEFT", **_: Any
) -> Any:
    low, high = _limits(k)
    if low == high:
        return b.diagonal(input, offset=low)
    band = _DiagonalBand(low, high, input.shape[-2], input.shape[-1], align)
    none = ((0, 0),) * (input.ndim - 2)
    parts = [
        b.pad(
            b.diagonal(input, offset=number),
            padding=(*none, band.padding(number)),
            value=_fill_value(b, padding_value, input),
        )
        for number in band.numbers()
    ]
    return b.stack(*parts, axis=input.ndim - 2)


def _fill_value(b: TensorFlowBuilder, value: Any, x: Value) -> Any:
    if isinstance(value, Value):
        raise ComputedOperand("a padding that is computed")
    return b.operand(value, x.dtype)


def _set_diagonals(b: TensorFlowBuilder, whole: Value, diagonal: Value, band: _DiagonalBand) -> Any:
    """Return ``whole`` with the diagonals of a band replaced by ``diagonal``.

    ``diagonal`` is a single diagonal, or has the rows of the band in its next to last axis.
    """
    lines = b.arange(start=0, stop=band.height, step=1, dtype="int32")
    columns = b.arange(start=0, stop=band.width, step=1, dtype="int32")
    distance = b.subtract(columns, b.reshape(lines, shape=(band.height, 1)))
    for row, number in enumerate(band.numbers()):
        one = diagonal if band.low == band.high else b.getitem(diagonal, key=along(whole.ndim - 2, row))
        before, _ = band.padding(number) if band.low != band.high else (0, 0)
        one = (
            cut(b, one, one.ndim - 1, before, before + band.length_of(number))
            if band.low != band.high
            else one
        )
        square = b.diag_embed(one, offset=number)
        padding = (
            *((0, 0),) * (square.ndim - 2),
            (0, band.height - square.shape[-2]),
            (0, band.width - square.shape[-1]),
        )
        whole = b.where(
            b.equal(distance, number), b.pad(square, padding=padding, value=b.operand(0, square.dtype)), whole
        )
    return whole


@rows.row("MatrixDiagV2", "MatrixDiagV3", static=("k", "num_rows", "num_cols", "padding_value"))
def matrix_diag_v3(
    b: TensorFlowBuilder,
    diagonal: Any,
    k: Any,
    num_rows: Any,
    num_cols: Any,
    padding_value: Any,
    *,
    align: str = "LEFT_LEFT",
    **_: Any,
) -> Any:
    low, high = _limits(k)
    height, width = b.fix_negative((size_of(num_rows), size_of(num_cols)))
    length = diagonal.shape[-1]
    # Sizes that are not stated are the smallest for which the diagonals fit.
    least = length - min(high, 0), length + max(low, 0)
    if hint_of(height) == hint_of(width) == -1:
        height = width = apply("max", *least)
    height, width = (least[i] if hint_of(size) == -1 else size for i, size in enumerate((height, width)))
    if low == high == 0 and height == width == length and padding_value == 0:
        return b.diag_embed(diagonal)
    batch = diagonal.shape[:-1] if low == high else diagonal.shape[:-2]
    whole = b.full(
        shape=(*batch, height, width),
        fill_value=_fill_value(b, padding_value, diagonal),
        dtype=diagonal.dtype,
    )
    return _set_diagonals(b, whole, diagonal, _DiagonalBand(low, high, height, width, align))


@rows.row("MatrixSetDiag")
def matrix_set_diag(b: TensorFlowBuilder, input: Any, diagonal: Any, **_: Any) -> Any:
    return _set_diagonals(
        b, input, diagonal, _DiagonalBand(0, 0, input.shape[-2], input.shape[-1], "LEFT_LEFT")
    )


@rows.row("MatrixSetDiagV2", "MatrixSetDiagV3", static=("k",))
def matrix_set_diag_v3(
    b: TensorFlowBuilder, input: Any, diagonal: Any, k: Any, *, align: str = "LEFT_LEFT", **_: Any
) -> Any:
    low, high = _limits(k)
    return _set_diagonals(
        b, input, diagonal, _DiagonalBand(low, high, input.shape[-2], input.shape[-1], align)
    )


def _transpose(b: TensorFlowBuilder, x: Value, transposed: Any, adjoint: Any = False) -> Any:
    if not transposed and not adjoint:
        return x
    x = b.conj(x) if adjoint and is_complex(x.dtype) else x
    return b.permute_dims(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _adjoint(b: TensorFlowBuilder, x: Value) -> Any:
    return _transpose(b, x, False, True)


@rows.row("MatMul")
def matmul(
    b: TensorFlowBuilder, a: Any, b_: Any, *, transpose_a: bool = False, transpose_b: bool = False, **_: Any
) -> Any:
    return b.matmul(_transpose(b, a, transpose_a), _transpose(b, b_, transpose_b))


@rows.row("SparseMatMul")
def sparse_matmul(
    b: TensorFlowBuilder, a: Any, b_: Any, *, transpose_a: bool = False, transpose_b: bool = False, **_: Any
) -> Any:
    # Operands may be bfloat16, and the result is float32 in any case.
    a, b_ = (b.astype(item, dtype="float32") for item in (a, b_))
    return matmul(b, a, b_, transpose_a=transpose_a, transpose_b=transpose_b)


@rows.row("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(
    b: TensorFlowBuilder, x: Any, y: Any, *, adj_x: bool = False, adj_y: bool = False, **_: Any
) -> Any:
    return b.matmul(
        *(
            b.astype(item, dtype=b.result.dtype)
            for item in (_transpose(b, x, False, adj_x), _transpose(b, y, False, adj_y))
        )
    )


@rows.row("Einsum")
def einsum(b: TensorFlowBuilder, inputs: Any, *, equation: str, **_: Any) -> Any:
    labels, arrow, result = equation.replace(" ", "").partition("->")
    if not arrow:
        # Without an arrow, the result has the labels that occur once, in alphabetical order.
        letters = sorted({letter for letter in labels if letter.isalpha() and labels.count(letter) == 1})
        result = ("..." if "..." in labels else "") + "".join(letters)
    return b.einsum(*b.arrays(*inputs), equation=f"{labels}->{result}")


rows.table({"Cross": lambda b, a, b_, **_: b.cross(a, b_, axis=-1)})


# ------------------------------------------------------------------------------------- decompositions
rows.table({
    "Cholesky": lambda b, input, **_: b.cholesky(input),
    "Qr": lambda b, input, *, full_matrices=False, **_: b.qr(
        input, mode="complete" if full_matrices else "reduced"
    ),
    "MatrixInverse": lambda b, input, *, adjoint=False, **_: b.inv(_transpose(b, input, False, adjoint)),
    "MatrixDeterminant": lambda b, input, **_: b.det(input),
    "MatrixSolve": lambda b, matrix, rhs, *, adjoint=False, **_: b.solve(
        _transpose(b, matrix, False, adjoint), rhs
    ),
})  # fmt: skip


@rows.row("CholeskyGrad")
def cholesky_grad(b: TensorFlowBuilder, l: Any, grad: Any, **_: Any) -> Any:  # noqa: E741
    # This is the rule of Murray (2016).
    middle = b.tril(b.matmul(_transpose(b, l, True), grad))
    half = b.subtract(middle, b.multiply(_diagonal_matrix(b, b.diagonal(middle)), 0.5))
    right = b.solve_triangular(l, half, upper=False, left=True, transpose=True)
    whole = _transpose(
        b, b.solve_triangular(l, _transpose(b, right, True), upper=False, left=True, transpose=True), True
    )
    return b.multiply(b.add(whole, _transpose(b, whole, True)), 0.5)


def _diagonal_matrix(b: TensorFlowBuilder, x: Value) -> Any:
    return b.diag_embed(x)


@rows.row("Svd")
def svd(
    b: TensorFlowBuilder, input: Any, *, compute_uv: bool = True, full_matrices: bool = False, **_: Any
) -> Any:
    if not compute_uv:
        # The operation has outputs for U and V in any case.
        return b.svdvals(input), *(b.zeros(shape=spec.hints, dtype=spec.dtype) for spec in b.recorded[1:])
    left, values, right = b.svd(input, full_matrices=bool(full_matrices))
    return values, left, _adjoint(b, right)


@rows.row("SelfAdjointEigV2")
def eigh(b: TensorFlowBuilder, input: Any, *, compute_v: bool = True, **_: Any) -> Any:
    if not compute_v:
        return b.as_result(b.eigvalsh(input)), b.zeros(shape=b.recorded[1].hints, dtype=input.dtype)
    values, vectors = b.eigh(input)
    # In TensorFlow the eigenvalues of a complex matrix are complex, too.
    return b.as_result(values), vectors


@rows.row("Eig")
def eig(b: TensorFlowBuilder, input: Any, *, compute_v: bool = True, **_: Any) -> Any:
    if not compute_v:
        return b.eigvals(input), b.zeros(shape=b.recorded[1].hints, dtype=b.result.dtype)
    return b.eig(input)


@rows.row("Lu")
def lu(b: TensorFlowBuilder, input: Any, *, output_idx_type: Any = "int32", **_: Any) -> Any:
    packed, pivots = b.lu_factor(input)
    # TensorFlow returns the permutation as row indices, ``lu_unpack`` as a matrix.
    exchange, _, _ = b.lu_unpack(packed, pivots)
    exchange = b.real(exchange) if is_complex(exchange.dtype) else exchange
    return packed, b.astype(b.argmax(exchange, axis=input.ndim - 2), dtype=output_idx_type)


@rows.row("LogMatrixDeterminant")
def log_matrix_determinant(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    sign, logarithm = b.slogdet(input)
    return sign, b.astype(logarithm, dtype=b.recorded[1].dtype)


@rows.row("MatrixSolveLs", static=("l2_regularizer",))
def matrix_solve_ls(
    b: TensorFlowBuilder, matrix: Any, rhs: Any, l2_regularizer: Any, *, fast: bool = True, **_: Any
) -> Any:
    adjoint = _adjoint(b, matrix)
    if not fast:
        return b.matmul(b.pinv(matrix), rhs)
    weight = b.array(l2_regularizer, "float64")
    tall = hint_of(matrix.shape[-2]) >= hint_of(matrix.shape[-1])
    b.guard(apply("ge" if tall else "lt", matrix.shape[-2], matrix.shape[-1]))
    size = matrix.shape[-1 if tall else -2]
    unit = b.multiply(
        b.eye(n_rows=size, n_cols=size, dtype=matrix.dtype), b.astype(weight, dtype=matrix.dtype)
    )
    if tall:
        return b.solve(b.add(b.matmul(adjoint, matrix), unit), b.matmul(adjoint, rhs))
    return b.matmul(adjoint, b.solve(b.add(b.matmul(matrix, adjoint), unit), rhs))


@rows.row("MatrixTriangularSolve")
def matrix_triangular_solve(
    b: TensorFlowBuilder, matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False, **_: Any
) -> Any:
    matrix = b.conj(matrix) if adjoint and is_complex(matrix.dtype) else matrix
    return b.solve_triangular(matrix, rhs, upper=not lower, left=True, transpose=bool(adjoint))


@rows.row("BandedTriangularSolve")
def banded_triangular_solve(
    b: TensorFlowBuilder, matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False, **_: Any
) -> Any:
    bands, size = b.fix(matrix.shape[-2]), matrix.shape[-1]
    whole: Any = None
    for row in range(bands):
        offset = -row if lower else bands - 1 - row
        band = b.getitem(matrix, key=along(matrix.ndim - 2, row))
        part = (
            cut(b, band, band.ndim - 1, row, None)
            if lower
            else cut(b, band, band.ndim - 1, None, size - offset)
        )
        placed = b.diag_embed(part, offset=offset)
        whole = placed if whole is None else b.add(whole, placed)
    return matrix_triangular_solve(b, whole, rhs, lower=lower, adjoint=adjoint)


@rows.row("TridiagonalSolve")
def tridiagonal_solve(b: TensorFlowBuilder, diagonals: Any, rhs: Any, **_: Any) -> Any:
    upper, middle, lower = (b.getitem(diagonals, key=along(diagonals.ndim - 2, row)) for row in range(3))
    return b.tridiagonal_solve(lower, middle, upper, rhs)


@rows.row("TridiagonalMatMul")
def tridiagonal_matmul(
    b: TensorFlowBuilder, superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any, **_: Any
) -> Any:
    upper, middle, lower = (
        b.permute_dims(item, axes=(*range(item.ndim - 2), item.ndim - 1, item.ndim - 2))
        for item in (superdiag, maindiag, subdiag)
    )
    rank = rhs.ndim
    none = ((0, 0),) * (rank - 2)
    # Negative padding removes the row at one end, so each of these arrays is shifted by one row.
    behind = b.pad(rhs, padding=(*none, (-1, 1), (0, 0)))
    before = b.pad(rhs, padding=(*none, (1, -1), (0, 0)))
    return b.add(b.add(b.multiply(upper, behind), b.multiply(middle, rhs)), b.multiply(lower, before))


# ---------------------------------------------------------------------------------------------------- signals
# Rows of Fourier transforms, spectrograms and isotonic regression.


def _fourier(kind: str, rank: int) -> Callable[..., Any]:
    return lambda b, input, **_: getattr(b, f"{kind}n")(
        input, axes=tuple(range(input.ndim - rank, input.ndim))
    )


def _real_fourier(kind: str, rank: int) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, fft_length: Any, **_: Any) -> Any:
        lengths = numbers(fft_length, "the length of a transform")
        axes = tuple(range(input.ndim - rank, input.ndim))
        kept = tuple(
            length // 2 + 1 if axis == axes[-1] and kind == "irfft" else length
            for axis, length in zip(axes, lengths)
        )
        for axis, length in zip(axes, kept):
            input = _resize(b, input, axis, length)
        return getattr(b, f"{kind}n")(input, s=lengths if kind == "irfft" else None, axes=axes)

    return row


def _resize(b: TensorFlowBuilder, x: Value, axis: int, length: Any) -> Any:
    if length == x.shape[axis]:
        return x
    return b.pad(
        x, padding=tuple((0, length - x.shape[axis]) if i == axis else (0, 0) for i in range(x.ndim))
    )


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    for _kind in ("fft", "ifft"):
        rows.row(f"{_kind.upper()}{_suffix}")(_fourier(_kind, _rank))
    for _kind in ("rfft", "irfft"):
        rows.row(f"{_kind.upper()}{_suffix}", static=("fft_length",))(_real_fourier(_kind, _rank))


@rows.row("AudioSpectrogram")
def audio_spectrogram(
    b: TensorFlowBuilder,
    input: Any,
    *,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    **_: Any,
) -> Any:
    if not holds_with_guard(b, window_size, input.shape[0]):
        raise NotImplementedError("a spectrogram of fewer samples than a window has")
    length, count = 1 << (window_size - 1).bit_length(), (input.shape[0] - window_size) // stride + 1
    starts = b.reshape(b.multiply(b.arange(stop=count, dtype="int32"), stride), shape=(count, 1))
    windows = b.take(
        b.permute_dims(input, axes=(1, 0)), b.add(starts, b.arange(stop=window_size, dtype="int32")), axis=1
    )
    # TensorFlow's kernel uses the periodic form of the Hann window.
    shape = tuple(0.5 - 0.5 * math.cos(2.0 * math.pi * place / window_size) for place in range(window_size))
    found = b.abs(b.rfft(b.multiply(windows, b.array(shape, "float32")), n=length, axis=2))
    return b.square(found) if magnitude_squared else found


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def _bands(bins: int, rate: float, low: float, high: float, channels: int) -> Any:
    """Return the weight of each spectrogram bin in each mel band, ``[bin, band]``.

    ``rate`` is the sample rate, and ``low`` and ``high`` are the limits of the bands, all in Hz.
    """
    width = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + low / width), int(high / width)
    centers = _mel(low) + (_mel(high) - _mel(low)) / (channels + 1) * np.arange(1, channels + 2)
    found = np.zeros((bins, channels))
    for place in range(max(first, 0), min(last + 1, bins)):
        at = _mel(place * width)
        band = int(np.searchsorted(centers[:channels], at, side="left")) - 1
        below, above = centers[band] if band >= 0 else _mel(low), centers[band + 1]
        share = (above - at) / (above - below)
        for number, weight in ((band, share), (band + 1, 1.0 - share)):
            if 0 <= number < channels:
                found[place, number] += weight
    return found


def _cosines(count: int, wanted: int) -> Any:
    places = np.outer(np.arange(count) + 0.5, np.arange(wanted)) * (math.pi / count)
    return math.sqrt(2.0 / count) * np.cos(places)


def _table(array: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in array.tolist())


@rows.row("Mfcc", static=("sample_rate",))
def mfcc(
    b: TensorFlowBuilder, spectrogram: Any, sample_rate: Any, *, upper_frequency_limit: float = 4000.0,
    lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13,
    **_: Any,
) -> Any:  # fmt: skip
    (rate,), bins = numbers(sample_rate, "the rate"), b.fix(spectrogram.shape[-1])
    bands = _bands(
        bins,
        float(b.fix_number(rate)),
        lower_frequency_limit,
        upper_frequency_limit,
        filterbank_channel_count,
    )
    levels = b.matmul(b.sqrt(spectrogram), b.asarray(data=_table(bands), dtype="float32"))
    # This lower bound of a level is TensorFlow's own.
    logs = b.log(b.maximum(levels, 1e-12))
    return b.matmul(
        logs,
        b.asarray(data=_table(_cosines(filterbank_channel_count, dct_coefficient_count)), dtype="float32"),
    )


@rows.row("IsotonicRegression")
def isotonic_regression(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    # Element ``i`` is the minimum, over all starts up to ``i``, of the largest mean of a slice from that
    # start to an end at or after ``i``.
    count, dtype = input.shape[-1], b.result.dtype
    x = b.astype(input, dtype=dtype)
    place = b.arange(start=0, stop=count, step=1, dtype="int32")
    total = b.cumulative_sum(x, axis=x.ndim - 1)
    before = b.reshape(b.subtract(total, x), shape=(*x.shape, 1))
    length = b.astype(b.add(b.subtract(place, b.reshape(place, shape=(count, 1))), 1), dtype=dtype)
    means = b.divide(
        b.subtract(b.reshape(total, shape=(*x.shape[:-1], 1, count)), before), b.maximum(length, 1.0)
    )
    means = b.where(b.greater(length, 0.0), means, b.array(-math.inf, dtype))
    largest = b.flip(b.cummax(b.flip(means, axis=(x.ndim,)), axis=x.ndim)[0], axis=(x.ndim,))
    least = b.min(b.where(b.greater(length, 0.0), largest, b.array(math.inf, dtype)), axis=x.ndim - 1)
    return least, _levels(b, least)


def _levels(b: TensorFlowBuilder, x: Value) -> Value:
    none = ((0, 0),) * (x.ndim - 1)
    shifted = b.pad(x, padding=(*none, (1, 0)), value=math.inf)
    falls = b.less(x, b.getitem(shifted, key=(*(slice(None),) * (x.ndim - 1), slice(0, x.shape[-1]))))
    found: Value = b.subtract(
        b.cumulative_sum(b.astype(falls, dtype="int32"), axis=x.ndim - 1, dtype="int32"), 1
    )
    return found
