"""Data types by their array API names, and the facts about them that rules need."""

from __future__ import annotations

from typing import Any, Final

BOOL: Final = ("bool",)
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
COMPLEX: Final = ("complex64", "complex128")
INTEGERS: Final = SIGNED + UNSIGNED
DTYPES: Final = BOOL + INTEGERS + FLOATS + COMPLEX

ITEMSIZE: Final = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip

# what a framework without a 64-bit type uses in its place
NARROWED: Final = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}

# types of random keys, which JAX alone has, and the generators they are for
KEYS: Final = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}

_REAL_OF = {"complex64": "float32", "complex128": "float64"}
_COMPLEX_OF = {"float16": "complex64", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


def is_bool(dtype: str) -> bool:
    """Whether this is the boolean type."""
    return dtype == "bool"


def is_integer(dtype: str) -> bool:
    """Whether this is an integer type, signed or unsigned; bool is none."""
    return dtype in INTEGERS


def is_floating(dtype: str) -> bool:
    """Whether this is a real floating-point type."""
    return dtype in FLOATS


def is_complex(dtype: str) -> bool:
    """Whether this is a complex type."""
    return dtype in COMPLEX


def is_inexact(dtype: str) -> bool:
    """Whether this is a real or complex floating-point type."""
    return dtype in FLOATS or dtype in COMPLEX


def real_of(dtype: str) -> str:
    """The type of the real part: ``complex64`` -> ``float32``; real types are their own.

    >>> real_of("complex128"), real_of("float32")
    ('float64', 'float32')
    """
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: str) -> str:
    """The complex type whose parts are of this type: ``float32`` -> ``complex64``.

    >>> complex_of("float32"), complex_of("complex64")
    ('complex64', 'complex64')
    """
    return _COMPLEX_OF.get(dtype, dtype)


def dtype_name(array: Any) -> str:
    """The name of an array's data type, whichever framework it belongs to.

    >>> import numpy, torch
    >>> dtype_name(numpy.zeros(2)), dtype_name(torch.zeros(2))
    ('float64', 'float32')
    """
    dtype = array.dtype
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]
