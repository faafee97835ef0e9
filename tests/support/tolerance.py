"""The table of tolerances: how much a result may differ from the source framework's, by the dtype of the
expected array.

Where one number is not enough, do not loosen the table. Use ``assert_no_further`` of compare.py, which
compares with the error of the source framework itself.
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

# dtype: the one that JAX without x64 has for it
NARROWER = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}


def tolerance(dtype: str) -> tuple[float, float]:
    """Return (relative tolerance, absolute tolerance); (0, 0) for integers, booleans and dtypes not in the
    table.
    """
    return TOLERANCE.get(dtype, EXACT)
