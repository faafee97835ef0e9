"""Sorting and selecting by order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....ops.dtypes import ITEMSIZE, UNSIGNED, is_complex, is_floating
from ....slicing import cut
from ..table import JaxBuilder, rows


@rows.row("sort_p")
def sort(b: JaxBuilder, *operands: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    """The first ``num_keys`` operands are the keys, the first of them the most important; all are put into their order."""
    axis = int(dimension)
    if len(operands) == 1 and not is_complex(operands[0].dtype):
        return (b.sort(operands[0], axis=axis, stable=True),)
    order = ordering(b, operands[:num_keys], axis)
    return tuple(_moved(b, operand, order, axis) for operand in operands)


def ordering(b: JaxBuilder, keys: Sequence[Any], axis: int) -> Any:
    """The places of elements in the order of several keys, the first of them the most important; equal ones as they stand."""
    *others, last = (part for key in keys for part in _parts(b, key))
    order = b.argsort(last, axis=axis, stable=True)
    for key in reversed(others):
        finer = b.argsort(b.take_along_axis(key, order, axis=axis), axis=axis, stable=True)
        order = b.take_along_axis(order, finer, axis=axis)
    return order


def _parts(b: JaxBuilder, key: Any) -> tuple[Any, ...]:
    """What a key is compared by: complex numbers by their real parts first."""
    return (b.real(key), b.imag(key)) if is_complex(key.dtype) else (key,)


def _moved(b: JaxBuilder, x: Any, order: Any, axis: int) -> Any:
    """Elements in this order; those of unsigned types, which not every target can move, as signed ones of the same bits."""
    if x.dtype not in UNSIGNED or x.dtype == "uint8":
        return b.take_along_axis(x, order, axis=axis)
    signed = b.bitcast(x, dtype=x.dtype.removeprefix("u"))
    return b.bitcast(b.take_along_axis(signed, order, axis=axis), dtype=x.dtype)


def _totally_ordered(b: JaxBuilder, x: Any) -> Any:
    """Integers in the total order of floats: -NaN, -inf, -0.0, 0.0, inf, NaN."""
    if not is_floating(x.dtype):
        return x
    bits, count = b.bitcast(x, dtype=f"int{8 * ITEMSIZE[x.dtype]}"), 8 * ITEMSIZE[x.dtype]
    return b.where(b.less(bits, 0), b.bitwise_xor(bits, b.array(2 ** (count - 1) - 1, bits.dtype)), bits)


@rows.row("top_k_p")
def top_k(b: JaxBuilder, x: Any, *, k: int, axis: int = -1, **_: Any) -> Any:
    """The largest; of equal ones those that come first, and 0.0 before -0.0."""
    axis = int(axis) % x.ndim
    chosen = cut(b, b.argsort(_totally_ordered(b, x), axis=axis, descending=True, stable=True), axis, None, k)
    return b.take_along_axis(x, chosen, axis=axis), b.astype(chosen, dtype=b.recorded[1].dtype)


@rows.row("approx_top_k_p")
def approx_top_k(b: JaxBuilder, x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool, **_: Any) -> Any:
    """The exact ones, as JAX gives them on a CPU."""
    if not aggregate_to_topk:
        raise NotImplementedError("approximate extremes before they are aggregated")
    axis = int(reduction_dimension) % x.ndim
    key = _totally_ordered(b, x) if is_max_k else x
    chosen = cut(b, b.argsort(key, axis=axis, descending=bool(is_max_k), stable=True), axis, None, k)
    return b.take_along_axis(x, chosen, axis=axis), b.astype(chosen, dtype=b.recorded[1].dtype)
