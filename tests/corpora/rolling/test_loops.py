"""Tests of Python loops that become loops of the graph, with equal values and gradients; similar code that is
no loop stays unrolled.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.ir.node import count_all
from tests.support.compare import leaves
from tests.support.selection import pairs

from .programs import ACROSS, EVERYWHERE, NEVER, rows_written
from .running import SHAPES, arguments, check, compiled, library, loops

WAYS = [
    f"{source} {to}" for source in ("numpy", "torch", "jax") for to in ("numpy", "torch", "jax", "tensorflow")
]


@pytest.mark.parametrize(("name", "way"), pairs(EVERYWHERE, WAYS))
def test_a_loop_stays_a_loop(name: str, way: str) -> None:
    source, to = way.split()
    graph = check(EVERYWHERE[name], source, to)
    # TensorFlow unrolls short loops.
    assert loops(graph) or to == "tensorflow", graph.source


@pytest.mark.parametrize(("name", "way"), pairs(ACROSS, [way for way in WAYS if len(set(way.split())) == 2]))
def test_counters_become_sequences(name: str, way: str) -> None:
    source, to = way.split()
    graph = check(ACROSS[name], source, to)
    # TensorFlow unrolls short loops.
    assert loops(graph) or to == "tensorflow", graph.source


@pytest.mark.parametrize(("name", "way"), pairs(NEVER, WAYS))
def test_what_looks_like_a_loop_stays_written_out(name: str, way: str) -> None:
    source, to = way.split()
    graph = check(NEVER[name], source, to)
    assert not loops(graph), graph.source


# ------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize(("name", "source"), pairs(EVERYWHERE, ["jax", "torch"]))
def test_gradients_go_through_the_loop(name: str, source: str) -> None:
    loop, to = EVERYWHERE[name], {"jax": "torch", "torch": "jax"}[source]
    graph = compiled(loop, source, to)
    u, xs = arguments(SHAPES[1], to)
    for found, wanted in zip(
        _gradients(graph, to, u, xs), _gradients(_with(loop, to), to, u, xs), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_no_gradient_goes_through_what_only_a_further_step_would_read() -> None:
    """The derivative of the last root is infinite."""
    jax, torch = pytest.importorskip("jax"), library("torch")

    def function(x: Any) -> Any:
        total = x * 0
        for i in range(3, 23):
            part = x * i
            x = torch.sqrt(x * x) - 1.0
            total = total + part
        return total

    graph = graph_compiler.transpile(function, to="jax", args=(torch.tensor([19.0]),))
    assert loops(graph)
    found = jax.grad(lambda x: graph(x).sum())(jax.numpy.array([19.0]))
    np.testing.assert_allclose(found, [sum(range(3, 23))], rtol=1e-5)


def _with(loop: Any, framework: str) -> Any:
    return lambda u, xs: loop(library(framework), u, xs)


def _gradients(function: Any, framework: str, *args: Any) -> list[Any]:
    """Return the gradients of the sum of all results."""
    if framework == "torch":
        torch = library("torch")
        given = [arg.clone().requires_grad_() for arg in args]
        torch.stack([item.sum() for item in leaves(function(*given)).values()]).sum().backward()
        return [np.zeros(arg.shape) if arg.grad is None else arg.grad.numpy() for arg in given]
    jax = pytest.importorskip("jax")
    run = (
        function
        if not hasattr(function, "functional")
        else lambda *given: function.functional(function.parameters, *given)
    )
    total = jax.grad(lambda *given: sum(item.sum() for item in jax.tree.leaves(run(*given))), argnums=(0, 1))
    return [np.asarray(item) for item in total(*args)]


# ------------------------------------------------------------------------------------- what is no loop
def test_draws_stay_apart() -> None:
    torch = library("torch")

    def noisy(u: Any) -> Any:
        for _ in range(6):
            u = u * 0.5 + torch.rand(3)
        return u

    for to in ("torch", "jax"):
        graph = graph_compiler.compile(noisy, args=(torch.ones(3),), to=to, roll="scan")
        assert not loops(graph), graph.source


def test_draws_by_keys_that_are_carried_are_those_of_the_steps() -> None:
    jax = pytest.importorskip("jax")

    def noisy(key: Any, u: Any) -> Any:
        for _ in range(6):
            key, own = jax.random.split(key)
            u = u * 0.5 + jax.random.normal(own, (3,))
        return u

    given = jax.random.key(3), jax.numpy.ones(3)
    np.testing.assert_allclose(
        graph_compiler.compile(noisy, args=given, roll="scan")(*given), noisy(*given), rtol=1e-6
    )


def test_a_step_with_another_dtype_stays_apart() -> None:
    def widened(u: Any) -> Any:
        for t in range(8):
            u = np.sin(u) * 0.5
            if t == 3:
                u = u.astype("float64")
        return u

    graph = graph_compiler.compile(widened, args=(np.ones(3, "float32"),), roll="scan")
    assert loops(graph) == 2 and graph(np.ones(4, "float32")).dtype == np.float64
    np.testing.assert_array_equal(graph(np.full(4, 0.3, "float32")), widened(np.full(4, 0.3, "float32")))


@pytest.mark.parametrize(
    ("source", "to"), [("numpy", "jax"), ("numpy", "torch"), ("torch", "numpy"), ("torch", "jax")]
)
def test_rows_that_are_written_are_carried(source: str, to: str) -> None:
    assert loops(check(rows_written, source, to)) == 1


def test_writes_to_an_argument_are_made() -> None:
    """NumPy's own calls write one after the other; elsewhere the writes are values, and the last is written
    back.
    """

    def smoothed(x: Any) -> Any:
        for _ in range(6):
            x[1:-1] = 0.5 * x[1:-1] + 0.25 * (x[2:] + x[:-2])

    for to, count in (("numpy", 0), ("torch", 1)):
        graph = graph_compiler.compile(
            smoothed, args=(np.arange(7.0) ** 2,), source="numpy", to=to, roll="scan"
        )
        assert loops(graph) == count, graph.source
        found, wanted = np.arange(9.0) ** 3, np.arange(9.0) ** 3
        graph(found)
        smoothed(wanted)
        np.testing.assert_allclose(found, wanted)


def test_a_view_that_is_written_to_in_the_middle_stays_apart() -> None:
    def aliased(u: Any) -> Any:
        made = []
        for t in range(6):
            u = u * 0.5
            part = u[:2]
            if t == 3:
                part += 1
            made.append(part)
        return np.stack(made), u

    for to in ("numpy", "jax"):
        graph = graph_compiler.compile(
            aliased, args=(np.ones(3, "float32"),), source="numpy", to=to, roll="scan"
        )
        x = np.arange(4, dtype="float32")
        for found, wanted in zip(graph(x), aliased(x), strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)


def test_checks_of_elements_stay() -> None:
    def checked(u: Any) -> Any:
        for _ in range(6):
            u = u * 2
            if u.max() > 1000:
                raise OverflowError("too large")
        return u

    graph = graph_compiler.compile(checked, args=(np.ones(3),), roll="scan", source="numpy", to="torch")
    np.testing.assert_allclose(graph(np.full(3, 2.0)), checked(np.full(3, 2.0)))
    with pytest.raises(OverflowError):
        graph(np.full(3, 100.0))


def test_lines_that_a_user_has_repeated_stay() -> None:
    def by_hand(u: Any) -> Any:
        u = np.sin(u)
        u = np.sin(u)
        u = np.sin(u)
        u = np.sin(u)
        return u  # noqa: RET504

    assert not loops(graph_compiler.compile(by_hand, args=(np.ones(3),), roll="scan"))


def test_fewer_rows_than_steps_are_refused_as_before() -> None:
    graph = compiled(EVERYWHERE["summed_rows"], "numpy", "numpy")
    u, xs = arguments((12, 5), "numpy")
    with pytest.raises(IndexError):
        graph(u, xs)


# ------------------------------------------------------------------------------------- the choice
def _steps(count: int) -> Any:
    def run(u: Any) -> Any:
        for _ in range(count):
            u = np.tanh(u) + 0.5 * u
        return u

    return run


@pytest.mark.parametrize(
    ("roll", "steps", "count"),
    [("auto", 3, 0), ("auto", 16, 1), ("never", 100, 0), ("scan", 3, 1), ("scan", 2, 0)],
)
def test_the_option_chooses(roll: str, steps: int, count: int) -> None:
    for to in ("numpy", "torch", "jax"):
        assert loops(graph_compiler.compile(_steps(steps), args=(np.ones(3),), to=to, roll=roll)) == count


@pytest.mark.parametrize(("to", "fewest"), [("numpy", 4), ("torch", 4), ("jax", 16)])
def test_short_loops_are_unrolled_where_a_loop_costs_more(to: str, fewest: int) -> None:
    found = [
        loops(graph_compiler.compile(_steps(count), args=(np.ones(3),), to=to))
        for count in (fewest - 1, fewest)
    ]
    assert found == [0, 1]


def test_another_choice_is_an_error() -> None:
    with pytest.raises(graph_compiler.errors.InvalidOption, match="'auto' or 'never' or 'scan'"):
        graph_compiler.compile(_steps(3), args=(np.ones(3),), roll="always")


def test_ten_thousand_lines_become_a_few() -> None:
    def stencil(u: Any, rate: float) -> Any:
        for _ in range(1000):
            u = u + rate * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return u

    graph = graph_compiler.compile(stencil, args=(np.arange(8.0), 0.1))
    assert len(graph.source.splitlines()) <= 20
    np.testing.assert_array_equal(graph(np.arange(9.0) ** 2, 0.1), stencil(np.arange(9.0) ** 2, 0.1))


def test_a_saved_loop_is_loaded() -> None:
    for source in ("numpy", "torch", "jax"):
        graph = compiled(EVERYWHERE["trajectory_and_last"], source, source)
        again = pickle.loads(pickle.dumps(graph))
        args = arguments(SHAPES[1], source)
        for one, other in zip(leaves(again(*args)).values(), leaves(graph(*args)).values(), strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def clusters(x: np.ndarray) -> Any:
    centers = x[:2].copy()
    for _ in range(10):
        nearest = ((x[:, None] - centers) ** 2).sum(-1).argmin(1)
        for j in range(2):
            chosen = nearest == j
            if chosen.any():
                centers[j] = x[chosen].mean(0)
    return centers, nearest


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_steps_with_branches_whose_last_one_returns_more_are_one_loop(to: str) -> None:
    pytest.importorskip(to)
    draw = np.random.default_rng(0)
    graph = graph_compiler.compile(clusters, args=(draw.normal(size=(9, 2)),), to=to)
    assert loops(graph) == 1 and count_all(graph.variants[0].graph.nodes) < 150
    for rows in (9, 14):
        x = draw.normal(size=(rows, 2))
        for found, expected in zip(graph(x), clusters(x)):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4)
