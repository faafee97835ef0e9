"""Tests of sizes that torch requires to be equal: a graph rejects others, even if the operations that it
consists of would broadcast them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import torch.nn.functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

Shapes = tuple[tuple[int, ...], ...]

# function, shapes recorded, shapes that torch takes, shapes that it refuses
ROWS: dict[str, tuple[Callable[..., Any], Shapes, Shapes, Shapes]] = {
    "addmm": (torch.addmm, ((2, 3), (2, 4), (4, 3)), ((5, 3), (5, 4), (4, 3)), ((2, 3), (1, 4), (4, 3))),
    "addmm-of-one": (
        torch.addmm,
        ((1, 3), (1, 4), (4, 3)),
        ((1, 2), (5, 4), (4, 2)),
        ((5, 3), (1, 4), (4, 3)),
    ),
    "addmm-bias": (torch.addmm, ((3,), (2, 4), (4, 3)), ((2,), (5, 4), (4, 2)), ((3,), (5, 4), (4, 1))),
    "baddbmm": (
        torch.baddbmm,
        ((1, 5, 3), (2, 5, 4), (2, 4, 3)),
        ((1, 2, 3), (3, 2, 1), (3, 1, 3)),
        ((1, 5, 3), (2, 1, 4), (2, 4, 3)),
    ),
    "addr": (torch.addr, ((2, 3), (2,), (3,)), ((4, 1), (4,), (1,)), ((2, 3), (1,), (3,))),
    "binary_cross_entropy": (
        lambda x, y: F.binary_cross_entropy(x.sigmoid(), y),
        ((1, 3), (1, 3)),
        ((4, 2), (4, 2)),
        ((4, 3), (1, 3)),
    ),
    "multilabel": (
        lambda x, y: F.multilabel_margin_loss(x, y.long()),
        ((1, 3), (1, 3)),
        ((4, 2), (4, 2)),
        ((4, 3), (1, 3)),
    ),
    "nll_loss": (lambda x, y: F.nll_loss(x, y.long()), ((1, 3), (1,)), ((4, 2), (4,)), ((1, 3), (4,))),
    "cross_entropy": (
        lambda x, y: F.cross_entropy(x, y.long()),
        ((2, 3, 5), (2, 5)),
        ((4, 3, 1), (4, 1)),
        ((2, 3, 5), (2, 1)),
    ),
    "cross_entropy-of-one": (F.cross_entropy, ((1, 3), (1, 3)), ((2, 4), (2, 4)), ((2, 3), (1, 3))),
    "batch_norm": (
        lambda x, m, v: F.batch_norm(x, m, v * v + 1),
        ((2, 1, 4), (1,), (1,)),
        ((2, 3, 4), (3,), (3,)),
        ((2, 3, 4), (1,), (1,)),
    ),
    "cdist": (torch.cdist, ((2, 3), (4, 3)), ((2, 1), (4, 1)), ((2, 3), (4, 1))),
    "split": (lambda x: x.split([1, 2]), ((3, 2),), ((3, 4),), ((4, 2),)),
    "split_with_sizes": (lambda x: x.split_with_sizes([1, 2], 1), ((2, 3),), ((4, 3),), ((2, 2),)),
    "unflatten": (lambda x: x.unflatten(0, (2, 4)), ((8,),), ((8,),), ((16,),)),
    "unflatten-to-one": (lambda x: x.unflatten(0, (8,)), ((8,),), ((8,),), ((16,),)),
    "view_as_complex": (torch.view_as_complex, ((5, 2),), ((3, 2),), ((5, 1),)),
}


def _arrays(shapes: Shapes) -> tuple[Any, ...]:
    return tuple((torch.arange(float(torch.Size(shape).numel())) % 2).reshape(shape) for shape in shapes)


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", ROWS)
def test_sizes_that_torch_refuses_are_refused(name: str, to: str) -> None:
    function, recorded, good, bad = ROWS[name]
    graph = graph_compiler.compile(function, to=to, args=_arrays(recorded))
    assert_same(graph(*_arrays(good)), function(*_arrays(good)))
    for arrays in (_arrays(bad), _arrays(bad)):
        with pytest.raises((RuntimeError, ValueError)):
            function(*arrays)
        with pytest.raises((RuntimeError, ValueError)):
            graph(*arrays)
