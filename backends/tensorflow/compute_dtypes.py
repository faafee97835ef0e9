"""Table of the dtypes in which operations are computed instead of their own.

TensorFlow's CPU kernels lack some dtypes, and are inexact in others.
"""

from __future__ import annotations

_HALF = {"float16": "float32", "bfloat16": "float32"}
_NARROW_INTEGERS = {
    "int8": "int32",
    "int16": "int32",
    "uint8": "int32",
    "uint16": "int32",
    "uint32": "int64",
    "uint64": "int64",
}
_BOOL = {"bool": "int32"}

_FAMILIES: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    # Sums in half precision would be rounded after each addition.
    (
        _HALF,
        (
            "sum",
            "prod",
            "mean",
            "var",
            "std",
            "nansum",
            "nanmean",
            "logsumexp",
            "cumulative_sum",
            "cumulative_prod",
            "logcumsumexp",
            "vector_norm",
            "trace",
            "cov",
            "corrcoef",
            "cosine_similarity",
            "cdist",
            "pdist",
            "trapezoid",
            "cumulative_trapezoid",
            "bincount",
            "histogram",
            "histc",
            # On processors without kernels for bfloat16, TensorFlow truncates products instead of rounding
            # them.
            "matmul",
            "tensordot",
            "vecdot",
            "einsum",
            "inner",
            "kron",
            "quantile",
            "linear",
            "bilinear",
        ),
    ),
    # Functions of several operations would be rounded after each of them.
    (
        _HALF,
        (
            "softmax",
            "log_softmax",
            "gelu",
            "mish",
            "celu",
            "elu",
            "selu",
            "softplus",
            "log_sigmoid",
            "glu",
            "silu",
            "soft_sign",
            "hard_swish",
            "hard_sigmoid",
            "logaddexp",
            "logaddexp2",
            "hypot",
            "log2",
            "log10",
            "floor_divide",
            "remainder",
            "fmod",
            "scaled_dot_product_attention",
            "nll_loss",
            "cross_entropy",
            "binary_cross_entropy",
            "ctc_loss",
            "embedding_bag",
            "conv",
            "conv_channels_last",
            "conv_transpose",
            "col2im",
            "lp_pool",
            "lstm",
            "gru",
            "rnn",
            "grid_sample",
            "affine_grid",
            "grouped_matmul",
            "normalize",
            "sinc",
            "logit",
            "angle",
            "random_gamma",
            "random_poisson",
            "random_categorical",
        ),
    ),
    # Not all of these have kernels for half precision.
    (
        _HALF,
        (
            "airy_ai",
            "bessel_j0",
            "bessel_j1",
            "bessel_k0",
            "bessel_k0e",
            "bessel_k1",
            "bessel_k1e",
            "bessel_y0",
            "bessel_y1",
            "digamma",
            "entr",
            "erf",
            "erfc",
            "erfcx",
            "erfinv",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "lgamma",
            "log_ndtr",
            "ndtr",
            "ndtri",
            "gammainc",
            "gammaincc",
            "betainc",
            "zeta",
            "polygamma",
            "orthogonal_polynomial",
            "spherical_bessel_j0",
            "xlogy",
            "xlog1py",
            "det",
            "slogdet",
            "inv",
            "pinv",
            "solve",
            "cholesky",
            "cholesky_ex",
            "qr",
            "svd",
            "svdvals",
            "eigh",
            "eigvalsh",
            "matrix_exp",
            "lstsq",
            "matrix_rank",
            "matrix_norm",
            "cond",
            "solve_triangular",
            "cholesky_solve",
            "cholesky_inverse",
            "matrix_power",
            "lu",
            "lu_factor",
            "lu_solve",
            "householder_product",
            "geqrf",
            "ormqr",
            "tensorsolve",
            "tensorinv",
            "tridiagonal_solve",
        ),
    ),
    (
        # Not all of these have kernels for narrow and unsigned integers.
        _NARROW_INTEGERS,
        (
            "matmul",
            "tensordot",
            "einsum",
            "linear",
            "bilinear",
            "inner",
            "multi_dot",
            "matrix_power",
            "avg_pool",
        ),
    ),
    # uint64 has other values than int64 beyond 2**63, and kernels or helpers for these operations.
    (
        {dtype: wide for dtype, wide in _NARROW_INTEGERS.items() if dtype != "uint64"},
        ("fmod", "remainder", "searchsorted", "max_pool"),
    ),
    ({"uint16": "int32", "uint32": "int64"}, ("tile", "repeat")),
    (
        dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"), "float64"),
        ("conv", "conv_channels_last", "conv_transpose"),
    ),
    # Products of bools are computed as numbers.
    (_BOOL, ("matmul", "tensordot", "vecdot", "einsum", "inner", "outer", "multi_dot", "matrix_power")),
    (
        _BOOL,
        (
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "sort",
            "top_k",
            "kth_value",
            "cummax",
            "cummin",
            "lower_median",
            "mode",
        ),
    ),
)

_COMPUTE_DTYPES: dict[str, dict[str, str]] = {}
for _types, _names in _FAMILIES:
    for _name in _names:
        _COMPUTE_DTYPES.setdefault(_name, {}).update(_types)


def compute_dtype(op: str, dtype: str) -> str | None:
    """Return the dtype in which ``op`` is computed for arrays of ``dtype``, or None for ``dtype`` itself.

    >>> compute_dtype("lgamma", "bfloat16"), compute_dtype("lgamma", "float32")
    ('float32', None)
    """
    return _COMPUTE_DTYPES.get(op, {}).get(dtype)
