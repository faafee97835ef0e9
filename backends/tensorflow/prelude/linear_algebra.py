"""Linear algebra and Fourier transforms that ``tf.linalg`` and ``tf.signal`` lack or define differently."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .arrays import moved_axis, pad_with_elements, scalar, size, sizes
from .statistics import vector_norm


# ---------------------------------------------------------------------------------------------- products
def vecdot(x1: tf.Tensor, x2: tf.Tensor, *, axis: int = -1) -> tf.Tensor:
    """Compute the dot product of the conjugate of ``x1`` with ``x2`` along ``axis``."""
    return tf.reduce_sum(tf.math.conj(x1) * x2, axis)


def cross(x1: tf.Tensor, x2: tf.Tensor, *, axis: int = -1) -> tf.Tensor:
    """Compute the cross product of 3-element vectors along ``axis``. The other axes broadcast."""
    rank = max(len(x1.shape), len(x2.shape))
    a0, a1, a2 = (tf.gather(x1, i, axis=axis % rank - rank + len(x1.shape)) for i in range(3))
    b0, b1, b2 = (tf.gather(x2, i, axis=axis % rank - rank + len(x2.shape)) for i in range(3))
    return tf.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=axis % rank)


def kron(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the Kronecker product of ``x1`` and ``x2``.

    As in NumPy, the operand with fewer axes gets leading axes of size 1.
    """
    rank = max(len(x1.shape), len(x2.shape))
    left, right = ([1] * (rank - len(x.shape)) + sizes(x) for x in (x1, x2))
    # TensorFlow cannot broadcast over six alternating axes, so the products are computed as an outer product.
    pairs = tf.reshape(tf.reshape(x1, [-1, 1]) * tf.reshape(x2, [1, -1]), left + right)
    blocks = tf.transpose(pairs, [axis for pair in zip(range(rank), range(rank, 2 * rank)) for axis in pair])
    return tf.reshape(blocks, [a * b for a, b in zip(left, right)])


def broadcast_einsum(equation: str, *arrays: tf.Tensor) -> tf.Tensor:
    """Compute ``tf.einsum``, where axes of static size 1 broadcast between arrays by label.

    ``equation`` contains ``->``.
    """
    inputs, _, result = equation.partition("->")
    labels, found = inputs.split(","), []
    # Axes after an ellipsis are counted from the last one.
    places = [
        [(label, place - len(one) if "." in one[:place] else place)
         for place, label in enumerate(one) if label != "."]
        for one in labels
    ]  # fmt: skip
    wide = [{label for label, axis in axes if array.shape[axis] != 1} for axes, array in zip(places, arrays)]
    for i, array in enumerate(arrays):
        gone = {label for label, _ in places[i] if label in set().union(*wide) - wide[i]}
        squeezed = [axis for label, axis in places[i] if label in gone]
        found.append(tf.squeeze(array, squeezed) if squeezed else array)
        labels[i] = "".join(label for label in labels[i] if label not in gone)
    return tf.einsum(f"{','.join(labels)}->{result}", *found)


def matrix_power(x: tf.Tensor, n: int) -> tf.Tensor:
    """Compute ``x @ x @ ... @ x`` with ``n`` factors by repeated squaring.

    A negative ``n`` multiplies ``-n`` inverses of ``x``, and 0 results in identity matrices.
    """
    square = tf.linalg.inv(x) if n < 0 else x
    result = tf.eye(size(x, -1), batch_shape=tf.shape(x)[:-2], dtype=x.dtype)
    for place, bit in enumerate(reversed(bin(abs(n))[2:])):
        square = square @ square if place else square
        result = result @ square if bit == "1" else result
    return result


# -------------------------------------------------------------------------------------------- norms and ranks
def matrix_norm(x: tf.Tensor, *, ord: float | str = "fro", keepdims: bool = False) -> tf.Tensor:
    """Compute the norm of the matrices in the last two axes.

    ``ord`` is "fro", "nuc", 2, -2, 1, -1, inf or -inf.
    """
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        values = tf.linalg.svd(x, compute_uv=False)
        reduce = {2: greatest, -2: tf.reduce_min, "nuc": tf.reduce_sum}[ord]
        norm = reduce(values, -1)
        return norm[..., None, None] if keepdims else norm
    sums = tf.reduce_sum(tf.abs(x), -2 if ord in (1, -1) else -1, keepdims=True)
    return (greatest if ord in (1, math.inf) else tf.reduce_min)(sums, (-2, -1), keepdims=keepdims)


def greatest(x: tf.Tensor, axis: Any, keepdims: bool = False) -> tf.Tensor:
    # The maximum of an empty axis in TensorFlow is -inf.
    return tf.maximum(tf.reduce_max(x, axis, keepdims=keepdims), tf.zeros((), x.dtype))


def condition_number(x: tf.Tensor, *, ord: float | str = 2) -> tf.Tensor:
    """Compute the condition number of the matrices in the last two axes.

    ``ord`` is the order of the matrix norm: "fro", "nuc", 2, -2, 1, -1, inf or -inf.
    """
    if ord in (2, -2):
        values = tf.linalg.svd(x, compute_uv=False)
        largest, least = tf.reduce_sum(values[..., :1], -1), tf.reduce_sum(values[..., -1:], -1)
        number = largest / least if ord == 2 else least / largest
    else:
        number = matrix_norm(x, ord=ord) * matrix_norm(tf.linalg.inv(x), ord=ord)
    return tf.where(tf.reduce_prod(tf.shape(x)[-2:]) == 0, tf.zeros_like(number), number)


def singular_cutoff(x: tf.Tensor, largest: tf.Tensor, rtol: Any, atol: Any) -> tf.Tensor:
    """Return the larger of ``atol`` and ``rtol * largest``, up to which singular values count as zero.

    ``largest`` is the largest singular value of ``x``. If ``rtol`` and ``atol`` are None, ``rtol`` is the
    machine epsilon times the longer side of ``x``. If just one of them is None, it counts as 0.
    """
    if rtol is None and atol is None:
        epsilon = 2.0**-52 if x.dtype in (tf.float64, tf.complex128) else 2.0**-23
        rtol = tf.cast(tf.maximum(size(x, -2), size(x, -1)), largest.dtype) * epsilon
    cutoff = tf.zeros_like(largest) if rtol is None else scalar(rtol, largest.dtype) * largest
    return cutoff if atol is None else tf.maximum(scalar(atol, largest.dtype), cutoff)


def matrix_rank(x: tf.Tensor, rtol: Any = None, atol: Any = None, *, hermitian: bool = False) -> tf.Tensor:
    """Count the singular values above the cutoff that ``rtol`` and ``atol`` set (``singular_cutoff``).

    With ``hermitian``, the lower triangles of ``x`` define Hermitian matrices.
    """
    values = tf.abs(eigh(x)[0]) if hermitian else tf.linalg.svd(x, compute_uv=False)
    values = tf.math.real(values)
    # The padding makes 0 the largest of no values.
    largest = tf.reduce_max(tf.pad(values, [[0, 0]] * (len(values.shape) - 1) + [[0, 1]]), -1)
    return tf.math.count_nonzero(values > singular_cutoff(x, largest, rtol, atol)[..., None], axis=-1)


def pinv(x: tf.Tensor, rtol: Any = None, atol: Any = None, *, hermitian: bool = False) -> tf.Tensor:
    """Compute the pseudo-inverse of the matrices ``x``.

    Singular values up to the cutoff that ``rtol`` and ``atol`` set (``singular_cutoff``) are treated as zero.
    With ``hermitian``, the lower triangles of ``x`` define Hermitian matrices.
    """
    if hermitian:
        values, left = eigh(x)
        size_of, right = tf.abs(values), left
    else:
        values, left, right = tf.linalg.svd(x)
        size_of = values
    # The padding makes 0 the largest of no values.
    largest = tf.reduce_max(tf.pad(size_of, [[0, 0]] * (len(values.shape) - 1) + [[0, 1]]), -1)
    cutoff = singular_cutoff(x, largest, rtol, atol)
    kept = size_of > cutoff[..., None]
    inverse = tf.where(kept, 1 / tf.where(kept, values, tf.ones_like(values)), tf.zeros_like(values))
    return (right * tf.cast(inverse, x.dtype)[..., None, :]) @ tf.linalg.adjoint(left)


# ---------------------------------------------------------------------------------------------- solutions
def with_same_batch(x1: tf.Tensor, x2: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    if x1.shape[:-2].is_fully_defined() and x1.shape[:-2] == x2.shape[:-2]:
        return x1, x2
    batch = tf.broadcast_dynamic_shape(tf.shape(x1)[:-2], tf.shape(x2)[:-2])
    x1, x2 = (tf.broadcast_to(x, tf.concat([batch, tf.shape(x)[-2:]], 0)) for x in (x1, x2))
    return x1, x2


def solve(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Solve ``x1 @ x == x2`` for ``x``. ``x2`` may be a vector."""
    if len(x2.shape) == 1:
        column = tf.broadcast_to(x2[:, None], tf.concat([tf.shape(x1)[:-1], [1]], 0))
        return tf.linalg.solve(x1, column)[..., 0]
    return tf.linalg.solve(*with_same_batch(x1, x2))


def solve_triangular(
    x1: tf.Tensor,
    x2: tf.Tensor,
    *,
    upper: bool,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> tf.Tensor:
    """Solve ``x1 @ x == x2`` for triangular ``x1``, or ``x @ x1 == x2`` if ``left`` is False.

    ``upper`` says which triangle of ``x1`` is read. With ``transpose``, ``x1`` is then transposed. With
    ``unit_diagonal``, its diagonal is taken as ones.
    """
    if not left:
        turned = solve_triangular(
            x1,
            tf.linalg.matrix_transpose(x2),
            upper=upper,
            transpose=not transpose,
            unit_diagonal=unit_diagonal,
        )
        return tf.linalg.matrix_transpose(turned)
    x1, x2 = with_same_batch(x1, x2)
    if unit_diagonal:
        x1 = tf.linalg.set_diag(x1, tf.ones_like(tf.linalg.diag_part(x1)))
    # TensorFlow solves with the adjoint, but not with the transpose.
    matrix = tf.math.conj(x1) if transpose else x1
    return tf.linalg.triangular_solve(matrix, x2, lower=not upper, adjoint=transpose)


def cholesky_solve(x1: tf.Tensor, x2: tf.Tensor, *, upper: bool = False) -> tf.Tensor:
    """Solve ``A @ x == x2`` for ``x``.

    ``x1`` is the lower Cholesky factor of ``A``, or the upper one if ``upper`` is True.
    """
    factor = tf.linalg.adjoint(x1) if upper else x1
    return tf.linalg.cholesky_solve(*with_same_batch(factor, x2))


def cholesky_inverse(x: tf.Tensor, *, upper: bool = False) -> tf.Tensor:
    """Compute the inverse of a matrix from its lower Cholesky factor ``x``, or the upper one if ``upper``."""
    return cholesky_solve(x, tf.eye(size(x, -1), dtype=x.dtype), upper=upper)


def lstsq(x1: tf.Tensor, x2: tf.Tensor, *, rcond: float | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the minimum-norm least-squares solution of ``x1 @ x == x2`` and the rank of ``x1``.

    ``rcond`` is the ``rtol`` of ``pinv``.
    """
    return pinv(x1, rcond) @ x2, matrix_rank(x1, rcond)


def tensor_solve(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Solve ``tensordot(x1, x, x.ndim) == x2`` for ``x``."""
    count = tf.size(x2)
    solution = tf.linalg.solve(tf.reshape(x1, [count, count]), tf.reshape(x2, [count, 1]))
    return tf.reshape(solution, sizes(x1)[len(x2.shape) :])


def tensor_inverse(x: tf.Tensor, ind: int) -> tf.Tensor:
    """Compute the inverse with respect to ``tensordot``.

    The first ``ind`` axes of ``x`` are the rows, and the others the columns.
    """
    rows, columns = sizes(x)[:ind], sizes(x)[ind:]
    return tf.reshape(tf.linalg.inv(tf.reshape(x, [math.prod(rows), math.prod(columns)])), [*columns, *rows])


# --------------------------------------------------------------------------------------------- decompositions
def slogdet(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sign and the logarithm of the absolute value of the determinant."""
    sign, logarithm = tf.linalg.slogdet(x)
    return sign, tf.math.real(logarithm)


def svd(x: tf.Tensor, *, full_matrices: bool = True) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return U, the singular values in descending order, and the adjoint of V."""
    values, left, right = tf.linalg.svd(x, full_matrices=full_matrices)
    return left, values, tf.linalg.adjoint(right)


def eigh(x: tf.Tensor, *, upper: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the eigenvalues of Hermitian matrices in ascending order, and the eigenvectors as columns.

    The lower triangles determine them, or the upper ones if ``upper`` is True.
    """
    lower = tf.linalg.adjoint(x) if upper else x
    # TensorFlow reads only the lower triangle, but raises an error for infinities in the upper one, so this
    # is dropped.
    told = tf.stop_gradient(tf.linalg.band_part(lower, -1, 0))
    zeros = tf.where(tf.math.is_finite(tf.abs(lower)), lower - tf.stop_gradient(lower), tf.zeros_like(lower))
    values, vectors = tf.linalg.eigh(told + (zeros + tf.linalg.adjoint(zeros)) / 2)
    return tf.math.real(values), vectors


def identity_permutation(x: tf.Tensor) -> tf.Tensor:
    return tf.broadcast_to(tf.range(size(x, -2)), tf.shape(x)[:-1])


def cholesky_ex(x: tf.Tensor, *, upper: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the Cholesky factor of each matrix, upper if ``upper``, and an int32 error code.

    The code is 0 for success. Otherwise it is the order of the first leading minor that is not positive, and
    the factor is NaN.
    """
    lower = tf.linalg.adjoint(x) if upper else x
    factor = tf.linalg.cholesky(lower)
    # A failed factorization has NaN on its diagonal, or 0 if it is complex.
    fits = tf.reduce_all(tf.math.real(tf.linalg.diag_part(factor)) > 0)
    first = tf.cond(~fits, lambda: first_indefinite(lower), lambda: tf.zeros(tf.shape(x)[:-2], tf.int32))
    factor = tf.where((first != 0)[..., None, None], tf.cast(math.nan, x.dtype), factor)
    return tf.linalg.adjoint(factor) if upper else factor, first


def first_indefinite(x: tf.Tensor) -> tf.Tensor:
    """Return for each Hermitian matrix the order of its first leading minor that is not positive, or 0."""
    lower = tf.stop_gradient(tf.linalg.band_part(x, -1, 0))
    strict = lower - tf.linalg.band_part(lower, 0, 0)

    def step(k: tf.Tensor, a: tf.Tensor, first: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        pivot, column = a[..., k, k], a[..., :, k]
        first = tf.where((first == 0) & ~(tf.math.real(pivot) > 0), k + 1, first)
        return (
            k + 1,
            a - (column / pivot[..., None])[..., :, None] * tf.math.conj(column)[..., None, :],
            first,
        )

    start = (tf.constant(0), lower + tf.linalg.adjoint(strict), tf.zeros(tf.shape(x)[:-2], tf.int32))
    return tf.while_loop(lambda k, *_: k < tf.shape(x)[-1], step, start)[2]


def lu_factor(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the unit lower triangular L and the upper triangular U in one matrix, and the pivots.

    A pivot is the index, counted from 1, of the row that is swapped with the current one at an
    elimination step.
    """
    rows, columns = size(x, -2), size(x, -1)
    steps = tf.minimum(rows, columns)
    row, column = tf.range(rows), tf.range(columns)

    def step(k: tf.Tensor, a: tf.Tensor, pivots: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        # XLA requires constant sizes in a loop, so rows and columns are masked instead of sliced.
        candidates = tf.where(row >= k, tf.abs(a[..., k]), tf.constant(-1, tf.abs(a).dtype))
        pivot = tf.argmax(candidates, -1, output_type=tf.int32)[..., None]
        order = tf.where(row == k, pivot, tf.where(row == pivot, k, row))
        a = tf.gather(a, order, batch_dims=len(a.shape) - 2, axis=-2)
        below = row > k
        top = a[..., k, :]
        divisor = top[..., k, None]
        factors = tf.where(
            below,
            a[..., k] / tf.where(divisor == 0, tf.ones_like(divisor), divisor),
            tf.zeros_like(a[..., k]),
        )
        a = a - factors[..., None] * tf.where(column > k, top, tf.zeros_like(top))[..., None, :]
        a = tf.where(below[:, None] & (column == k), factors[..., None], a)
        swapped = tf.where(tf.range(steps) == k, pivot + 1, pivots)
        swapped.set_shape(pivots.shape)
        return k + 1, a, swapped

    pivots = tf.zeros(tf.concat([tf.shape(x)[:-2], [steps]], 0), tf.int32)
    _, factors, pivots = tf.while_loop(lambda k, *_: k < steps, step, (tf.constant(0), x, pivots))
    return factors, pivots


def lu_unpack(lu: tf.Tensor, pivots: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return P, L and U from the result of ``lu_factor``; their product is the factorized matrix."""
    rows = size(lu, -2)
    inner = tf.minimum(rows, size(lu, -1))
    row = tf.range(rows)

    def step(k: tf.Tensor, order: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        pivot = pivots[..., k, None] - 1
        swapped = tf.where(row == k, pivot, tf.where(row == pivot, k, row))
        return k + 1, tf.gather(order, swapped, batch_dims=len(order.shape) - 1, axis=-1)

    _, order = tf.while_loop(
        lambda k, _: k < tf.shape(pivots)[-1], step, (tf.constant(0), identity_permutation(lu))
    )
    permutation = tf.linalg.matrix_transpose(tf.one_hot(order, rows, dtype=lu.dtype))
    lower = lu[..., :inner] * tf.cast(tf.range(inner) < row[:, None], lu.dtype) + tf.eye(
        rows, inner, dtype=lu.dtype
    )
    return permutation, lower, tf.linalg.band_part(lu[..., :inner, :], 0, -1)


def lu_decomposition(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return a permutation, a unit lower triangular and an upper triangular matrix whose product is ``x``."""
    return lu_unpack(*lu_factor(x))


def lu_solve(
    lu: tf.Tensor, pivots: tf.Tensor, x2: tf.Tensor, *, left: bool = True, adjoint_of: bool = False
) -> tf.Tensor:
    """Solve ``A @ x == x2`` from the LU factors and pivots of ``A``, or ``x @ A == x2`` if ``left`` is False.

    If ``adjoint_of`` is True, ``A`` is replaced by its adjoint.
    """
    if not left:
        return tf.linalg.adjoint(lu_solve(lu, pivots, tf.linalg.adjoint(x2), adjoint_of=not adjoint_of))
    swapped, lower, upper = lu_unpack(lu, pivots)
    if adjoint_of:
        inner = solve_triangular(tf.linalg.adjoint(upper), x2, upper=False)
        return swapped @ solve_triangular(tf.linalg.adjoint(lower), inner, upper=True)
    return solve_triangular(
        upper, solve_triangular(lower, tf.linalg.adjoint(swapped) @ x2, upper=False), upper=True
    )


def householder_product(x: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    """Compute the first columns of a product of Householder reflections.

    The vectors of the reflections are below the diagonal of ``x``, with an implied 1 on the diagonal; ``tau``
    holds their factors.
    """
    rows = size(x, -2)
    row = tf.range(rows)

    def step(k: tf.Tensor, product: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        vector = tf.where(row > k, x[..., k], tf.zeros_like(x[..., k])) + tf.cast(row == k, x.dtype)
        reflected = tf.linalg.matvec(product, vector, adjoint_a=True)
        change = tau[..., k, None, None] * vector[..., None] * tf.math.conj(reflected)[..., None, :]
        return k - 1, product - change

    start = tf.eye(rows, size(x, -1), batch_shape=tf.shape(x)[:-2], dtype=x.dtype)
    return tf.while_loop(lambda k, _: k >= 0, step, (tf.shape(tau)[-1] - 1, start))[1]


def geqrf(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return R with the Householder vectors below its diagonal, and the factors of the reflections."""
    rows, columns = size(x, -2), size(x, -1)
    steps = tf.minimum(rows, columns)
    row, column = tf.range(rows), tf.range(columns)

    def step(k: tf.Tensor, a: tf.Tensor, tau: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        first = a[..., k, k]
        tail = tf.where(row > k, a[..., k], tf.zeros_like(a[..., k]))
        squares = tf.reduce_sum(tf.math.real(tail * tf.math.conj(tail)), -1)
        length = tf.sqrt(squares + tf.math.real(first * tf.math.conj(first)))
        # This sign avoids cancellation in the divisor below.
        real = tf.cast(tf.where(tf.math.real(first) >= 0, -length, length), x.dtype)
        flat = (squares == 0) & (tf.math.imag(first) == 0)
        diagonal = tf.where(flat, first, real)
        factor = tf.where(
            flat, tf.zeros_like(first), (real - first) / tf.where(flat, tf.ones_like(real), real)
        )
        divisor = tf.where(flat, tf.ones_like(first), first - real)
        vector = tail / divisor[..., None]
        reflection = vector + tf.cast(row == k, x.dtype)
        met = tf.linalg.matvec(a, reflection, adjoint_a=True)
        change = (
            tf.math.conj(factor)[..., None, None] * reflection[..., None] * tf.math.conj(met)[..., None, :]
        )
        a = tf.where(column > k, a - change, a)
        a = tf.where((row == k)[:, None] & (column == k), diagonal[..., None, None], a)
        a = tf.where((row > k)[:, None] & (column == k), vector[..., None], a)
        return k + 1, a, tf.where(tf.range(steps) == k, factor[..., None], tau)

    tau = tf.zeros(tf.concat([tf.shape(x)[:-2], [steps]], 0), x.dtype)
    _, factors, tau = tf.while_loop(lambda k, *_: k < steps, step, (tf.constant(0), x, tau))
    return factors, tau


def ormqr(
    x: tf.Tensor, tau: tf.Tensor, x2: tf.Tensor, *, left: bool = True, transpose: bool = False
) -> tf.Tensor:
    """Multiply ``x2`` by the full Q of the reflections in ``x`` and ``tau``.

    Q is the left factor if ``left`` is True, else the right one. If ``transpose`` is True, Q is replaced
    by its adjoint.
    """
    # Columns beyond the number of rows hold no reflections.
    x = x[..., : size(x, -2)]
    missing = size(x, -2) - size(x, -1)
    whole = householder_product(tf.pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, missing]]), tau)
    whole = tf.linalg.adjoint(whole) if transpose else whole
    return whole @ x2 if left else x2 @ whole


def resized_last_axis(x: tf.Tensor, n: Any) -> tf.Tensor:
    if n is None:
        return x
    x = x[..., :n]
    return tf.pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, n - size(x, -1)]])


def as_complex(x: tf.Tensor) -> tf.Tensor:
    return x if x.dtype.is_complex else tf.cast(x, tf.complex128 if x.dtype == tf.float64 else tf.complex64)


def scaled(x: tf.Tensor, n: Any, norm: str, undivided: str) -> tf.Tensor:
    """Normalize ``x``, a Fourier transform of ``n`` elements without any factor, by ``norm``.

    The divisor is ``sqrt(n)`` for "ortho", 1 for the norm ``undivided``, and otherwise ``n``.
    """
    if norm == undivided:
        return x
    count = tf.cast(n, x.dtype)
    return x / (tf.sqrt(count) if norm == "ortho" else count)


def fft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """Compute the discrete Fourier transform along ``axis``.

    The axis is cut or zero-padded to ``n`` elements unless ``n`` is None. ``norm`` is "backward", "ortho" or
    "forward", as in NumPy.
    """
    x = resized_last_axis(moved_axis(as_complex(x), axis, -1), n)
    return moved_axis(scaled(tf.signal.fft(x), size(x, -1), norm, "backward"), -1, axis)


def ifft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """Compute the inverse discrete Fourier transform along ``axis``.

    The axis is cut or zero-padded to ``n`` elements unless ``n`` is None. ``norm`` is that of
    ``np.fft.ifft``.
    """
    x = resized_last_axis(moved_axis(as_complex(x), axis, -1), n)
    # TensorFlow divides by the number of elements, which is undone here and left to `norm`.
    count = tf.cast(size(x, -1), x.dtype)
    return moved_axis(scaled(tf.signal.ifft(x) * count, size(x, -1), norm, "forward"), -1, axis)


def rfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """Compute the non-negative frequencies of the Fourier transform of real ``x`` along ``axis``.

    The axis is cut or zero-padded to ``n`` elements unless ``n`` is None. ``norm`` is that of
    ``np.fft.rfft``.
    """
    x = x if x.dtype in (tf.float32, tf.float64) else tf.cast(x, tf.float32)
    x = resized_last_axis(moved_axis(x, axis, -1), n)
    return moved_axis(scaled(tf.signal.rfft(x), size(x, -1), norm, "backward"), -1, axis)


def irfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """Compute the inverse of ``rfft`` along ``axis``.

    The axis of the result has ``n`` elements, by default ``2 * (size - 1)``.
    """
    x = moved_axis(as_complex(x), axis, -1)
    n = 2 * (size(x, -1) - 1) if n is None else n
    x = resized_last_axis(x, n // 2 + 1)
    # TensorFlow divides by the number of elements, which is undone below and left to `norm`.
    result = tf.signal.irfft(x, [n])
    return moved_axis(scaled(result * tf.cast(n, result.dtype), n, norm, "forward"), -1, axis)


def hfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """Compute the real Fourier transform of a Hermitian-symmetric signal whose first half is ``x``.

    The result has ``n`` elements along ``axis``, by default ``2 * (size - 1)``.
    """
    return irfft(tf.math.conj(x), n, axis, {"backward": "forward", "forward": "backward"}.get(norm, norm))


def ihfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """Compute the first ``n // 2 + 1`` elements of the inverse DFT of real ``x``.

    ``x`` is cut or zero-padded to ``n`` elements, by default its size along ``axis``.
    """
    return tf.math.conj(rfft(x, n, axis, {"backward": "forward", "forward": "backward"}.get(norm, norm)))


def fftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """Compute the discrete Fourier transform over ``axes``.

    The axes are cut or zero-padded to the sizes ``s`` unless it is None.
    """
    for place, axis in enumerate(axes):
        x = fft(x, None if s is None else s[place], axis, norm)
    return x


def ifftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """Compute the inverse discrete Fourier transform over ``axes``.

    The axes are cut or zero-padded to the sizes ``s`` unless it is None.
    """
    for place, axis in enumerate(axes):
        x = ifft(x, None if s is None else s[place], axis, norm)
    return x


def rfftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """Compute ``rfft`` along the last of ``axes`` and ``fft`` along the others.

    The axes are cut or zero-padded to the sizes ``s`` unless it is None.
    """
    x = rfft(x, None if s is None else s[-1], axes[-1], norm)
    return fftn(x, None if s is None else s[:-1], axes[:-1], norm)


def irfftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """Compute the inverse of ``rfftn``.

    The axes of the result have the sizes ``s``. If it is None, the last of ``axes`` gets ``2 * (size - 1)``
    elements, and the others keep their sizes.
    """
    x = ifftn(x, None if s is None else s[:-1], axes[:-1], norm)
    return irfft(x, None if s is None else s[-1], axes[-1], norm)


def fftfreq(n: Any, d: float, dtype: tf.DType) -> tf.Tensor:
    """Return the frequencies of the elements of ``fft`` of ``n`` samples ``d`` apart."""
    counted = tf.range(n)
    counted = tf.where(counted < (n + 1) // 2, counted, counted - n)
    return tf.cast(tf.cast(counted, tf.float64) / (tf.cast(n, tf.float64) * d), dtype)


def rfftfreq(n: Any, d: float, dtype: tf.DType) -> tf.Tensor:
    """Return the frequencies of the elements of ``rfft`` of ``n`` samples ``d`` apart."""
    return tf.cast(tf.cast(tf.range(n // 2 + 1), tf.float64) / (tf.cast(n, tf.float64) * d), dtype)


def centered_window(window: tf.Tensor | None, n_fft: int, dtype: tf.DType) -> tf.Tensor:
    """Centre ``window`` in ``n_fft`` zeros; None is a window of ones."""
    if window is None:
        return tf.ones([n_fft], dtype)
    missing = n_fft - size(window, 0)
    return tf.pad(tf.cast(window, dtype), [[missing // 2, missing - missing // 2]])


def stft(
    x: tf.Tensor,
    window: tf.Tensor | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> tf.Tensor:
    """Compute the short-time Fourier transform [.., frequencies, frames] along the last axis.

    Frames of ``n_fft`` samples are ``hop_length`` apart. ``center`` pads the signal by ``n_fft // 2`` on both
    sides.
    """
    if center:
        widths = [(0, 0)] * (len(x.shape) - 1) + [(n_fft // 2, n_fft // 2)]
        if pad_mode == "constant":
            x = tf.pad(x, widths)
        else:
            x = pad_with_elements(
                x, widths, mode={"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode)
            )
    starts = tf.range(0, size(x, -1) - n_fft + 1, hop_length)
    parts = tf.gather(x, starts[:, None] + tf.range(n_fft), axis=-1)
    if window is not None:
        # Half precision is promoted to the dtype of a float32 window.
        wide = window.dtype if window.dtype.size > parts.dtype.size else parts.dtype
        parts = tf.cast(parts, wide) * centered_window(window, n_fft, wide)
    return tf.linalg.matrix_transpose(
        (rfft if onesided else fft)(parts, norm="ortho" if normalized else "backward")
    )


def istft(
    x: tf.Tensor,
    window: tf.Tensor | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: Any = None,
    as_complex: bool = False,
) -> tf.Tensor:
    """Invert ``stft`` by overlap-add, and divide by the sum of the squared windows.

    ``length`` cuts or zero-pads the signal.
    """
    norm = "ortho" if normalized else "backward"
    spectrum = tf.linalg.matrix_transpose(x)
    parts = (
        ifft(spectrum, n_fft, norm=norm)
        if as_complex
        else irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    )
    weights = centered_window(window, n_fft, parts.dtype if window is None else window.dtype)
    signal = tf.signal.overlap_and_add(parts * tf.cast(weights, parts.dtype), hop_length)
    envelope = tf.signal.overlap_and_add(tf.broadcast_to(weights * weights, tf.shape(parts)[-2:]), hop_length)
    envelope = tf.cast(envelope, parts.dtype)
    start = n_fft // 2 if center else 0
    end = size(signal, -1) - start if length is None else start + length
    signal = signal[..., start:end] / envelope[start:end]
    return signal if length is None else resized_last_axis(signal, length)
