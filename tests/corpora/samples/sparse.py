"""Samples of sparse tensors inside of functions that return dense ones."""

from __future__ import annotations

import torch

from graph_compiler.errors import UnsupportedOperation
from tests.support.samples import ErrorSample, Sample, array, ints

_PLACES, _VALUES, _DENSE = ints(2, 6, low=0, high=4), array(6), array(4, 5)
_OTHER = (ints(2, 9, low=0, high=4), array(9), array(4, 7))


def _sparse(places: torch.Tensor, values: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    return torch.sparse_coo_tensor(places, values, (4, dense.shape[0]), check_invariants=True)


def coordinates(places: torch.Tensor, values: torch.Tensor, dense: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Values at equal indices are added up, whether or not the tensor is coalesced."""
    sparse = _sparse(places, values, dense)
    return (
        sparse.to_dense(),
        (sparse.coalesce() * 2).to_dense(),
        torch.sparse.sum(sparse, dim=1).to_dense(),
        torch.sparse.sum(sparse),
    )


def products(places: torch.Tensor, values: torch.Tensor, dense: torch.Tensor) -> tuple[torch.Tensor, ...]:
    sparse = _sparse(places, values, dense)
    return (
        torch.sparse.mm(sparse, dense),
        sparse @ dense,
        sparse.t() @ dense,
        dense + _sparse(places, values, dense.t()).to_dense()[:, : dense.shape[1]],
    )


def hybrid(places: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return torch.sparse_coo_tensor(
        places[:1], rows, (4, rows.shape[1]), dtype=torch.float64, check_invariants=True
    ).to_dense()


def contingency(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return how often each pair of labels occurs; the sizes depend on the elements."""
    (ones, place), (others, other) = (
        torch.unique(first, return_inverse=True),
        torch.unique(second, return_inverse=True),
    )
    return torch.sparse_coo_tensor(
        torch.stack((place, other)),
        torch.ones_like(place),
        (ones.numel(), others.numel()),
        check_invariants=True,
    ).to_dense()


def back_and_forth(dense: torch.Tensor) -> torch.Tensor:
    return torch.relu(dense).to_sparse().coalesce().to_dense() + 1


SAMPLES = [
    Sample(coordinates, (_PLACES, _VALUES, _DENSE), other=_OTHER),
    Sample(
        products, (_PLACES, _VALUES, array(4, 4)), other=(ints(2, 9, low=0, high=4), array(9), array(4, 4))
    ),
    Sample(hybrid, (_PLACES, array(6, 3)), other=(ints(2, 9, low=0, high=4), array(9, 2))),
    Sample(
        contingency,
        (ints(12, low=0, high=4), ints(12, low=0, high=3)),
        other=(ints(9, low=0, high=3), ints(9, low=0, high=4)),
    ),
    Sample(back_and_forth, (_DENSE,), other=(array(3, 2),)),
]

ERRORS = [
    ErrorSample(
        lambda i, v: torch.sparse_coo_tensor(i, v, check_invariants=True).to_dense(),
        (_PLACES, _VALUES),
        {},
        UnsupportedOperation,
        "without a size",
    ),
    ErrorSample(
        lambda i, v: torch.sparse_coo_tensor(i, v, (4, 4), check_invariants=True).coalesce().values(),
        (_PLACES, _VALUES),
        {},
        UnsupportedOperation,
        "values",
    ),
    ErrorSample(
        lambda i, v: torch.sparse.softmax(
            torch.sparse_coo_tensor(i, v, (4, 4), check_invariants=True), 1
        ).to_dense(),
        (_PLACES, _VALUES),
        {},
        UnsupportedOperation,
        "softmax",
    ),
]
