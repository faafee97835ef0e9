"""The one table of tolerances: how far a result may be from the source framework's, by the dtype of the
expected array.

Where one number is not enough, do not loosen the table: use ``assert_no_further`` of compare.py, which asks
how far the source framework itself is from float64.
"""

from __future__ import annotations

EXACT = (0.0, 0.0)

TOLERANCE: dict[str, tuple[float, float]] = {  # dtype: (relative, absolute)
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (1e-4, 1e-5),
    "float64": (1e-9, 1e-10),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-9, 1e-10),
}

NARROWER = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}  # jax without x64


def tolerance(dtype: str) -> tuple[float, float]:
    """The relative and the absolute tolerance of a dtype; integers and booleans are exact."""
    return TOLERANCE.get(dtype, EXACT)
