"""The unique parts of results that are not unique: factors of matrices up to signs, phases and order; sorted
elements with equal keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.compare import to_numpy

Array = np.ndarray[Any, Any]


def _transposed(matrix: Array) -> Array:
    return np.conj(np.swapaxes(matrix, -1, -2))


def _scaled(matrix: Array) -> Array:
    """Return the matrix divided by its largest element, because the tolerances hold for elements around 1."""
    return matrix / (np.abs(matrix).max(initial=0.0).astype(matrix.real.dtype) or 1)


def _eigh(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the eigenvalues, the reconstructed matrix, and the products of the eigenvectors with each other."""
    vectors, values = map(to_numpy, found)
    return [
        _scaled(values),
        _scaled(vectors * values[..., None, :] @ _transposed(vectors)),
        _transposed(vectors) @ vectors,
    ]


def _svd(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the singular values, the reconstructed matrix, and the products of the singular vectors with
    each other.
    """
    values, *factors = map(to_numpy, found)
    if not factors:
        return [_scaled(values)]
    (left, right), count = factors, values.shape[-1]
    product = left[..., :count] * values[..., None, :] @ right[..., :count, :]
    return [_scaled(values), _scaled(product), _transposed(left) @ left, right @ _transposed(right)]


def _qr(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the reconstructed matrix, the elements of R below the diagonal, and the products of the columns
    of Q.
    """
    q, r = map(to_numpy, found)
    return [_scaled(q @ r), np.tril(r, -1), _transposed(q) @ q]


def _eig(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the sorted eigenvalues, and for each kind of eigenvectors the residuals and norms."""
    values, *vectors = map(to_numpy, found)
    matrix, parts = np.asarray(args[0]), [np.sort_complex(np.round(values, 4))]
    kinds = [kind for kind in ("left", "right") if harness.params[f"compute_{kind}_eigenvectors"]]
    for kind, columns in zip(kinds, vectors, strict=True):
        left = kind == "left"
        product = (_transposed(matrix) if left else matrix) @ columns
        parts.append(
            _scaled_residual(product - columns * (np.conj(values) if left else values)[..., None, :], matrix)
        )
        parts.append(np.linalg.norm(columns, axis=-2))
    return parts


def _scaled_residual(residual: Array, matrix: Array) -> Array:
    return residual / (np.abs(matrix).max(initial=0.0).astype(residual.real.dtype) or 1)


def _cholesky(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the reconstructed matrix, and True for each positive diagonal element.

    The upper triangle is not compared: LAPACK leaves the elements of the input there.
    """
    lower = np.tril(to_numpy(found).astype(np.result_type(to_numpy(found), np.float32)))
    return [_scaled(lower @ _transposed(lower)), np.diagonal(lower, axis1=-2, axis2=-1).real > 0]


def _lu(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the reconstructed matrix with the permutation undone, and True for each factor of modulus at
    most sqrt(2).

    Pivots of complex matrices are not unique, because implementations compare complex numbers by different
    norms. For real matrices return the results themselves.
    """
    packed, pivots, permutation = map(to_numpy, found)
    if not np.iscomplexobj(packed):
        return [packed, pivots, permutation]
    count = min(packed.shape[-2:])
    lower = np.tril(packed[..., :count], -1)
    product = (lower + np.eye(packed.shape[-2], count, dtype=packed.dtype)) @ np.triu(packed)[..., :count, :]
    back = np.argsort(permutation, axis=-1)
    return [_scaled(np.take_along_axis(product, back[..., None], -2)), np.abs(lower) <= 2**0.5 + 1e-5]


def _approximate(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the values, and the elements at the indices."""
    values, indices = map(to_numpy, found)
    return [values, np.take_along_axis(np.asarray(args[0], np.float32), indices, -1)]


def _sort(harness: Any, args: list[Any], found: Any) -> list[Array]:
    """Return the keys, and the other columns with elements of equal keys sorted.

    If the sort is stable or sorts by all columns, return the columns themselves.
    """
    keys = harness.params["num_keys"]
    if harness.params["is_stable"] or keys == len(found):
        return list(map(to_numpy, found))
    axis, columns = harness.params["dimension"], [to_numpy(part) for part in found]
    order = np.lexsort(columns[::-1], axis=axis)
    return [*columns[:keys], *(np.take_along_axis(column, order, axis) for column in columns[keys:])]


UNIQUE_PARTS: dict[str, Callable[[Any, list[Any], Any], list[Array]]] = {
    "approx_top_k": _approximate,
    "cholesky": _cholesky,
    "eig": _eig,
    "eigh": _eigh,
    "lu": _lu,
    "qr": _qr,
    "sort": _sort,
    "svd": _svd,
}
