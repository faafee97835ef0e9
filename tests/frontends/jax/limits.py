"""Exceptions for single samples, with reasons. The lists are strict: a sample that works must be removed."""

from __future__ import annotations

_BY_HAND = "JAX takes the size as a Python number"

# These samples need another variant at their other sizes.
RECORDED_AGAIN = {
    "linear_algebra-jnp.linalg.matrix_rank-float32[3, 3]n": _BY_HAND,
    "linear_algebra-ragged_dot": _BY_HAND,
    "linear_algebra-svd": "whether there are more rows than columns decides which sizes the factors have",
    "primitives-reduce to the last element": "a reducer of the user is unrolled for the number of elements",
    "reductions-cov": _BY_HAND,
    "reductions-named axes": _BY_HAND,
    "shapes-fill_diagonal": _BY_HAND,
    "shapes-jnp.diagflat-float32[4, 4]n": _BY_HAND,
    "shapes-split": "what is left over decides how parts of unequal sizes are cut",
    "shapes-take wrap": _BY_HAND,
}

UNSUPPORTED: dict[
    tuple[str, str], tuple[type[Exception], str]
] = {}  # (sample, target): the error and its words
