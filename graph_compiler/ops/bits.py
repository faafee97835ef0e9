"""Truth values as the bits of bytes, in the names of numpy."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from .registry import ArraySpec, declare, decomposition

_SECTION = "bits"


@declare(_SECTION)
def packbits(x: ArraySpec, /, *, axis: int, bitorder: str = "big") -> ArraySpec:
    """Bytes (uint8) of eight elements along ``axis`` each, a bit being set where one is not 0; zeros follow the last element."""
    return ArraySpec((*x.shape[:axis], -(-x.shape[axis] // 8), *x.shape[axis + 1 :]), "uint8")


@decomposition("packbits")
def _packbits(b: Any, x: Any, *, axis: int, bitorder: str) -> Any:
    size, rest = x.shape[axis], (1,) * (x.ndim - axis - 1)
    bits = b.astype(x if x.dtype == "bool" else b.not_equal(x, 0), dtype="int32")
    filled = b.pad(bits, padding=(*((0, 0),) * axis, (0, -size % 8), *((0, 0),) * len(rest)), value=0)
    octets = b.reshape(filled, shape=(*x.shape[:axis], -(-size // 8), 8, *x.shape[axis + 1 :]))
    values = tuple(1 << place for place in _places(bitorder))
    weights = b.reshape(b.asarray(data=values, dtype="int32"), shape=(8, *rest))
    return b.astype(b.sum(b.multiply(octets, weights), axis=axis + 1, dtype="int32"), dtype="uint8")


@declare(_SECTION)
def unpackbits(x: ArraySpec, /, *, axis: int, bitorder: str = "big") -> ArraySpec:
    """The eight bits of each byte along ``axis``, as 0 and 1 (uint8)."""
    if x.dtype != "uint8":
        raise InvalidGraph(f"bits of bytes (uint8) are wanted, not of {x}")
    return ArraySpec((*x.shape[:axis], x.shape[axis] * 8, *x.shape[axis + 1 :]), "uint8")


@decomposition("unpackbits")
def _unpackbits(b: Any, x: Any, *, axis: int, bitorder: str) -> Any:
    rest = x.shape[axis + 1 :]
    octets = b.reshape(b.astype(x, dtype="int32"), shape=(*x.shape[: axis + 1], 1, *rest))
    places = b.reshape(b.asarray(data=_places(bitorder), dtype="int32"), shape=(8, *(1,) * len(rest)))
    bits = b.bitwise_and(b.bitwise_right_shift(octets, places), 1)
    return b.astype(b.reshape(bits, shape=(*x.shape[:axis], x.shape[axis] * 8, *rest)), dtype="uint8")


def _places(bitorder: str) -> tuple[int, ...]:
    return tuple(range(8)) if bitorder == "little" else tuple(reversed(range(8)))
