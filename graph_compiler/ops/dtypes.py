"""Names of dtypes, their properties, and the operations that pack and unpack bits."""

from __future__ import annotations

from math import inf
from typing import Any, Final

import numpy as np

from ..errors import InvalidGraph
from .registry import ArraySpec, check_axis, declare, decomposition

BOOL: Final = ("bool",)
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
COMPLEX: Final = ("complex64", "complex128")
INTEGERS: Final = SIGNED + UNSIGNED
DTYPES: Final = BOOL + INTEGERS + FLOATS + COMPLEX

ITEMSIZE: Final = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4,
    "uint64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip

# What a framework without a 64-bit dtype uses instead.
NARROWED: Final = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}

# Dtypes of random keys, which only JAX has, and their generators.
KEYS: Final = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}

_REAL_OF = {"complex64": "float32", "complex128": "float64"}
# Not all frameworks have complex numbers of halves, so these have complex64.
_COMPLEX_OF = {
    "float16": "complex64",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}


def is_bool(dtype: str) -> bool:
    return dtype == "bool"


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS


def is_floating(dtype: str) -> bool:
    return dtype in FLOATS


def is_complex(dtype: str) -> bool:
    return dtype in COMPLEX


def is_inexact(dtype: str) -> bool:
    return dtype in FLOATS or dtype in COMPLEX


def real_of(dtype: str) -> str:
    """Return the dtype of the real part of complex numbers: ``float32`` for ``complex64``.

    Dtypes that are not complex are returned unchanged.

    >>> real_of("complex128"), real_of("float32")
    ('float64', 'float32')
    """
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: str) -> str:
    """Return the dtype of complex numbers with parts of this dtype; complex64 for float16 and bfloat16.

    Complex dtypes, integers and bool are returned unchanged.

    >>> complex_of("float32"), complex_of("complex64")
    ('complex64', 'complex64')
    """
    return _COMPLEX_OF.get(dtype, dtype)


# The least numbers that round to infinity: half a unit in the last place above the largest element.
_OVERFLOWS: Final = {
    "float16": (2 - 2.0**-11) * 2.0**15,
    "bfloat16": (2 - 2.0**-8) * 2.0**127,
    "float32": (2 - 2.0**-24) * 2.0**127,
    # As an integer, because this number is no float.
    "float64": 2**1024 - 2**970,
}


def is_in_range(number: complex, dtype: str) -> bool:
    """Return True if a Python number is between the least and the largest element of ``dtype``.

    For float and complex dtypes, a number that rounds to the least or largest element is in range, too.
    Infinities and NaN are in the range of all dtypes but integers, and any number in that of bool. For an
    integer dtype, only the real part of a complex number counts.

    >>> is_in_range(300, "int8"), is_in_range(300, "float16"), is_in_range(1e5, "float16")
    (False, True, False)
    >>> is_in_range(3.4028235e38, "float32"), is_in_range(3.4028236e38, "float32")
    (True, False)
    >>> is_in_range(10**308, "float64"), is_in_range(10**309, "float64"), is_in_range(inf, "float64")
    (True, False, True)
    """
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return bool(limits.min <= number.real <= limits.max)
    limit = _OVERFLOWS.get(real_of(dtype), inf)
    return all(not limit <= abs(part) < inf for part in (number.real, number.imag))


def dtype_name(array: Any) -> str:
    """Return the name of the dtype of ``array``, an array of any framework.

    >>> import numpy, torch
    >>> dtype_name(numpy.zeros(2)), dtype_name(torch.zeros(2))
    ('float64', 'float32')
    """
    dtype = array.dtype
    # Dtypes of torch have no name, and print as `torch.float32`.
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


_SECTION = "bits"


@declare(_SECTION)
def packbits(x: ArraySpec, /, *, axis: int, bitorder: str = "big") -> ArraySpec:
    """Pack every eight elements along ``axis`` into a byte (uint8): a bit is 1 if its element is not zero.

    The first element is the highest bit, or with ``bitorder="little"`` the lowest. The end is padded with
    zeros.
    """
    check_axis(axis, x.ndim)
    return ArraySpec((*x.shape[:axis], -(-x.shape[axis] // 8), *x.shape[axis + 1 :]), "uint8")


@decomposition("packbits")
def _packbits(b: Any, x: Any, *, axis: int, bitorder: str) -> Any:
    size, rest = x.shape[axis], (1,) * (x.ndim - axis - 1)
    bits = b.astype(x if x.dtype == "bool" else b.not_equal(x, 0), dtype="int32")
    filled = b.pad(bits, padding=(*((0, 0),) * axis, (0, -size % 8), *((0, 0),) * len(rest)), value=0)
    octets = b.reshape(filled, shape=(*x.shape[:axis], -(-size // 8), 8, *x.shape[axis + 1 :]))
    values = tuple(1 << place for place in _bit_positions(bitorder))
    weights = b.reshape(b.asarray(data=values, dtype="int32"), shape=(8, *rest))
    return b.astype(b.sum(b.multiply(octets, weights), axis=axis + 1, dtype="int32"), dtype="uint8")


@declare(_SECTION)
def unpackbits(x: ArraySpec, /, *, axis: int, bitorder: str = "big") -> ArraySpec:
    """Unpack each byte along ``axis`` into its eight bits, 0 or 1 (uint8).

    The highest bit comes first, or with ``bitorder="little"`` the lowest.
    """
    if x.dtype != "uint8":
        raise InvalidGraph(f"bits of bytes (uint8) are wanted, not of {x}")
    check_axis(axis, x.ndim)
    return ArraySpec((*x.shape[:axis], x.shape[axis] * 8, *x.shape[axis + 1 :]), "uint8")


@decomposition("unpackbits")
def _unpackbits(b: Any, x: Any, *, axis: int, bitorder: str) -> Any:
    rest = x.shape[axis + 1 :]
    octets = b.reshape(b.astype(x, dtype="int32"), shape=(*x.shape[: axis + 1], 1, *rest))
    places = b.reshape(b.asarray(data=_bit_positions(bitorder), dtype="int32"), shape=(8, *(1,) * len(rest)))
    bits = b.bitwise_and(b.bitwise_right_shift(octets, places), 1)
    return b.astype(b.reshape(bits, shape=(*x.shape[:axis], x.shape[axis] * 8, *rest)), dtype="uint8")


def _bit_positions(bitorder: str) -> tuple[int, ...]:
    return tuple(range(8)) if bitorder == "little" else tuple(reversed(range(8)))
