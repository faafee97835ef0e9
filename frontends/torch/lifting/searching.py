"""Searching, sorting and unique elements of torch."""

from __future__ import annotations

from typing import Any

from .reductions import along
from .table import TorchBuilder, axis, rows


# ---------------------------------------------------------------------------------------------- searching
@rows.row("where")
def where(b: TorchBuilder, condition: Any, input: Any = None, other: Any = None) -> Any:
    """torch.where; with a condition alone, the indices where it holds."""
    if input is None:
        return nonzero(b, condition, as_tuple=True)
    x, y = b.promote(input, other)
    return b.where(b.cast(condition, "bool"), x, y)


@rows.row("nonzero")
def nonzero(b: TorchBuilder, input: Any, *, as_tuple: bool = False) -> Any:
    hint = b.recorded[0].shape[0]
    if not as_tuple:
        return b.argwhere(input, hint=hint)
    return b.nonzero(along(b, input, 0)[0], hint=hint)


@rows.row("argwhere")
def argwhere(b: TorchBuilder, input: Any) -> Any:
    return nonzero(b, input)


@rows.row("searchsorted")
def searchsorted(
    b: TorchBuilder, sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: Any = None, sorter: Any = None
) -> Any:
    number = not hasattr(input, "spec")
    sequence, values = b.promote(sorted_sequence, input)
    if number:
        values = b.array(values, sequence.dtype)
    found = b.searchsorted(sequence, values, sorter, side="right" if right or side == "right" else "left")
    return b.astype(found, dtype="int32") if out_int32 else found


@rows.row("isin")
def isin(b: TorchBuilder, elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    x, y = b.promote(elements, test_elements)
    kind = next(item.dtype for item in (x, y) if hasattr(item, "spec"))
    return b.isin(b.array(x, kind), b.array(y, kind), invert=bool(invert))


rows.table({
    "Tensor.where": lambda b, input, condition, other: where(b, condition, input, other),  # ``x.where(condition, other)``
    # a given number of rows
    "nonzero_static": lambda b, input, *, size, fill_value=-1: b.argwhere(input, size=size, fill_value=fill_value),
    "bucketize": lambda b, input, boundaries, *, out_int32=False, right=False: searchsorted(
        b, boundaries, input, out_int32=out_int32, right=right
    ),
})  # fmt: skip


# ---------------------------------------------------------------------------------------------- sorting
@rows.row("sort")
def sort(b: TorchBuilder, input: Any, dim: int = -1, descending: bool = False, *, stable: Any = False) -> Any:
    x, place = along(b, input, dim)
    pair = b.sort_with_indices(x, axis=place, descending=bool(descending), stable=bool(stable))
    return tuple(b.reshape(item, shape=input.shape) for item in pair)


@rows.row("argsort")
def argsort(b: TorchBuilder, input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    x, place = along(b, input, dim)
    return b.reshape(b.argsort(x, axis=place, descending=bool(descending), stable=bool(stable)), shape=input.shape)


rows.table({"msort": lambda b, input: b.sort(input, axis=0) if input.ndim else input})


@rows.row("topk")
def topk(b: TorchBuilder, input: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    x, place = along(b, input, dim)
    pair = b.top_k(x, k=k, axis=place, largest=bool(largest))
    return pair if input.ndim else tuple(b.reshape(item, shape=()) for item in pair)


@rows.row("kthvalue")
def kthvalue(b: TorchBuilder, input: Any, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    x, place = along(b, input, dim)
    return b.kth_value(x, k=k, axis=place, keepdims=bool(keepdim) and input.ndim > 0)


# ---------------------------------------------------------------------------------------------- unique elements
@rows.row("unique")
def unique(
    b: TorchBuilder, input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """torch.unique; the result is sorted in any case."""
    x, place = _slices(b, input, dim)
    hint = b.recorded[0].shape[place or 0]
    if not (return_inverse or return_counts):
        return b.unique_values(x, axis=place, hint=hint)
    values, _, inverse, counts = b.unique_all(x, axis=place, hint=hint)
    return _chosen(b, input, dim, (values, inverse, counts), return_inverse, return_counts)


@rows.row("_unique2")
def unique2(b: TorchBuilder, input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """aten._unique2: all three results in any case."""
    return unique(b, input, return_inverse=True, return_counts=True)


@rows.row("unique_dim")
def unique_dim(
    b: TorchBuilder, input: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """aten.unique_dim: all three results in any case."""
    return unique(b, input, return_inverse=True, return_counts=True, dim=dim)


@rows.row("unique_consecutive")
def unique_consecutive(b: TorchBuilder, input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    x, place = _slices(b, input, dim)
    results = b.unique_consecutive(x, axis=place, hint=b.recorded[0].shape[place or 0])
    return _chosen(b, input, dim, results, return_inverse, return_counts)


def _slices(b: TorchBuilder, x: Any, dim: Any) -> tuple[Any, int | None]:
    if x.ndim == 0:
        return along(b, x, 0)[0], None
    return x, None if dim is None else axis(dim, x.ndim)


def _chosen(b: TorchBuilder, x: Any, dim: Any, results: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    if x.ndim == 0:
        inverse = b.reshape(inverse, shape=())
    wanted = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return wanted if len(wanted) > 1 else values
