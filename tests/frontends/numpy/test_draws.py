"""Tests of random numbers in NumPy functions: the same numbers in NumPy, the same distributions elsewhere,
and no constants.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import randn as randn_by_name

import graph_compiler
from graph_compiler.errors import TracingError
from tests.support.compare import assert_same, dtype_name, to_numpy
from tests.support.selection import pairs

TARGETS = ("torch", "jax", "tensorflow", "canonical")
X, OTHER = np.arange(12.0).reshape(4, 3), np.arange(18.0).reshape(6, 3)
KEPT, OLD = np.random.default_rng(5), np.random.RandomState(3)
_N = 4000


def noise(x: Any) -> Any:
    return (
        x + 0.1 * np.random.normal(size=x.shape),
        np.random.rand(*x.shape),
        np.random.rand() * 2,
        randn_by_name(2),
    )


def dropout(x: Any, rate: float = 0.3) -> Any:
    return np.where(np.random.rand(*x.shape) > rate, x / (1 - rate), 0)


def bootstrap(x: Any) -> Any:
    rows = np.random.choice(x.shape[0], size=x.shape[0])
    return (
        x[rows].mean(0),
        np.random.permutation(x),
        np.random.choice(x[:, 0], (2, 3)),
        np.random.choice(5, 3, replace=False),
    )


def shuffled(x: Any) -> Any:
    y = x.copy()
    np.random.shuffle(y)
    return y


def seeded(x: Any) -> Any:
    np.random.seed(3)
    return x * np.random.randn(*x.shape), np.random.randint(0, 10, 4)


def kept(x: Any) -> Any:
    y = x.copy()
    KEPT.shuffle(y)
    return x + KEPT.normal(size=x.shape), OLD.rand(3), KEPT.integers(0, 9, size=x.shape[0]), y


def monte_carlo(x: Any) -> Any:
    hits = 0
    for _ in range(3):
        points = np.random.uniform(-1, 1, (50, 2))
        hits = hits + ((points**2).sum(1) < 1).sum()
    return 4 * hits / 150 * x.mean()


PROGRAMS = [noise, dropout, bootstrap, shuffled, seeded, kept, monte_carlo]


def _states() -> list[Any]:
    return [np.random.get_state(), KEPT.bit_generator.state, OLD.get_state()]


def _restore(states: list[Any]) -> None:
    np.random.set_state(states[0])
    KEPT.bit_generator.state = states[1]
    OLD.set_state(states[2])


@pytest.fixture(autouse=True)
def _leave_generators_alone() -> Any:
    states = _states()
    yield
    _restore(states)


def _graph(function: Any, to: str, *args: Any) -> Any:
    graph = graph_compiler.transpile(function, source="numpy", to="numpy" if to == "canonical" else to)
    graph._pipeline.keeps_calls = to == "numpy"
    graph(*args)
    return graph


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numpy_draws_its_own_numbers(program: Any) -> None:
    states = _states()
    graph = graph_compiler.compile(program, source="numpy", args=(X,))
    for before, now in zip(states, _states()):
        assert repr(before) == repr(now), "recording has drawn"
    for x in (X, OTHER, X):
        states = _states()
        expected = program(x)
        _restore(states)
        assert_same(graph(x), expected)
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize(
    ("program", "to"),
    list(zip([noise, bootstrap, shuffled, kept], TARGETS)),
    ids=lambda item: str(getattr(item, "__name__", item)),
)
def test_draws_anew(program: Any, to: str) -> None:
    graph = _graph(program, to, X)
    results = [
        np.concatenate([np.ravel(to_numpy(item)) for item in _leaves(graph(x))]) for x in (OTHER, OTHER)
    ]
    assert results[0].shape == np.concatenate([np.ravel(item) for item in _leaves(program(OTHER))]).shape
    assert (results[0] != results[1]).any()
    assert len(graph.variants) == 1, graph.explain()


def _leaves(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.fixture(params=[np.random.PCG64, np.random.MT19937], ids=lambda kind: kind.__name__)
def _other_bits(request: Any) -> Any:
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(request.param(3))
    yield
    np.random.set_bit_generator(before)


@pytest.mark.usefixtures("_other_bits")
@pytest.mark.parametrize(("source", "to"), [("numpy", "numpy"), ("numpy", "jax"), ("torch", "torch")])
def test_another_bit_generator_is_set(source: str, to: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, dtype=torch.float64) if source == "torch" else np.ones(3)

    def draws(x: Any) -> Any:
        return x * np.random.rand()

    before = np.random.get_state(legacy=False)
    graph = graph_compiler.compile(draws, source=source, to=to, args=(x,))
    assert repr(np.random.get_state(legacy=False)) == repr(before), "recording has drawn"
    found = graph(x)
    np.random.set_state(before)
    if to != "jax":
        assert_same(found, draws(x))
    graph.verify()


@pytest.mark.parametrize("to", TARGETS)
def test_a_seed_decides(to: str) -> None:
    graph = _graph(seeded, to, X)
    first, second = (to_numpy(graph(OTHER)[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def by_generator(x: Any, rng: Any) -> Any:
    return (
        x + rng.normal(0, 1, x.shape),
        rng.random(x.shape[0]),
        rng.choice(x, 2),
        rng.permutation(4),
        rng.standard_normal(3),
    )


def test_generators_are_arguments() -> None:
    graph = graph_compiler.compile(by_generator, source="numpy", args=(X, np.random.default_rng(0)))
    for seed, x in enumerate((X, OTHER, X)):
        assert_same(graph(x, np.random.default_rng(seed)), by_generator(x, np.random.default_rng(seed)))
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("to", ["numpy", *TARGETS])
def test_numbers_that_are_drawn_are_pythons(to: str) -> None:
    graph = _graph(
        lambda x: (
            x * np.random.rand(),
            x[0] * (1 - np.random.rand() * 2) / 3,
            isinstance(np.random.randint(9), int),
        ),
        to,
        X[0].astype("f"),
    )
    *drawn, is_int = graph(OTHER[0].astype("f"))
    assert [dtype_name(array) for array in drawn] == ["float32"] * 2 and is_int


def test_a_branch_on_a_draw() -> None:
    def coin(x: Any) -> Any:
        return x * 2 if np.random.rand() < 0.5 else -x

    graph = graph_compiler.compile(coin, source="numpy", args=(X,))
    for seed in range(8):
        np.random.seed(seed)
        expected = coin(X)
        np.random.seed(seed)
        assert_same(graph(X), expected)
    assert len(graph.variants) == 2


_R = np.random
DISTRIBUTIONS: list[tuple[str, Callable[[], Any]]] = [
    ("rand", lambda: _R.rand(_N)),
    ("random", lambda: _R.random((_N,))),
    ("uniform", lambda: _R.uniform(2, 5, _N)),
    ("randn", lambda: _R.randn(_N)),
    ("normal", lambda: _R.normal(1.0, 3.0, _N)),
    ("standard_normal", lambda: _R.standard_normal(_N)),
    ("standard_exponential", lambda: _R.standard_exponential(_N)),
    ("standard_gamma", lambda: _R.standard_gamma(2.0, _N)),
    ("standard_cauchy", lambda: _R.standard_cauchy(_N)),
    ("lognormal", lambda: _R.lognormal(0, 0.5, _N)),
    (
        "multivariate_normal",
        lambda: _R.multivariate_normal([0.0, 4.0], [[2.0, 1.0], [1.0, 2.0]], _N) @ np.array([1.0, 0.5]),
    ),
    ("randint", lambda: _R.randint(-5, 100, _N)),
    ("choice", lambda: _R.choice([1.0, 5.0, 20.0], _N, p=[0.4, 0.45, 0.15])),
    ("permutation", lambda: _R.permutation(_N)),
    ("exponential", lambda: _R.exponential(2.0, _N)),
    ("gumbel", lambda: _R.gumbel(1.0, 2.0, _N)),
    ("laplace", lambda: _R.laplace(1.0, 2.0, _N)),
    ("logistic", lambda: _R.logistic(1.0, 2.0, _N)),
    ("rayleigh", lambda: _R.rayleigh(2.0, _N)),
    ("gamma", lambda: _R.gamma(2.0, 3.0, _N)),
    ("chisquare", lambda: _R.chisquare(3.0, _N)),
    ("beta", lambda: _R.beta(2.0, 3.0, _N)),
    ("poisson", lambda: _R.poisson(40.0, _N)),
    ("binomial", lambda: _R.binomial(90, 0.3, _N)),
]


# Method of a generator: its parameters.
METHODS: dict[str, tuple[Any, ...]] = {
    "beta": (2.0, 3.0),
    "binomial": (90, 0.3),
    "chisquare": (4.0,),
    "choice": (500,),
    "exponential": (2.0,),
    "gamma": (2.0, 3.0),
    "gumbel": (1.0, 2.0),
    "integers": (3, 500),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.0, 0.5),
    "normal": (1.0, 2.0),
    "poisson": (40.0,),
    "random": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.0,),
    "standard_normal": (),
    "uniform": (-1.0, 2.0),
}
CALLS: dict[str, Callable[[], Any]] = {
    **dict(DISTRIBUTIONS),
    "generator.multivariate_normal": lambda: (
        KEPT.multivariate_normal([0.0, 4.0], [[2.0, 1.0], [1.0, 2.0]], _N) @ np.array([1.0, 0.5])
    ),
    "RandomState.randn": lambda: OLD.randn(_N),
    **{
        f"generator.{name}": lambda name=name: getattr(KEPT, name)(*METHODS[name], size=_N)
        for name in METHODS
    },  # type: ignore[misc]
}


@pytest.mark.parametrize(("name", "to"), pairs(CALLS, TARGETS))
def test_distribution(name: str, to: str) -> None:
    """Five quantiles of 4,000 numbers are compared."""
    graph = _graph(CALLS[name], to)
    for variant in graph.variants:
        variant.target.seed(1)
    np.random.seed(0)
    expected, actual = CALLS[name](), to_numpy(graph())
    assert actual.shape == expected.shape
    found, wanted = (
        np.quantile(array.astype(np.float64), (0.05, 0.25, 0.5, 0.75, 0.95)) for array in (actual, expected)
    )
    np.testing.assert_allclose(found, wanted, atol=0.08 * float(np.ptp(wanted)))


def test_a_draw_that_is_not_seen() -> None:
    def hidden(x: Any) -> Any:
        return x + sys.modules["numpy.random"].normal(size=3)

    with pytest.raises(TracingError, match="draws random numbers in a way that cannot be recorded"):
        graph_compiler.compile(hidden, source="numpy", args=(X,))


def test_saved_graphs_draw(tmp_path: Any) -> None:
    graph_compiler.compile(dropout, source="numpy", args=(X,)).save(tmp_path / "graph.zip")
    again = graph_compiler.load(tmp_path / "graph.zip")
    np.random.seed(1)
    expected = dropout(OTHER)
    np.random.seed(1)
    assert_same(again(OTHER), expected)
