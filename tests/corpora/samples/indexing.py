"""Samples of indexing: ``__getitem__`` and ``__setitem__`` in all forms, gather, scatter, masks, diagonals."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import torch

from tests.support.samples import Array, ErrorSample, Sample, array, bools, ints

Index = Any
_ALL = slice(None)


def _size_into_mask(mask: torch.Tensor) -> torch.Tensor:
    mask = mask.clone()
    mask[:2] = mask.shape[1]
    return mask


def put_into(x: torch.Tensor, index: Index, value: Any) -> torch.Tensor:
    copy = x.clone()
    copy[index] = value
    return copy


def _reads(x: Array, other: Array, *indices: Index) -> list[Sample]:
    return [
        Sample(operator.getitem, (x, index), other=(other, index), name="__getitem__") for index in indices
    ]


def _writes(x: Array, other: Array, *pairs: tuple[Index, Any]) -> list[Sample]:
    return [
        Sample(put_into, (x, index, value), other=(other, index, value), name="__setitem__")
        for index, value in pairs
    ]


_KEYS: tuple[Index, ...] = (
    0, -1, 2, None, Ellipsis, (), _ALL, True, False,
    (0, 1), (0, -1, 1), (..., 0), (..., -1), (..., None), (None, ...), (_ALL, 0), (_ALL, None), (_ALL, None, 0), (None, 0, None),
    slice(1, None), slice(None, 2), slice(None, -1), slice(-1, None), slice(-2, -1), slice(1, 3), slice(None, None, 2), slice(1, None, 2),
    slice(0, 0), slice(2, 1), slice(100, None), slice(-100, 2), slice(3, 100), (_ALL, slice(1, -1)), (slice(1, 2), slice(None, None, 3)),
    (..., slice(1, None)), (..., slice(None, -1), _ALL), (0, slice(1, 3), None, -1),
    (None, slice(1), None, ..., None), (True, 0), (_ALL, True), (..., ...), (..., 0, -1, ...),
)  # fmt: skip

_LISTS: tuple[Index, ...] = (
    [0, 2], [2, -1, 0], ([0, 1], [1, 2]), (_ALL, [0, 2]), (_ALL, [1], 0), ([0, 1], _ALL, [1, 0]),
    ([0], None, [1]), (0, [0, 1]), (0, _ALL, [1, 0]),
    (..., [0, 1]), ([[0, 1], [1, 0]],), (_ALL, [[0], [1]]), ([[0], [1]], [0, 1, 2]), ([0, 1], 1, [0, 1]), [], (_ALL, []), range(2),
    ([0], True, [1]), (True, [1, 0]), (False, [1]), ([1, 0], slice(1, 3)), (slice(1, 3), [1, 0], slice(None, None, 2)),
    (None, [0, 1], None),
)  # fmt: skip


def _index_arrays() -> list[Sample]:
    x, other = array(4, 5, 6), array(6, 5, 7)
    i, j, one = ints(3, low=-4, high=4), ints(2, 3, low=-4, high=4), ints(low=0, high=3)
    few = ints(2, low=-4, high=4)
    indices: tuple[tuple[Index, Index], ...] = (
        (i, few), (j, j), ((_ALL, i), (_ALL, few)), ((..., j), (..., few)), ((i, i), (few, few)), ((j, i), (j, i)),
        ((i, _ALL, i), (few, _ALL, few)), ((_ALL, i, i), (_ALL, few, few)), ((i, None, i), (few, None, few)), ((0, i), (0, few)),
        ((i, 0, i), (few, 0, few)), ((0, _ALL, i), (0, _ALL, few)), ((slice(1, 3), i), (slice(1, 3), few)),
        ((i, slice(None, -1)), (few, slice(None, -1))),
        (one, one), ((_ALL, one), (_ALL, one)), ((one, one), (one, one)), ((i, one), (few, one)), ((one, _ALL, i), (one, _ALL, few)),
        ((i, one, i), (few, one, few)), ((..., one, None), (..., one, None)), ((None, i, one), (None, few, one)),
        ((i, [0], i), (few, [0], few)),
    )  # fmt: skip
    return [
        Sample(operator.getitem, (x, index), other=(other, later), name="__getitem__")
        for index, later in indices
    ]


def _masks() -> list[Sample]:
    x, i = array(4, 5, 3), ints(3, low=-4, high=4)
    fixed = [True, False, True, True]
    return [
        Sample(operator.getitem, (x, bools(4))),
        Sample(operator.getitem, (x, bools(4, 5))),
        Sample(operator.getitem, (x, bools(4, 5, 3))),
        Sample(operator.getitem, (x, (_ALL, bools(5)))),
        Sample(operator.getitem, (x, (..., bools(3)))),
        Sample(operator.getitem, (x, (_ALL, bools(5, 3)))),
        Sample(operator.getitem, (x, (0, bools(5)))),
        Sample(operator.getitem, (x, (slice(1, 3), bools(5), None))),
        Sample(operator.getitem, (x, fixed)),
        Sample(operator.getitem, (x, (fixed, 0))),
        Sample(operator.getitem, (x, (fixed, i))),
        Sample(operator.getitem, (x, (fixed, _ALL, ints(3, low=-3, high=3)))),
        Sample(operator.getitem, (array(), bools())),
        Sample(operator.getitem, (array(3), bools())),
        Sample(masked_and_indexed, (array(3, 4), torch.tensor([True, False, True]), torch.tensor([0, 2]))),
    ]


def masked_and_indexed(x: torch.Tensor, mask: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return x[mask, index]


def _key_writes() -> list[Sample]:
    x, other = array(3, 4, 5), array(4, 4, 5)
    row, plane = array(5), array(4, 5)
    return _writes(
        x, other,
        (0, 1.5), (0, plane), (-1, row), ((_ALL, 0), row), (_ALL, 2), (_ALL, plane), (..., row), ((..., 0), 3), ((), 1.0), (None, 2.0),
        (slice(1, None), 0.0), (slice(1, None), plane), ((_ALL, slice(None, 2)), row), ((_ALL, slice(None, None, 2)), array(2, 5)),
        ((0, 1, 2), 7.0), ((0, 1, 2), array()), ((0, slice(1, 3), -1), array(2)), ((_ALL, None, 1), row), (0, array(1, 1, 4, 5)),
        (slice(0, 0), 1.0), (True, 2.0), (False, 2.0), ((slice(-2, None), slice(None, -1)), 1),
        ((0, 1), True), (0, array(4, 5, dtype="float64")),
    )  # fmt: skip


def _array_writes() -> list[Sample]:
    x, other = array(4, 5, 6), array(5, 6, 7)
    i, j, one = torch.tensor([0, -1, 1]), torch.tensor([[0, 3], [1, -2]]), torch.tensor(2)
    pairs: tuple[tuple[Index, Any], ...] = (
        (i, 1.5), ((_ALL, i), 2), ((i, i), 3.0), ((i, _ALL, i), 1.0), (one, 2.0), ((_ALL, one), 1.0),
        ((one, i), 2.0), ((one, _ALL, i), 4.0),
        ((0, i), 5.0), ((slice(1, 3), i), 6.0), ([0, 2], 7.0), (([0, 1], [1, 2]), 8.0), ((j, 0), 1.0),
        ((None, i), 2.0), ((i, one, i), 3.0), ([], 1.0),
    )  # fmt: skip
    samples = _writes(x, other, *pairs)
    return [
        *samples,
        Sample(put_into, (x, i, array(3, 5, 6)), name="__setitem__"),
        Sample(put_into, (x, i, array(5, 6)), name="__setitem__"),
        Sample(put_into, (x, (_ALL, i), array(4, 3, 6)), name="__setitem__"),
        Sample(put_into, (x, (i, _ALL, i), array(3, 5)), name="__setitem__"),
        Sample(put_into, (x, (j, 0), array(2, 2, 6)), name="__setitem__"),
        Sample(put_into, (x, (0, i), array(1, 3, 6)), name="__setitem__"),
        Sample(put_into, (x, (one, _ALL, i), array(5, 3)), name="__setitem__"),
        Sample(put_into, (x, (i, one, i), array(3)), name="__setitem__"),
        Sample(put_into, (array(4, 5, dtype="int64"), i, 2.5), name="__setitem__"),
    ]


def mask_from_itself(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    copy = x.clone()
    copy[mask] = y[mask]
    return copy


def _mask_writes() -> list[Sample]:
    x, other = array(4, 5, 3), array(2, 5, 3)
    fixed = torch.tensor([True, False, True, True])
    samples = [
        Sample(put_into, (x, mask, value), other=(other, later, value), name="__setitem__")
        for mask, later, value in (
            (bools(4), bools(2), 1.5),
            (bools(4), bools(2), array(5, 3)),
            (bools(4), bools(2), array(1, 5, 3)),
            (bools(4, 5), bools(2, 5), array(3)),
            (bools(4, 5, 3), bools(2, 5, 3), 0.0),
            (bools(4, 5, 3), bools(2, 5, 3), array()),
            (bools(4, 5, 3), bools(2, 5, 3), array(1)),
            ((_ALL, bools(5)), (_ALL, bools(5)), array(3)),
            ((_ALL, bools(5)), (_ALL, bools(5)), array(1, 1, 3)),
            ((_ALL, bools(5, 3)), (_ALL, bools(5, 3)), 2.0),
            ((..., bools(3)), (..., bools(3)), 3.0),
            ((0, bools(5)), (0, bools(5)), array(3)),
            ((slice(1, None), bools(5)), (slice(1, None), bools(5)), 1.0),
        )
    ]
    return [
        *samples,
        Sample(put_into, (x, fixed, array(3, 5, 3)), name="__setitem__"),
        Sample(put_into, (x, fixed, array(3, 1, 3)), name="__setitem__"),
        Sample(
            put_into,
            (x, (_ALL, torch.tensor([True, False, True, False, True])), array(4, 3, 3)),
            name="__setitem__",
        ),
        Sample(put_into, (x, (fixed, 0), array(3, 3)), name="__setitem__"),
        Sample(put_into, (x, (fixed, torch.tensor([0, 1, 2])), 1.0), name="__setitem__"),
        Sample(put_into, (x, [True, False, True, True], 2.0), name="__setitem__"),
        Sample(mask_from_itself, (x, array(4, 5, 3), bools(4)), other=(other, array(2, 5, 3), bools(2))),
    ]


def _gathers() -> list[Sample]:
    x, i = array(4, 5), ints(2, 3, low=0, high=4)
    return [
        Sample(
            torch.gather, (x, 1, ints(4, 2, low=0, high=5)), other=(array(3, 6), 1, ints(3, 4, low=0, high=6))
        ),
        Sample(torch.gather, (x, 0, i)),
        Sample(torch.gather, (x, -1, i)),
        Sample(torch.gather, (array(), 0, ints(low=0, high=1))),
        Sample(
            torch.gather, (array(4), 0, ints(6, low=0, high=4)), other=(array(5), 0, ints(2, low=0, high=5))
        ),
        Sample(torch.take, (x, ints(2, 3, low=-20, high=20))),
        Sample(
            torch.take_along_dim,
            (x, ints(4, 2, low=0, high=5), 1),
            other=(array(3, 6), ints(3, 1, low=0, high=6), 1),
        ),
        Sample(torch.take_along_dim, (x, ints(1, 2, low=0, high=5), 1)),
        Sample(
            torch.take_along_dim,
            (x, ints(4, 2, low=-20, high=20), 1),
            other=(array(3, 6), ints(3, 1, low=-20, high=20), 1),
            name="round",
        ),
        Sample(torch.take_along_dim, (x, ints(7, low=0, high=20))),
        Sample(
            torch.index_select, (x, 0, ints(3, low=0, high=4)), other=(array(6, 2), 0, ints(5, low=0, high=6))
        ),
        Sample(torch.index_select, (x, -1, ints(3, low=0, high=4))),
        Sample(torch.index_select, (x, 1, ints(low=0, high=4))),
        Sample(torch.index_select, (array(), 0, ints(1, low=0, high=1))),
        Sample(torch.masked_select, (x, bools(4, 5))),
        Sample(torch.masked_select, (x, bools(5))),
        Sample(torch.masked_select, (array(5), bools(4, 1))),
    ]


def scatter_with(x: torch.Tensor, dim: int, index: torch.Tensor, source: Any, reduce: str) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.scatter(x, dim, index, source, reduce=reduce)


def index_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.index_reduce(x, dim, index, source, reduce, include_self=include_self)


def _scatters() -> list[Sample]:
    x, i, src = array(4, 5), ints(2, 3, low=0, high=4), array(2, 3)
    distinct = torch.tensor([[0, 2, 1], [3, 0, 2]])
    samples = [
        Sample(torch.scatter, (x, 0, distinct, src), other=(array(6, 3), 0, distinct, src)),
        Sample(torch.scatter, (x, 1, distinct, array(4, 4))),
        Sample(torch.scatter, (x, 1, i, 2.5)),
        Sample(torch.scatter, (array(3, dtype="int64"), 0, ints(2, low=0, high=3), 7)),
        Sample(scatter_with, (x, 0, i, src, "add")),
        Sample(scatter_with, (x, 0, i, src, "multiply")),
        Sample(scatter_with, (x, 0, i, 2.0, "add")),
        Sample(torch.scatter_add, (x, 0, i, src), other=(array(7, 3), 0, ints(2, 3, low=0, high=7), src)),
        Sample(torch.scatter_add, (x, -1, i, array(3, 4))),
        Sample(torch.scatter_add, (array(3, dtype="int64"), 0, ints(6, low=0, high=3), ints(6))),
    ]
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            options = {"reduce": reduce, "include_self": include}
            samples.append(
                Sample(
                    torch.scatter_reduce,
                    (x, 0, i, src),
                    options,
                    other=(array(6, 5), 0, ints(4, 5, low=0, high=6), array(4, 5)),
                )
            )
            samples.append(
                Sample(torch.scatter_reduce, (ints(3), 0, ints(6, low=0, high=3), ints(6)), options)
            )
        if reduce != "sum":
            samples.append(
                Sample(
                    index_reduce, (x, 0, ints(3, low=0, high=4), array(3, 5), reduce), {"include_self": False}
                )
            )
            samples.append(Sample(index_reduce, (x, 1, ints(3, low=0, high=5), array(4, 3), reduce)))
    return samples


def _indexed_writes() -> list[Sample]:
    x, i = array(4, 5), ints(3, low=0, high=4)
    once = torch.tensor([2, 0, 3])
    return [
        Sample(
            torch.index_add,
            (x, 0, i, array(3, 5)),
            other=(array(6, 2), 0, ints(4, low=0, high=6), array(4, 2)),
        ),
        Sample(torch.index_add, (x, 1, i, array(4, 3)), {"alpha": 2}),
        Sample(torch.index_add, (ints(4), 0, i, ints(3)), {"alpha": -3}),
        Sample(torch.index_copy, (x, 0, once, array(3, 5)), other=(array(7, 2), 0, once, array(3, 2))),
        Sample(torch.index_copy, (x, 1, once, array(4, 3))),
        Sample(torch.index_fill, (x, 0, i, 1.5), other=(array(6, 2), 0, i, 1.5)),
        Sample(torch.index_fill, (x, 1, i, array())),
        Sample(torch.index_fill, (bools(4, 5, 3), 0, i, -1), name="index_fill of bools"),
        Sample(torch.index_put, (x, (once,), array(5))),
        Sample(torch.index_put, (array(4, 0), (once,), array(0)), name="index_put without elements"),
        Sample(torch.index_add, (array(4, 0), 0, once, array(3, 0)), name="index_add without elements"),
        Sample(
            torch.index_put,
            (x, (i, i), array(3)),
            {"accumulate": True},
            other=(array(6, 5), (i, i), array(3)),
        ),
        Sample(torch.index_put, (x, (torch.tensor([0, 0, 1]),), array(3, 5)), {"accumulate": True}),
        Sample(torch.index_put, (x, (bools(4, 5),), array()), {"accumulate": True}),
        Sample(
            torch.index_put,
            (x, (torch.tensor([True, False, True, True]),), array(3, 5)),
            {"accumulate": True},
        ),
        Sample(torch.ops.aten.index_put, (x, [None, once], array(4, 3))),
        Sample(torch.Tensor.put, (x, ints(3, low=-20, high=20), array(3)), {"accumulate": True}),
        Sample(torch.Tensor.put, (x, torch.tensor([[3, -1], [7, 0]]), array(2, 2))),
    ]


def fill_diagonal(x: torch.Tensor, value: float, wrap: bool = False) -> torch.Tensor:
    return x.clone().fill_diagonal_(value, wrap=wrap)


def _masked_and_diagonal() -> list[Sample]:
    x = array(4, 5)
    samples = [
        Sample(torch.masked_fill, (x, bools(4, 5), -1e9), other=(array(2, 3), bools(2, 3), -1e9)),
        Sample(torch.masked_fill, (x, bools(5), float("-inf"))),
        Sample(torch.masked_fill, (bools(5), bools(5), 2j), name="masked_fill of bools"),
        Sample(torch.masked_fill, (array(5), bools(4, 1), 2)),
        Sample(torch.masked_fill, (x, bools(4, 5), array())),
        Sample(torch.masked_fill, (ints(4, 5), bools(4, 5), 2)),
        Sample(torch.masked_scatter, (x, bools(4, 5), array(20)), other=(array(2, 3), bools(2, 3), array(9))),
        Sample(torch.masked_scatter, (x, bools(4, 1), array(4, 5))),
        Sample(torch.diag_embed, (array(2, 3),), {"offset": 1}, other=(array(4, 2),)),
        Sample(torch.diag_embed, (array(2, 3),), {"offset": -2, "dim1": 0, "dim2": 1}),
        Sample(torch.diag_embed, (array(2, 3),), {"dim1": 2, "dim2": 0}),
        Sample(torch.diag, (array(3),), other=(array(5),)),
        Sample(torch.diag, (array(3),), {"diagonal": -1}),
        Sample(torch.diagflat, (array(2, 2),), {"offset": 1}),
        Sample(torch.diagonal_scatter, (x, array(4)), {"offset": 1}, other=(array(5, 6), array(5))),
        Sample(torch.diagonal_scatter, (array(2, 3, 4), array(3, 2)), {"dim1": 0, "dim2": -1}),
        Sample(torch.select_scatter, (x, array(5), 0, -1), other=(array(2, 3), array(3), 0, -1)),
        Sample(torch.slice_scatter, (x, array(4, 2)), {"dim": 1, "start": 1, "end": 3}),
        Sample(torch.slice_scatter, (x, array(2, 5)), {"start": -2}, other=(array(7, 5), array(2, 5))),
        Sample(_size_into_mask, (bools(3, 4),), other=(bools(2, 0),)),
        Sample(torch.as_strided_scatter, (x, array(2, 2), (2, 2), (6, 2), 1)),
    ]
    for offset in (0, 2, -1, 9):
        samples.append(Sample(torch.diagonal, (x,), {"offset": offset}, other=(array(6, 6),)))
        samples.append(Sample(torch.diag, (x,), {"diagonal": offset}))
        samples.append(Sample(torch.linalg.diagonal, (array(2, 3, 4),), {"offset": offset}))
    for shape, wrap in (
        ((3, 3), False),
        ((3, 5), False),
        ((7, 3), False),
        ((7, 3), True),
        ((4, 3), True),
        ((3, 3, 3), False),
        ((3, 5), True),
    ):
        samples.append(Sample(fill_diagonal, (array(*shape), 2.0, wrap)))
    return samples


SAMPLES: list[Sample] = [
    *_reads(array(4, 5, 6), array(5, 7, 6), *_KEYS),
    *_reads(array(3), array(5), 0, -1, slice(1, None), None, (None, 0), [0, -1]),
    *_reads(array(), array(), None, ..., (), (..., None), True),
    *_reads(array(4, 5, 6), array(5, 7, 6), *_LISTS),
    *_index_arrays(),
    *_masks(),
    *_key_writes(),
    *_array_writes(),
    *_mask_writes(),
    *_gathers(),
    *_scatters(),
    *_indexed_writes(),
    *_masked_and_diagonal(),
]

ERRORS: list[ErrorSample] = []
