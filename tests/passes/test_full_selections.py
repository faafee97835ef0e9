"""Tests of masked reads and writes: under one mask, JAX and TensorFlow compute whole arrays and select with
``where``.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.ops import ArraySpec
from graph_compiler.passes import masked_scatter_to_where

from .graphs import after, canonical, computed, ops_of

TARGETS = ("jax", "tensorflow")
Program = Callable[..., Any]


def square(x: Any, y: Any, m: Any) -> Any:
    x[m] = x[m] ** 2 + y[m]
    return x


def in_place(x: Any, y: Any, m: Any) -> Any:
    x[m] += y[m] * 0.5
    x[m] /= y[m]
    return x


def steep(x: Any, y: Any, m: Any) -> Any:
    x[m] = np.log(x[m]) / y[m] + np.sqrt(x[m]) - y[m] ** 1.5
    return x


def of_both(x: Any, y: Any, m: Any) -> Any:
    near = (x > y) & m
    x[near] = np.maximum(y[near], x[near] * 2) - np.float32(1)
    x[~near] = y[~near] * x[~near]
    return x


def beside_columns(x: Any, y: Any, m: Any) -> Any:
    rows = m[:, 0]
    x[rows] = x[rows] * y[0] / y[1:2] + np.exp(y[0, 0])
    return x


def summed(x: Any, y: Any, m: Any) -> Any:
    part = x[m] * y[m]
    x[m] = part - 1
    return x, part.sum(), (part > 0.5).any(), np.prod(y[m])


def rows_summed(x: Any, y: Any, m: Any) -> Any:
    rows = m[:, 0]
    part = x[rows] / y[rows]
    x[rows] = part
    return x, part.sum(axis=0), part.sum()


def of_whole_numbers(x: Any, y: Any, m: Any) -> Any:
    k = (y * 4).astype(np.int32)
    some = k != 0
    n = (x * 100).astype(np.int32)
    n[some] = n[some] // k[some] + n[some] % k[some]
    return n


def of_types(x: Any, y: Any, m: Any) -> Any:
    x[m] = (x[m] * 10).astype(np.int32).astype(np.float32) + y[m]
    return x


def of_complex(x: Any, y: Any, m: Any) -> Any:
    z = x + 1j * y
    z[m] = z[m] ** 2 + z[m].conj() / (1 + z[m])
    return z


def steps(x: Any, y: Any, m: Any) -> Any:
    for _ in range(3):
        near = np.abs(x) < 1
        x[near] = x[near] ** 2 + y[near]
    return x


WHOLE: tuple[Program, ...] = (
    square, in_place, steep, of_both, beside_columns, summed, rows_summed, of_whole_numbers, of_types, of_complex, steps,
)  # fmt: skip


def two_masks(x: Any, y: Any, m: Any) -> Any:
    x[m] = x[m[:, ::-1]] * 2
    return x


def of_a_changed_mask(x: Any, y: Any, m: Any) -> Any:
    part = x[m]
    m[0] = ~m[0]
    m[0, :] = m[0, ::-1] == m[0]
    y[m] = y[m] + part.sum()
    return x, y


def mirrored(x: Any, y: Any, m: Any) -> Any:
    """Two masks that select equally many elements, but not the same ones."""
    other = m[::-1]
    part = x[m]
    x[other] = part * y[m]
    return x


def sorted_between(x: Any, y: Any, m: Any) -> Any:
    x[m] = np.sort(x[m]) + y[m]
    return x


def turned_between(x: Any, y: Any, m: Any) -> Any:
    x[m] = x[m][::-1] * 2
    return x


def given_too(x: Any, y: Any, m: Any) -> Any:
    part = x[m] * 2
    x[m] = part
    return x, part


def counted_too(x: Any, y: Any, m: Any) -> Any:
    part = x[m] - y[m]
    x[m] = part / len(part)
    return x, part.max()


def averaged(x: Any, y: Any, m: Any) -> Any:
    x[m] = x[m] - x[m].mean()
    return x


def beside_as_many(x: Any, y: Any, m: Any) -> Any:
    x[m] = x[m] * np.arange(m.sum(), dtype=np.float32)
    return x


def of_columns(x: Any, y: Any, m: Any) -> Any:
    columns = m[0]
    x[:, columns] = x[:, columns] * 2 + y[:, columns]
    return x


OTHERS: tuple[Program, ...] = (
    two_masks, of_a_changed_mask, mirrored, sorted_between, turned_between, given_too, counted_too, averaged, beside_as_many, of_columns,
)  # fmt: skip


def _arguments(rows: int, columns: int, seed: int) -> tuple[Any, ...]:
    draw = np.random.default_rng(seed)
    x, y = (draw.random((rows, columns), dtype=np.float32) + np.float32(0.2) for _ in range(2))
    m = draw.random((rows, columns)) < 0.5
    m[:, 0] = np.arange(rows) % 3 != 1
    return x, y, m


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item.copy() for item in arguments)


def _cases() -> list[tuple[Any, ...]]:
    x, y, m = _arguments(4, 6, 1)
    return [(x, y, m), _arguments(5, 3, 2), (x, y, np.zeros_like(m)), (x, y, np.ones_like(m))]


@functools.cache
def _graph(program: Program, to: str) -> Any:
    return graph_compiler.transpile(program, source="numpy", to=to, args=_arguments(4, 6, 0))


def _check(program: Program, to: str) -> Any:
    pytest.importorskip(to)
    return _compare(program, _graph(program, to))


def _compare(program: Program, graph: Any) -> Any:
    source = graph.source
    for arguments in _cases():
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                # NumPy warns of the mean of no elements.
                warnings.simplefilter("ignore", RuntimeWarning)
                wanted = program(*_copied(arguments))
        except ValueError:
            # The sizes differ, or there is no largest of no elements.
            continue
        found = graph(*_copied(arguments))
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for one, other in pairs:
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-4, atol=1e-5)
            assert np.asarray(one).dtype == other.dtype
    return source


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_selections_are_whole_arrays(program: Program, to: str) -> None:
    source = _check(program, to)
    assert not any(word in source for word in ("masked_scatter(", "argwhere", "boolean_mask")), source


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_few_elements_may_be_selected_while_recording(program: Program, count: int) -> None:
    """A selection of one element is not taken for a value that is broadcast."""
    pytest.importorskip("jax")
    x, y, _ = _arguments(4, 6, 0)
    x, m = x + 2, np.zeros(x.shape, np.bool_)
    x[0, :count], m[0, :count] = 0.01, True
    graph = graph_compiler.transpile(program, source="numpy", to="jax", args=(x, y, m))
    source = _compare(program, graph)
    assert len(graph.variants) == 1, graph.explain()
    assert not any(word in source for word in ("masked_scatter(", "argwhere", "boolean_mask")), source


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("program", OTHERS, ids=lambda program: program.__name__)
def test_what_only_looks_like_it_is_right(program: Program, to: str) -> None:
    _check(program, to)


def moving(x: Any, y: Any, n: int) -> Any:
    """The number of selected points decreases from iteration to iteration, as for the Mandelbrot set."""
    z = x + 1j * y
    c = z.copy()
    counts = np.zeros(z.shape, dtype=np.int32)
    for i in range(n):
        near = np.abs(z) < 2
        counts[near] = i
        z[near] = z[near] ** 2 + c[near]
    return counts


def ordered(x: Any, y: Any, n: int) -> Any:
    h = np.zeros_like(x)
    for _ in range(n):
        near = h + x < 2
        h[near] = np.sort(h[near]) + y[near]
    return h


def stopped(x: Any, y: Any, n: int) -> Any:
    """The trip count depends on the number of selected elements."""
    h = np.zeros_like(x)
    for _ in range(n):
        near = h + x < 2
        if len(x[near]) < 3:
            break
        h[near] += y[near]
    return h


def over_rows(x: Any, y: Any, n: int) -> Any:
    h = np.zeros_like(x[0])
    for row in x * n:
        near = h + row < 3
        h[near] = np.sort(h[near]) + row[near]
    return h


@pytest.mark.parametrize("to", ["numpy", *TARGETS])
@pytest.mark.parametrize(
    ("program", "is_loop"), [(moving, True), (ordered, False), (stopped, False), (over_rows, False)]
)
def test_loops_in_which_fewer_are_selected(program: Program, is_loop: bool, to: str) -> None:
    pytest.importorskip(to)
    x, y, _ = _arguments(4, 6, 0)
    graph = graph_compiler.transpile(program, source="numpy", to=to, args=(x, y, 4))
    for number, (x, y, _) in zip((4, 7, 2), (_arguments(4, 6, 1), _arguments(5, 3, 2), _arguments(2, 2, 3))):
        np.testing.assert_allclose(
            np.asarray(graph(x.copy(), y.copy(), number)), program(x, y, number), rtol=1e-4
        )
    assert len(graph.variants) == 1 or not is_loop, graph.explain()


@pytest.mark.parametrize("program", [square, moving], ids=lambda program: program.__name__)
def test_selections_by_one_mask_are_of_one_size(program: Program) -> None:
    """No guard on their sizes is needed."""
    pytest.importorskip("jax")
    arguments = _arguments(5, 4, 0) if program is square else (*_arguments(5, 4, 0)[:2], 3)
    graph = graph_compiler.transpile(program, source="numpy", to="jax", args=arguments)
    assert len(graph.program.guards) == len(list(graph.program.entry_guards())), graph.source


def loss(x: Any, y: Any, s: Any, m: Any) -> Any:
    z = x.copy()
    z[m] = np.log(z[m]) * s / y[m] + np.sqrt(z[m]) + z[m] ** y[m] + np.exp(z[m]) * y[m]
    z[m] = 1 / z[m] + np.tanh(z[m]) * np.arctan2(y[m], x[m])
    return np.where(m, z, 0).sum() + (z[m] * y[m]).sum()


@pytest.fixture(scope="module")
def of_loss() -> Any:
    jax = pytest.importorskip("jax")
    x, y, m = _arguments(3, 4, 3)
    arguments = x.astype(np.float64), y.astype(np.float64), np.array(1.3)
    with jax.enable_x64(True):
        graph = graph_compiler.transpile(loss, source="numpy", to="jax", args=(*arguments, m))
        function = jax.jit(jax.value_and_grad(graph, argnums=(0, 1, 2)))
        yield function, arguments, m


def _differences(x: Any, y: Any, s: Any, m: Any) -> list[Any]:
    found = []
    for place in range(3):
        gradient = np.zeros_like((x, y, s)[place])
        for at in np.ndindex(gradient.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [np.array(item) for item in (x, y, s)]
                moved[place][at] += step
                values.append(loss(moved[0], moved[1], moved[2], m))
            gradient[at] = (values[0] - values[1]) / 2e-6
        found.append(gradient)
    return found


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf, 0.0, -1.0])
def test_what_is_not_selected_does_no_harm(of_loss: Any, hole: float) -> None:
    """NaN in elements that the mask leaves out must not reach results or gradients."""
    function, (x, y, s), m = of_loss
    value, gradients = function(np.where(m, x, hole), np.where(m, y, hole), s, m)
    np.testing.assert_allclose(value, loss(x, y, s, m), rtol=1e-12)
    for found, wanted in zip(gradients, _differences(x, y, s, m), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    assert not np.asarray(gradients[0])[~m].any()
    assert not np.asarray(gradients[1])[~m].any()


@pytest.mark.parametrize("scale", [1.3, np.inf, 0.0])
def test_where_nothing_is_selected_gradients_are_0(of_loss: Any, scale: float) -> None:
    function, (x, y, _), m = of_loss
    value, gradients = function(x, y, np.array(scale), np.zeros_like(m))
    assert value == 0
    assert not any(np.asarray(gradient).any() for gradient in gradients)


def test_a_selection_of_a_vector_is_written_to_a_column() -> None:
    """It has fewer axes than the column, so it stays."""

    def column(b: Any, x: Any, y: Any, m: Any) -> Any:
        return b.masked_scatter(x, b.reshape(m, shape=(m.shape[0], 1)), b.boolean_mask(y, m, hint=2))

    specs = ArraySpec((4, 1), "float32"), ArraySpec((4,), "float32"), ArraySpec((4,), "bool")
    graph = after(masked_scatter_to_where, canonical(column, *specs))
    assert "masked_scatter" in ops_of(graph)
    x, y, m = np.zeros((5, 1), np.float32), np.arange(5, dtype=np.float32), np.arange(5) > 2
    np.testing.assert_array_equal(computed(graph, x, y, m)[0], [[0], [0], [0], [3], [4]])
