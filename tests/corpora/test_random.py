"""Tests of random numbers: other numbers than in the source framework, with its distributions, shapes and
dtypes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import graph_compiler
from graph_compiler.codegen import load, write
from graph_compiler.trees import iterate_structure
from tests.support.compare import dtype_name, expected_dtype, to_numpy
from tests.support.one_call import lift_call
from tests.support.seeding import seed

from .limits import TARGETS

_N = 4000
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ZEROS = torch.zeros(_N)


def _draw(
    to: str,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    seed: int = 0,
) -> Any:
    """Return the numbers that the row ``name`` draws in a target with a seed."""
    backend = pytest.importorskip(to) and importlib.import_module(f"graph_compiler.backends.{to}")
    graph = lift_call(name, function, args, kwargs)
    flat = load(write(graph, backend.dialect, name))
    arrays = [
        backend.target.convert(item)
        for item in iterate_structure((args, kwargs))
        if isinstance(item, torch.Tensor)
    ]
    backend.target.seed(seed)
    # ``torch.compile`` takes half a minute for each.
    call = flat if to == "torch" else backend.target.compile(flat, {})
    found = call(*arrays, backend.target.next_key())
    # The other items are values for guards.
    return found[0] if isinstance(found, tuple) else found


def _reference(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    seed(0)
    result: torch.Tensor = function(
        *(item.clone() if isinstance(item, torch.Tensor) else item for item in args), **kwargs
    )
    return result


_CHANNELS = torch.linspace(-1, 2, 16 * _N).reshape(_N // 4, 4, 8, 2)
DRAWS: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    ("rand", torch.rand, (_N,), {}),
    ("rand", torch.rand, ((_N, 2),), {"dtype": torch.float64}),
    ("randn", torch.randn, (), {"size": (_N,)}),
    ("rand_like", torch.rand_like, (_ZEROS,), {}),
    ("randn_like", torch.randn_like, (_ZEROS,), {"dtype": torch.float16}),
    ("randint", torch.randint, (10, (_N,)), {}),
    ("randint", torch.randint, (-30, 100, (_N,)), {"dtype": torch.int32}),
    ("randint", torch.randint, (), {"low": 2, "high": 50, "size": (_N,)}),
    ("randint_like", torch.randint_like, (_ZEROS, 3, 90), {}),
    ("randperm", torch.randperm, (_N,), {}),
    ("bernoulli", torch.bernoulli, (torch.full((_N,), 0.3),), {}),
    ("bernoulli", torch.bernoulli, (_ZEROS, 0.7), {}),
    ("multinomial", torch.multinomial, (torch.tensor([0.1, 0.2, 0.0, 0.7]), _N, True), {}),
    ("normal", torch.normal, (2.0, 3.0, (_N,)), {}),
    ("normal", torch.normal, (torch.full((_N,), 5.0), 2.0), {}),
    ("normal", torch.normal, (1.0, torch.full((_N,), 3.0)), {}),
    ("poisson", torch.poisson, (torch.full((_N,), 40.0),), {}),
    ("binomial", torch.binomial, (torch.full((_N,), 90.0), torch.full((_N,), 0.3)), {}),
    ("_standard_gamma", torch._standard_gamma, (torch.full((_N,), 2.0),), {}),
    ("_sample_dirichlet", torch._sample_dirichlet, (torch.full((_N, 3), 2.0),), {}),
    ("uniform", torch.Tensor.uniform_, (_ZEROS, 2.0, 5.0), {}),
    ("normal_", torch.Tensor.normal_, (_ZEROS, 2.0, 0.5), {}),
    ("normal_", torch.Tensor.normal_, (_ZEROS,), {}),
    ("nn.init.normal_", torch.nn.init.normal_, (_ZEROS, 2.0, 0.5), {}),
    ("nn.init.uniform_", torch.nn.init.uniform_, (_ZEROS, 2.0, 5.0), {}),
    ("normal_", torch.Tensor.normal_, (torch.zeros(_N, dtype=torch.complex64), 2.0, 0.5), {}),
    ("normal", torch.normal, (2.0, 3.0, (_N,)), {"dtype": torch.complex64}),
    ("bernoulli_", torch.Tensor.bernoulli_, (_ZEROS, 0.2), {}),
    ("exponential", torch.Tensor.exponential_, (_ZEROS, 2.0), {}),
    ("cauchy", torch.Tensor.cauchy_, (_ZEROS,), {}),
    ("log_normal", torch.Tensor.log_normal_, (_ZEROS, 0.0, 0.5), {}),
    ("geometric", torch.Tensor.geometric_, (_ZEROS, 0.05), {}),
    ("random", torch.Tensor.random_, (_ZEROS, 500), {}),
    ("random", torch.Tensor.random_, (torch.zeros(_N, dtype=torch.int64), 5, 100), {}),
    ("random", torch.Tensor.random_, (torch.zeros(_N, dtype=torch.uint8),), {}),
    ("nn.functional.dropout", F.dropout, (torch.linspace(-1, 2, _N), 0.3), {}),
    ("nn.functional.dropout2d", F.dropout2d, (_CHANNELS, 0.3), {}),
    ("nn.functional.alpha_dropout", F.alpha_dropout, (torch.linspace(-1, 2, _N), 0.3), {"training": True}),
    ("nn.functional.rrelu", F.rrelu, (torch.linspace(-1, 2, _N),), {"training": True}),
    ("gumbel_softmax", F.gumbel_softmax, (torch.zeros(_N, 4),), {"tau": 0.7}),
    ("gumbel_softmax", F.gumbel_softmax, (torch.zeros(_N, 4),), {"hard": True}),
    ("dropout", torch.dropout, (torch.linspace(-1, 2, _N), 0.3, True), {}),
    ("feature_dropout", torch.feature_dropout, (_CHANNELS, 0.3, True), {}),
    ("alpha_dropout", torch.alpha_dropout, (torch.linspace(-1, 2, _N), 0.3, True), {}),
    ("feature_alpha_dropout", torch.feature_alpha_dropout, (_CHANNELS, 0.3, True), {}),
]


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("name", "function", "args", "kwargs"), DRAWS, ids=[f"{i}-{draw[0]}" for i, draw in enumerate(DRAWS)]
)
def test_distribution(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], to: str
) -> None:
    expected = _reference(function, args, kwargs)
    actual = _draw(to, name, function, args, kwargs)
    assert dtype_name(actual) == expected_dtype(actual, expected)
    assert tuple(actual.shape) == tuple(expected.shape)
    for found, wanted in zip(_quantiles(to_numpy(actual)), _quantiles(to_numpy(expected)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=0.08 * float(np.ptp(wanted)))


def _quantiles(array: np.ndarray[Any, Any]) -> list[Any]:
    parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
    return [np.quantile(part.astype(np.float64), _QUANTILES) for part in parts]


@pytest.mark.parametrize("to", TARGETS)
def test_seeds_decide(to: str) -> None:
    draws = [np.asarray(_draw(to, "rand", torch.rand, (5,), {}, seed)) for seed in (0, 0, 1)]
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


@pytest.mark.parametrize("to", TARGETS)
def test_dropout_keeps_the_scale(to: str) -> None:
    dropped = np.asarray(_draw(to, "nn.functional.dropout", F.dropout, (torch.ones(_N), 0.25), {}))
    assert set(np.unique(dropped.round(5))) == {np.float32(0), np.float32(1.33333)}
    assert abs((dropped == 0).mean() - 0.25) < 0.03


@pytest.mark.parametrize("to", TARGETS)
def test_shared_axes_live_or_die_together(to: str) -> None:
    dropped = np.asarray(
        _draw(to, "nn.functional.dropout2d", F.dropout2d, (torch.ones(50, 4, 3, 3), 0.5), {})
    )
    assert (dropped == dropped[:, :, :1, :1]).all()


@pytest.mark.parametrize("to", TARGETS)
def test_without_replacement_no_index_comes_twice(to: str) -> None:
    weights = torch.ones(100, 6) * torch.tensor([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    drawn = np.asarray(_draw(to, "multinomial", torch.multinomial, (weights, 4), {}))
    assert all(len(set(row)) == 4 and 2 not in row for row in drawn.tolist())


@pytest.mark.parametrize(
    "name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"]
)
def test_dropout_outside_of_training_is_no_operation(name: str) -> None:
    x = torch.ones((2, 3, 4) if name == "dropout1d" else (2, 3, 4, 4))
    graph = lift_call(f"nn.functional.{name}", getattr(F, name), (x,), {"training": False})
    assert not graph.nodes
    assert graph.outputs == graph.inputs


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("train", [None, True])
def test_native_dropout_trains_unless_train_is_false(train: bool | None, to: str) -> None:
    x = torch.ones(400)
    dropped = np.asarray(_draw(to, "native_dropout", torch.native_dropout, (x, 0.5, train), {}))
    assert set(dropped.tolist()) == set(torch.native_dropout(x, 0.5, train)[0].tolist()) == {0.0, 2.0}


def test_a_variant_that_does_not_hold_draws_nothing() -> None:
    """The variant has drawn numbers when its guard on elements fails; the next variant must start from the
    same state.
    """

    def signed(x: torch.Tensor) -> torch.Tensor:
        noise = torch.rand(x.shape[0])
        return noise if x.sum() > 0 else -noise

    graph = graph_compiler.compile(signed, args=(torch.ones(3),))
    for x in (torch.ones(3), -torch.ones(3), torch.ones(2)):
        torch.manual_seed(0)
        expected = signed(x)
        torch.manual_seed(0)
        assert torch.equal(graph(x), expected)
