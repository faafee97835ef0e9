"""Samples of searching, sorting and unique elements."""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.support.samples import Array, Sample, array, bools, ints, quietly


def with_nan(function: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    return function(torch.where(x > 0.5, math.nan, x), *args, **kwargs)


def values_of(function: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Return only the values, because the indices of equal elements are not defined."""
    return function(*args, **kwargs)[0]


def signed_nan(x: torch.Tensor) -> Any:
    """Call ``torch.topk`` on NaN from 0 / 0, whose sign bit is set on most processors."""
    zero = torch.where(x > 0.5, 0.0, 1.0)
    return torch.topk(x * (zero / zero), 3)


# ---------------------------------------------------------------------------------------------- searching
def _where() -> list[Sample]:
    x, other = array(3, 4), array(5, 2)
    return [
        Sample(torch.where, (bools(3, 4), x, array(4)), other=(bools(5, 2), other, array(2))),
        Sample(torch.where, (bools(4), x, 0.0), other=(bools(2), other, 0.0)),
        Sample(torch.where, (bools(3, 4), 1, 2.5), other=(bools(5, 2), 1, 2.5)),
        Sample(torch.where, (bools(3, 4), ints(3, 4), 2.5)),
        Sample(torch.where, (bools(3, 4), ints(3, 4), x)),
        Sample(torch.where, (bools(3, 1), array(dtype="float64"), ints(4))),
        Sample(quietly, (torch.where, ints(3, low=0, high=2, dtype="uint8"), array(3), array(3))),
        Sample(torch.Tensor.where, (x, bools(3, 4), array()), other=(other, bools(5, 2), array())),
        Sample(torch.where, (bools(3, 4),), other=(bools(5, 6),)),
        Sample(torch.where, (bools(3, 4), True, False), other=(bools(5, 2), True, False)),
    ]


def _nonzero() -> list[Sample]:
    x, other = ints(3, 4, low=0, high=2), ints(5, 3, low=0, high=2)
    return [
        Sample(torch.nonzero, (x,), other=(other,)),
        Sample(torch.nonzero, (x,), {"as_tuple": True}, other=(other,)),
        Sample(torch.nonzero, (bools(3, 4, 5),), other=(bools(2, 2, 3),)),
        Sample(torch.Tensor.nonzero, (array(3),)),
        Sample(torch.nonzero, (array(),)),
        Sample(torch.nonzero, (array(0, 3),)),
        Sample(torch.argwhere, (x,), other=(other,)),
        Sample(torch.nonzero_static, (x,), {"size": 4}, other=(other,)),
        Sample(torch.nonzero_static, (x,), {"size": 20, "fill_value": -3}, other=(other,)),
        Sample(torch.nonzero_static, (array(),), {"size": 2}, name="nonzero_static of a scalar"),
        Sample(torch.nonzero, (ints(3, 4, low=0, high=2, dtype="float16"),), name="nonzero of halves"),
        Sample(torch.argwhere, (ints(3, 4, low=0, high=2, dtype="bfloat16"),), name="argwhere of bfloat16"),
    ]


def in_sorted(x: torch.Tensor, values: Any, **options: Any) -> torch.Tensor:
    return torch.searchsorted(x.sort(dim=-1).values, values, **options)


def by_sorter(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted(x, values, sorter=torch.argsort(x, dim=-1), right=True)


def _places() -> list[Sample]:
    x, other = ints(7), ints(9)
    samples = [
        Sample(in_sorted, (x, ints(3, 4)), given, other=(other, ints(2, 5)))
        for given in ({}, {"right": True}, {"side": "right"}, {"out_int32": True})
    ]
    return samples + [
        Sample(in_sorted, (x, 2), other=(other, 2)),
        Sample(in_sorted, (x, 2.5), other=(other, 2.5)),
        Sample(in_sorted, (x, array(4)), other=(other, array(2))),
        Sample(
            in_sorted,
            (array(2, 3, 6), array(2, 3, 4)),
            {"right": True},
            other=(array(4, 2, 5), array(4, 2, 3)),
        ),
        Sample(in_sorted, (array(0), array(3))),
        *(
            Sample(
                in_sorted,
                (array(2, 3, 4), array(2, 3, 2)),
                other=tuple(array(*shape) for shape in shapes),
                name=f"in_sorted of nothing {shapes}",
            )
            for shapes in (((2, 0, 4), (2, 0, 2)), ((2, 3, 0), (2, 3, 2)), ((2, 3, 4), (2, 3, 0)))
        ),
        Sample(by_sorter, (x, ints(5)), other=(other, ints(4))),
        Sample(by_sorter, (array(2, 6), array(2, 4)), other=(array(3, 5), array(3, 2))),
        Sample(in_buckets, (array(3, 4),), other=(array(2, 6),)),
        Sample(in_buckets, (ints(3, 4),), {"right": True, "out_int32": True}, other=(ints(2, 6),)),
        Sample(in_buckets, (array(),)),
        Sample(torch.isin, (x, ints(3)), other=(other, ints(4))),
        Sample(torch.isin, (ints(3, 4), array(5)), {"invert": True}, other=(ints(2, 6), array(3))),
        Sample(torch.isin, (x, 2), other=(other, 2)),
        Sample(torch.isin, (2, x), other=(2, other)),
        Sample(torch.isin, (x, ints(3)), {"assume_unique": False}),
    ]


def in_buckets(x: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.25, 2.0]), **options)


# ---------------------------------------------------------------------------------------------- sorting
def _sorting() -> list[Sample]:
    x, other = array(3, 4, 5, kind="distinct"), array(2, 6, 3, kind="distinct")
    samples = []
    for given in ({}, {"dim": 0}, {"dim": 1, "descending": True}, {"dim": -1, "stable": True}):
        samples += [Sample(function, (x,), given, other=(other,)) for function in (torch.sort, torch.argsort)]
    for given in ({"stable": True}, {"stable": True, "descending": True, "dim": 0}):
        for few, later in (
            (ints(4, 9, low=0, high=3), ints(6, 5, low=0, high=3)),
            (bools(4, 9), bools(3, 8)),
        ):
            samples += [
                Sample(function, (few,), given, other=(later,)) for function in (torch.sort, torch.argsort)
            ]
    for descending in (False, True):
        samples.append(
            Sample(
                with_nan,
                (torch.sort, array(3, 6)),
                {"descending": descending, "stable": True},
                other=(torch.sort, array(4, 5)),
            )
        )
    return samples + [
        Sample(torch.sort, (array(), 0)),
        Sample(torch.argsort, (array(), -1)),
        Sample(torch.sort, (array(0, 3), 0)),
        Sample(torch.Tensor.sort, (x, 1, True), other=(other, 1, True)),
        Sample(torch.sort, (Array((9,), "uint8", "distinct"),)),
        Sample(torch.msort, (x,), other=(other,)),
        Sample(torch.msort, (array(),)),
    ]


def half_of(x: torch.Tensor) -> Any:
    return tuple(torch.topk(x, x.shape[-1] // 2))


def _selecting() -> list[Sample]:
    x, other = array(3, 6, 5, kind="distinct"), array(2, 7, 4, kind="distinct")
    samples = [
        Sample(torch.topk, (x, 3), given, other=(other, 3)) for given in ({}, {"dim": 1}, {"largest": False})
    ]
    return samples + [
        Sample(torch.topk, (x, 2, 0), other=(other, 2, 0)),
        Sample(torch.topk, (x, 5, 1, False, True), other=(other, 5, 1, False, True)),
        Sample(half_of, (x,), other=(other,)),
        Sample(torch.topk, (array(), 1)),
        Sample(values_of, (signed_nan, array(4, 9)), name="topk of NaN with a sign"),
        Sample(torch.topk, (x, 0)),
        Sample(values_of, (torch.topk, ints(4, 9), 3), other=(torch.topk, ints(2, 5), 3)),
        Sample(nan_on_top, (array(4, 6),), other=(array(3, 7),)),
        Sample(torch.kthvalue, (x, 2), other=(other, 2)),
        Sample(torch.kthvalue, (x, 4, 1, True), other=(other, 4, 1, True)),
        Sample(torch.kthvalue, (array(), 1)),
        Sample(with_nan, (values_of_third, array(4, 6)), other=(values_of_third, array(3, 7))),
    ]


def nan_on_top(x: torch.Tensor) -> torch.Tensor:
    """NaN counts as the largest element."""
    return torch.topk(torch.where(x > 0.5, math.nan, x), 4).values


def values_of_third(x: torch.Tensor) -> torch.Tensor:
    return torch.kthvalue(x, 3).values


# -------------------------------------------------------------------------------------------- unique elements
def _unique() -> list[Sample]:
    x, other = ints(3, 6, low=0, high=4), ints(5, 5, low=0, high=6)
    rows, later = ints(7, 2, low=0, high=2), ints(9, 3, low=0, high=2)
    samples = []
    for function in (torch.unique, torch.unique_consecutive, torch.Tensor.unique):
        for given in (
            {},
            {"return_inverse": True},
            {"return_counts": True},
            {"return_inverse": True, "return_counts": True},
        ):
            samples.append(Sample(function, (x,), given, other=(other,)))
            samples.append(Sample(function, (rows,), {**given, "dim": 0}, other=(later,)))
    return samples + [
        Sample(torch.unique, (rows,), {"dim": 1, "return_inverse": True}),
        Sample(torch.unique_consecutive, (rows,), {"dim": 1, "return_counts": True}),
        Sample(torch.unique, (array(),), {"return_inverse": True, "return_counts": True}),
        Sample(torch.unique_consecutive, (array(),), {"return_inverse": True, "return_counts": True}),
        Sample(torch.unique_consecutive, (array(0),)),
        Sample(torch.unique, (bools(9),)),
        Sample(with_nan, (torch.unique, array(9)), other=(torch.unique, array(5))),
    ]


SAMPLES: list[Sample] = [*_where(), *_nonzero(), *_places(), *_sorting(), *_selecting(), *_unique()]
