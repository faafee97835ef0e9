"""Sorting and selecting by order."""

from __future__ import annotations

from typing import Any

from .....ops.dtypes import UNSIGNED
from ....slicing import cut
from ..table import JaxBuilder, rows


@rows.row("sort_p")
def sort(b: JaxBuilder, *operands: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    """The first ``num_keys`` operands are the keys, the first of them the most important; all are put into their order."""
    axis = int(dimension)
    if len(operands) == 1:
        return (b.sort(operands[0], axis=axis, stable=True),)
    order = b.argsort(operands[num_keys - 1], axis=axis, stable=True)
    for key in reversed(operands[: num_keys - 1]):
        finer = b.argsort(b.take_along_axis(key, order, axis=axis), axis=axis, stable=True)
        order = b.take_along_axis(order, finer, axis=axis)
    return tuple(_moved(b, operand, order, axis) for operand in operands)


def _moved(b: JaxBuilder, x: Any, order: Any, axis: int) -> Any:
    """Elements in this order; those of unsigned types, which not every target can move, as signed ones of the same bits."""
    if x.dtype not in UNSIGNED or x.dtype == "uint8":
        return b.take_along_axis(x, order, axis=axis)
    signed = b.bitcast(x, dtype=x.dtype.removeprefix("u"))
    return b.bitcast(b.take_along_axis(signed, order, axis=axis), dtype=x.dtype)


@rows.row("top_k_p")
def top_k(b: JaxBuilder, x: Any, *, k: int, axis: int = -1, **_: Any) -> Any:
    """The largest; of equal ones those that come first."""
    order = b.argsort(x, axis=int(axis) % x.ndim, descending=True, stable=True)
    axis = int(axis) % x.ndim
    chosen = cut(b, order, axis, None, k)
    return b.take_along_axis(x, chosen, axis=axis), b.astype(chosen, dtype=b.recorded[1].dtype)


@rows.row("approx_top_k_p")
def approx_top_k(b: JaxBuilder, x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool, **_: Any) -> Any:
    """The exact ones, as JAX gives them on a CPU."""
    if not aggregate_to_topk:
        raise NotImplementedError("approximate extremes before they are aggregated")
    axis = int(reduction_dimension) % x.ndim
    chosen = cut(b, b.argsort(x, axis=axis, descending=bool(is_max_k), stable=True), axis, None, k)
    return b.take_along_axis(x, chosen, axis=axis), b.astype(chosen, dtype=b.recorded[1].dtype)
