"""Tests of NumPy as a source: programs at other sizes, guards, state, writes, files, and errors."""

from __future__ import annotations

import copy
import functools
import math
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import torch
from numpy import zeros as zeros_by_name
from numpy.lib.stride_tricks import as_strided

import graph_compiler
from graph_compiler.errors import (
    CallMismatch,
    GuardFailed,
    InvalidFile,
    NotTraced,
    SourceNotFound,
    TracingError,
    UnsupportedOperation,
)
from graph_compiler.ir import Graph, Node, Origin
from tests.support.compare import assert_same
from tests.support.selection import pairs

from .arrays import made
from .programs import PROGRAMS
from .test_samples import TARGETS, graph_for

X = np.arange(12.0).reshape(3, 4) - 5
FACTOR = np.array([1.0, 2.0, 3.0, 4.0])
PAIR = (FACTOR, FACTOR + 1)


@pytest.mark.parametrize(("name", "target"), pairs(PROGRAMS, TARGETS))
def test_program(name: str, target: str) -> None:
    program = PROGRAMS[name]
    graph = graph_for(program.function, target)
    for seed, arrays in enumerate((program.arrays, program.others, program.arrays)):
        assert_same(graph(*made(arrays, seed)), program.function(*made(arrays, seed)))
    assert len(graph.variants) == 1, graph.explain()


# ---------------------------------------------------------------------------------------------- guards
def branching(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else -x


def loops_to_an_element(x: Any) -> Any:
    total = 0.0
    for place in range(int(x[0, 0])):
        total = total + x[0, place]
    return total


def uses_a_float(x: Any) -> Any:
    return x * float(x.max())


def element_or_last(x: Any) -> Any:
    try:
        return x[x[0].astype(int)]
    except IndexError:
        return x[-1]


GUARDED: list[tuple[Callable[..., Any], list[Any]]] = [
    (branching, [X, -X, X + 1]),
    (lambda x: x.any() and x.sum() or x.max(), [X, X * 0, X + 1]),
    (loops_to_an_element, [np.full((2, 4), 2.0), np.full((3, 4), 3.0)]),
    (uses_a_float, [np.ones((2, 2)), np.full((3, 2), 2.0)]),
    (lambda x: x[: int((x > 0).sum())], [np.array([1.0, -1.0, 2.0]), np.array([1.0, 1.0, 2.0, -3.0])]),
    (lambda x: x + 1 if x.shape[0] > 3 else x - 1, [X, np.ones((5, 2)), np.ones((2, 2))]),
    (lambda x: f"{x.sum():.1f}", [np.ones(2), np.ones(3)]),
    (lambda x: np.allclose(x, 1.0), [np.ones(2), np.zeros(3), np.ones(4)]),
    (lambda x: [row.sum() for row in x], [X, np.ones((2, 3))]),
    (lambda x: max(x[0, 0], x[0, 1]), [X, X[:, ::-1].copy()]),
    (lambda x: 1.0 in x, [X, np.ones(3)]),
    (lambda x: x.argmax().item(), [X, -X]),
    (
        element_or_last,
        [np.array([1.0, 7.0]), np.array([2.0, 5.0, 6.0]), np.array([5.0, 6.0]), np.array([-2.0, 3.0])],
    ),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", range(len(GUARDED)))
def test_guards(case: int, target: str) -> None:
    function, arguments = GUARDED[case]
    graph = graph_for(function, target)
    for argument in arguments:
        assert_same(graph(argument.copy()), function(argument.copy()))


def test_guard_on_a_condition_serves_all_that_meet_it() -> None:
    graph = graph_compiler.compile(branching, source="numpy", args=(X,))
    for argument in (X, X + 1, np.ones((7, 2)), -X):
        assert_same(graph(argument), branching(argument))
    assert len(graph.variants) == 2


# ---------------------------------------------------------------------------------------------- signatures
def test_other_dtypes_are_other_variants() -> None:
    graph = graph_compiler.compile(lambda x: np.tanh(x) + 1, source="numpy")
    for dtype in ("float32", "float64", "int64", "float32"):
        assert graph(X.astype(dtype)).dtype == np.tanh(X.astype(dtype)).dtype
    assert len(graph.variants) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_scalars_of_numpy_are_arrays(target: str) -> None:
    def scaled(x: Any, by: Any) -> Any:
        before = by
        by += 1
        return x * by, before

    graph = graph_for(scaled, target)
    for by in (np.float32(2), np.float32(3)):
        assert_same(graph(X.astype("f"), by), tuple(map(np.asarray, scaled(X.astype("f"), by))))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "uint64"])
def test_an_index_of_any_type_of_whole_numbers(dtype: str) -> None:
    """Few of these dtypes can represent the length of the axis, and unsigned ones no negative index."""
    pytest.importorskip("jax")
    table = np.arange(300.0)
    graph = graph_compiler.compile(
        lambda table, index: table[index[1]], source="numpy", to="jax", args=(table, np.array([1, 2], dtype))
    )
    assert graph(table, np.array([5, 7], dtype)) == 7


def test_one_array_in_two_places() -> None:
    def both(x: Any, y: Any) -> Any:
        x += 1
        return x + y

    graph = graph_compiler.compile(both, source="numpy")
    for shared in (True, False, True):
        x, mine = X.copy(), X.copy()
        assert_same(graph(mine, mine if shared else X.copy()), both(x, x if shared else X.copy()))
        assert_same(mine, x)


def test_kinds_of_arguments() -> None:
    def function(pair: Any, *, options: Any) -> Any:
        return {"sum": pair[0] + pair[1] * options["by"]}

    graph = graph_compiler.compile(function, source="numpy")
    assert_same(graph((X, X), options={"by": 2}), function((X, X), options={"by": 2}))
    assert_same(graph((X, X), options={"by": 3}), function((X, X), options={"by": 3}))


def test_source_is_told_by_the_arguments() -> None:
    graph = graph_compiler.compile(lambda x: (x + 1).sum(), args=(X,))
    assert isinstance(graph(X), np.float64)
    assert graph._pipeline.frontend.name == "numpy"


def test_lazy_graph_settles_at_the_first_call() -> None:
    graph = graph_compiler.compile(lambda x: x * 2)
    assert isinstance(graph(X), np.ndarray)
    assert isinstance(graph_compiler.compile(lambda x: x * 2)(torch.ones(2)), torch.Tensor)


def test_flat_source_is_numpy_as_a_person_writes_it() -> None:
    graph = graph_compiler.compile(
        lambda x, w: np.maximum(x @ w + 1, 0).sum(axis=-1)[:, None], source="numpy", args=(X, X.T.copy())
    )
    assert "np.maximum(x @ w + 1, 0)" in graph.source
    assert "[:, None]" in graph.source


# -------------------------------------------------------------------------------------- what a function keeps
def adds_to_a_part(x: Any, y: Any) -> Any:
    x[1:] += y
    x[:, :2] *= x[:, 1:]
    x[[0, 1]] += 1.0
    part = x[1:]
    x[1:] = part
    x[:-1] = part
    return x


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_a_view_is_not_assigned_to_its_own_place(target: str) -> None:
    pytest.importorskip(target)
    graph = graph_compiler.compile(adds_to_a_part, source="numpy", to=target)
    for rows in (4, 6):
        x, y = np.random.default_rng(rows).random((2, rows, 3))
        other = x.copy()
        result, wanted = graph(x, y[1:]), adds_to_a_part(other, y[1:])
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-5)
        np.testing.assert_allclose(x, other, rtol=1e-5)
    calls = [line for line in graph.source.splitlines() if "] = " in line]
    assert target != "numpy" or len(calls) == 2, graph.source


class Layer:
    def __init__(self) -> None:
        self.weight = np.ones((4, 2), np.float32)
        self.more = {"bias": [np.zeros(2, np.float32)]}
        self.mean = np.zeros(4, np.float32)

    def __call__(self, x: Any) -> Any:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(axis=0)
        return (x - self.mean) @ self.weight + self.more["bias"][0]


class InPlace(Layer):
    def __call__(self, x: Any) -> Any:
        self.mean *= np.float32(0.9)
        self.mean += x.mean(axis=0)
        return x - self.mean


class Adam:
    def __init__(self) -> None:
        self.first, self.second, self.weights = np.zeros(3), np.zeros(3), np.ones(3)
        self.steps, self.rate = 0, 0.1

    def step(self, gradient: Any) -> Any:
        self.steps += 1
        self.rate *= 0.9
        self.first[:] = 0.9 * self.first + 0.1 * gradient
        self.second[:] = 0.999 * self.second + 0.001 * gradient**2
        change = (self.first / (1 - 0.9**self.steps)) / (
            np.sqrt(self.second / (1 - 0.999**self.steps)) + 1e-8
        )
        self.weights -= self.rate * change
        return self.weights.copy(), self.steps


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_of_an_object(target: str) -> None:
    original, compiled = Adam(), Adam()
    graph = graph_for(compiled.step, target)
    for number in range(4):
        gradient = np.array([1.0, -2.0, 0.5]) * (number + 1)
        (found, steps), (wanted, count) = graph(gradient), original.step(gradient)
        assert_same(found, wanted)
        assert steps == count == number + 1
    assert len(graph.variants) == 1, graph.explain()
    assert graph.state["steps"] == 4
    assert compiled.steps == 4
    # The state is NumPy's, whatever framework the graph ran in.
    for name, held in vars(original).items():
        assert type(getattr(compiled, name)) is type(held)
        np.testing.assert_allclose(getattr(compiled, name), held, rtol=1e-5)


class CountsInItsClass:
    total = np.zeros(1)
    calls = 0

    def __call__(self, x: Any) -> Any:
        CountsInItsClass.calls += 1
        CountsInItsClass.total += 1
        return x * CountsInItsClass.calls, x * CountsInItsClass.total


def test_state_of_a_class() -> None:
    graph = graph_compiler.compile(CountsInItsClass(), source="numpy")
    for number in (1.0, 2.0, 3.0):
        assert_same(graph(np.ones(1)), (np.full(1, number), np.full(1, number)))
    assert CountsInItsClass.calls == 3
    assert len(graph.variants) == 1


TURNS, TOTAL = 0, np.zeros(2)


def turn() -> int:
    global TURNS
    TURNS += 1
    return TURNS


def counts_in_globals(x: Any) -> Any:
    """Two functions change the same global number, and one of them replaces a global array."""
    global TURNS, TOTAL
    TURNS = turn() + 2
    TOTAL = TOTAL + x
    return TOTAL * TURNS


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_state_in_globals(target: str) -> None:
    global TURNS, TOTAL
    TURNS, TOTAL = 0, np.zeros(2)
    graph = graph_for(counts_in_globals, target)
    assert [float(graph(np.ones(2))[0]) for _ in range(3)] == [3.0, 12.0, 27.0]
    assert TURNS == 9 and type(TURNS) is int and TOTAL.tolist() == [3.0, 3.0]
    assert len(graph.variants) == 1, graph.explain()


def test_a_number_that_decides() -> None:
    calls = {"count": 0}

    def alternating(x: Any) -> Any:
        calls["count"] += 1
        return x if calls["count"] % 2 else -x

    graph = graph_compiler.compile(alternating, source="numpy")
    assert [float(graph(np.ones(1))[0]) for _ in range(4)] == [1.0, -1.0, 1.0, -1.0]
    assert calls == {"count": 4}
    assert len(graph.variants) == 2


@pytest.mark.parametrize("cls", [Layer, InPlace])
@pytest.mark.parametrize("target", TARGETS)
def test_state_of_an_object(cls: Any, target: str) -> None:
    original, compiled = cls(), cls()
    graph = graph_for(compiled, target)
    for number in range(3):
        x = X.astype(np.float32) * number
        assert_same(graph(x), original(x))
    assert len(graph.variants) == 1
    assert_same(np.asarray(graph.state["mean"]), original.mean)
    if target == "numpy":
        assert_same(compiled.mean, original.mean)


class Tallied:
    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0


def tally(held: Tallied, x: Any) -> Any:
    held.total, held.count = held.total + x.sum(), held.count + 1
    return x * held.count


def test_each_call_has_an_object_with_slots_of_its_own() -> None:
    graph = graph_compiler.compile(tally, source="numpy", args=(Tallied(), np.ones(3)))
    for number in (1.0, 2.0, 3.0):
        held = Tallied()
        assert_same(graph(held, np.full(3, number)), np.full(3, number))
        assert (held.total, held.count) == (3 * number, 1)


def test_weights_are_read_at_each_call() -> None:
    layer = Layer()
    graph = graph_compiler.compile(layer, source="numpy", args=(X.astype("f"),))
    assert sorted(graph.parameters) == ["mean", "more.bias.0", "weight"]
    layer.weight = layer.weight * 2
    layer.more["bias"][0] += 1
    again = Layer()
    again.weight, again.more, again.mean = layer.weight, layer.more, layer.mean
    assert_same(graph(X.astype("f")), again(X.astype("f")))
    assert len(graph.variants) == 1


def test_weight_of_another_shape_is_recorded_again() -> None:
    layer = Layer()
    graph = graph_compiler.compile(layer, source="numpy", args=(X.astype("f"),))
    layer.weight, layer.more["bias"][0] = np.ones((4, 3), np.float32), np.ones(3, np.float32)
    assert graph(X.astype("f")).shape == (3, 3)
    assert len(graph.variants) == 2


@pytest.mark.parametrize("target", TARGETS)
def test_captured_arrays(target: str) -> None:
    own = np.arange(4.0)

    def function(x: Any, k: Any) -> Any:
        return x * FACTOR + PAIR[1] + own[k], FACTOR[x.argmax(axis=1)]

    graph = graph_for(function, target)
    k = np.array([3, 0, 1, 2])
    assert_same(graph(X, k), function(X, k))
    own[0] = 9.0
    if target == "numpy":
        assert_same(graph(X, k), function(X, k))


def test_recording_leaves_arrays_as_they_were() -> None:
    table = np.ones(3)

    def function(x: Any) -> Any:
        table[0] += x[0]
        x[1] = 7
        return x * table

    x = np.arange(3.0)
    graph = graph_compiler.compile(function, source="numpy", args=(x,))
    assert_same(table, np.ones(3))
    assert_same(x, np.arange(3.0))
    assert_same(graph(x), np.array([0.0, 7.0, 2.0]))
    assert_same((x, table), (np.array([0.0, 7.0, 2.0]), np.ones(3)))


def test_recording_puts_back_what_a_failing_function_wrote() -> None:
    def function(x: Any) -> Any:
        x[0] = 9
        raise ValueError("mine")

    x = np.zeros(3)
    with pytest.raises(ValueError, match="mine"):
        graph_compiler.compile(function, source="numpy", args=(x,))
    assert_same(x, np.zeros(3))


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_what_a_call_has_written_before_an_exception_stays(target: str) -> None:
    def failing(x: Any) -> Any:
        x += 1
        # ``out`` has one row, so it fits only arrays with one row.
        np.multiply(x, 2, out=x[:1])
        return x

    graph = graph_compiler.compile(failing, to=target)
    one, two = np.ones((1, 3)), np.ones((2, 3))
    graph(one)
    with pytest.raises(ValueError, match="broadcast"):
        graph(two)
    assert one.tolist() == [[4] * 3] and two.tolist() == [[2] * 3] * 2


@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
def test_arguments_are_written_to(target: str) -> None:
    def function(x: Any, y: Any) -> Any:
        x[1:] += y
        x.T[0] = 0
        y.sort()

    graph = graph_for(function, target)
    mine, other = [X.copy(), FACTOR[::-1].copy()], [X.copy(), FACTOR[::-1].copy()]
    graph(*mine)
    function(*other)
    assert_same(mine, other)


def _writes(x: Any) -> Any:
    x[0] = 1.0
    return x * 2


def _sorts_in_a_branch(x: Any) -> Any:
    if x[0, 0] < 0:
        x.sort()
    return x * 2


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "tensorflow"])
@pytest.mark.parametrize(("function", "line"), [(_writes, 1), (_sorts_in_a_branch, 2)])
def test_arrays_of_other_frameworks_that_cannot_be_written_to(function: Any, line: int, target: str) -> None:
    place = rf"test_source\.py:{function.__code__.co_firstlineno + line}: .*a (tf\.Tensor|jax\.Array) cannot be written to"
    for constant in (pytest.importorskip("tensorflow").constant, pytest.importorskip("jax.numpy").asarray):
        for recorded in (X.astype("float32"), constant(X.astype("float32"))):
            graph = graph_compiler.compile(function, to=target, args=(recorded,), source="numpy")
            for given in (constant(X.astype("float32")), constant(X[:2, 1:].astype("float32"))):
                with pytest.raises(GuardFailed, match=place):
                    graph(given)


def _writes_to_an_item(items: Any) -> Any:
    items[0][0] = 7
    return items[0].sum()


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "tensorflow"])
@pytest.mark.parametrize("is_item", [False, True], ids=["an argument", "an item"])
def test_an_array_that_is_read_only_is_refused(is_item: bool, target: str) -> None:
    function, given = _writes_to_an_item if is_item else _writes, X.astype("float32")
    given.flags.writeable = False
    items = [given] if is_item else given
    graph = graph_compiler.compile(function, to=target, args=(copy.deepcopy(items),), source="numpy")
    # NumPy raises its own error at the line itself.
    place = "" if target == "numpy" else rf"test_source\.py:{function.__code__.co_firstlineno + 1}: .*"
    with pytest.raises(ValueError, match=f"{place}read-only"):
        graph(items)
    assert not is_item or items[0] is given
    with pytest.raises(ValueError, match="read-only"):
        graph_compiler.compile(function, to=target, args=(items,), source="numpy")


def test_containers_of_the_caller_change() -> None:
    def function(history: Any, x: Any) -> Any:
        history.append(x.sum())
        return len(history)

    graph, mine, other = graph_compiler.compile(function, source="numpy"), [], []
    for number in range(2):
        assert graph(mine, X * number) == function(other, X * number)
    assert_same(mine, other)


def accumulates_in_a_default(x: Any, total: Any = np.zeros(2)) -> Any:  # noqa: B008
    total += x
    return total.copy()


def test_default_arguments_are_kept() -> None:
    graph = graph_compiler.compile(accumulates_in_a_default, source="numpy")
    assert_same([graph(np.ones(2)), graph(np.ones(2))], [np.ones(2), np.full(2, 2.0)])
    assert_same(accumulates_in_a_default(np.ones(2)), np.full(2, 3.0))
    assert len(graph.variants) == 1


@functools.lru_cache
def frequencies(count: int) -> Any:
    return np.arange(count) * 0.5


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_caches_of_functions_hold_nothing_of_a_recording(target: str) -> None:
    graph = graph_for(lambda x: x * frequencies(x.shape[0]), target)
    for size in (3, 4):
        assert_same(graph(np.ones(size)), np.arange(size) * 0.5)
    assert type(frequencies(3)) is np.ndarray
    assert len(graph.variants) == 1


def loaded_and_multiplied(x: Any, factor: float) -> Any:
    scale = pickle.loads(FILES[factor])
    return x * scale


FILES = {factor: pickle.dumps(np.full(2, factor)) for factor in (2.0, 3.0, 5.0)}


def test_constants_of_one_name() -> None:
    def function(x: Any) -> Any:
        scale_2 = pickle.loads(FILES[3.0])
        return [loaded_and_multiplied(x, 2.0), x * scale_2, loaded_and_multiplied(x, 5.0)]

    assert_same(graph_for(function, "numpy")(np.ones(2)), function(np.ones(2)))


def test_constants_that_are_kept_belong_to_the_user() -> None:
    class Resets:
        def __init__(self) -> None:
            self.table = np.ones(2)

        def __call__(self, x: Any) -> Any:
            self.table = np.zeros(2)
            return x + self.table

    kept = Resets()
    graph = graph_compiler.compile(kept, source="numpy")
    assert_same(graph(np.ones(2)), np.ones(2))
    kept.table += 5
    assert_same(graph(np.ones(2)), np.ones(2))


def writes_to_a_copy_or_not(x: Any) -> Any:
    y = x + 1
    y.reshape(-1)[0] = 5
    return y


def writes_to_its_argument_or_not(x: Any) -> Any:
    y = np.ascontiguousarray(x)
    y[0] = 5
    return y


@pytest.mark.parametrize("function", [writes_to_a_copy_or_not, writes_to_its_argument_or_not])
@pytest.mark.parametrize("target", ["numpy", "canonical", "torch"])
def test_the_order_in_memory_decides(function: Any, target: str) -> None:
    graph = graph_for(function, target)
    for x in (np.ones((2, 3)), np.ones((3, 2)).T, np.ones((4, 3))):
        mine, theirs = x.copy(order="K"), x.copy(order="K")
        assert_same(graph(mine), function(theirs))
        assert_same(mine, theirs)


# --------------------------------------------------------------------------------------- numbers at the edges
NAN = np.array([3.0, np.nan, 1.0, np.nan, -np.inf, np.inf])
EDGES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "order of NaN": (
        lambda x: (np.sort(x), np.argsort(x), x.argmax(), x.max(), np.fmax(x, 0), np.maximum(x, 0)),
        [NAN],
    ),
    "unique NaN": (lambda x: (np.unique(x), np.unique(x, return_inverse=True, return_counts=True)), [NAN]),
    "union with NaN": (lambda x: np.union1d(x, x), [NAN]),
    "sign of NaN": (lambda x: (np.sign(x), np.clip(x, 0, 1), np.median(x[:4])), [NAN]),
    "whole numbers by zero": (
        lambda x, y: (x // y, x % y, np.fmod(x, y), *np.divmod(x, y)),
        [np.array([1, -2, 3]), np.array([0, 3, -2])],
    ),
    "floats by zero": (
        lambda x, y: (x // y, x % y, x / y),
        [np.array([1.0, -2.0, 0.0]), np.array([0.0, 3.0, -0.0])],
    ),
    "wrapping": (
        lambda x: (x + x, x * x, x - x * 2, x.sum(), x**2, np.cumsum(x)),
        [np.array([200, 100, 3], np.uint8)],
    ),
    "the least int8": (lambda x: (abs(x), -x, np.square(x), x.sum()), [np.array([-128, 100, 3], np.int8)]),
    "halves": (lambda x: (np.round(x), np.rint(x), x.round(1)), [np.array([0.5, 1.5, 2.5, -0.5, 0.25])]),
    "no elements": (
        lambda x: (x.sum(), x.prod(), x.any(), x + 1, np.concatenate([x, x]), np.sort(x)),
        [np.zeros((0, 3))],
    ),
    "no axes": (lambda x: (x + 1, x.sum(), x.reshape(-1), x[()], x[None], x[...]), [np.array(3.0)]),
    "in place without axes": (lambda x: (x.__iadd__(1), x * 2), [np.array(3.0)]),
    "truth values": (
        lambda x: (x @ x, x.sum(), x.mean(), x.prod(), np.cumsum(x)),
        [np.array([[True, False], [True, True]])],
    ),
    "half precision": (
        lambda x: (x + x, x.sum(), x.mean(), np.exp(x), x @ x),
        [np.array([1, 2, 3], np.float16)],
    ),
    "complex numbers": (
        lambda x: (x * x, x.sum(), abs(x), x.conj(), x.mean(), x.var(), x.prod()),
        [np.array([1 + 2j, 2 - 1j, 3])],
    ),
    "integrals of uint8": (np.trapezoid, [np.array([200, 100, 3], np.uint8)]),
    "einsum of uint8": (
        lambda x: (np.einsum("ij->j", x), np.einsum("ij,kj->ik", x, x)),
        [np.array([[200, 100, 3]], np.uint8)],
    ),
    "promotion": (
        lambda x, y: (
            np.where(x > 0, x, y),
            np.concatenate([x, y]),
            x + y,
            x * 1.5,
            np.append(x, 1.0),
            np.dot(x, 2.0),
        ),
        [np.array([1, 2], np.uint8), np.array([1, -2], np.int8)],
    ),
    "casts of writes": (
        lambda x: (x.__setitem__(0, 2.9), x.__setitem__(1, True), x)[-1],
        [np.array([1, 2, 3])],
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_edges(name: str, target: str) -> None:
    function, arrays = EDGES[name]
    assert_same(
        graph_for(function, target)(*(array.copy() for array in arrays)),
        function(*(array.copy() for array in arrays)),
    )


# ------------------------------------------------------------------------------------------ names and modules
def test_functions_imported_by_name() -> None:
    def function(x: Any) -> Any:
        out = zeros_by_name((x.shape[0], 2))
        out[:, 0] = x.sum(axis=1)
        return out

    graph = graph_compiler.compile(function, source="numpy")
    for size in (2, 5):
        assert_same(graph(np.ones((size, 3))), function(np.ones((size, 3))))
    assert len(graph.variants) == 1
    assert np.zeros(2).dtype == zeros_by_name(2).dtype


def test_functions_of_scipy_that_are_ufuncs() -> None:
    def function(x: Any) -> Any:
        return scipy.special.erf(x), scipy.special.expit(x.astype(np.float32)), math.sqrt(x.shape[0]) * x

    for target in TARGETS:
        graph = graph_for(function, target)
        for size in (3, 5):
            assert_same(graph(np.linspace(-2, 2, size)), function(np.linspace(-2, 2, size)))
        assert len(graph.variants) == 1


def test_saved_calls_of_scipy(tmp_path: Path) -> None:
    def function(a: Any) -> Any:
        solution = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), a[0])
        return scipy.linalg.inv(a), solution, scipy.linalg.norm(a) * a

    a = np.eye(3) + np.arange(9.0).reshape(3, 3) / 10
    graph = graph_compiler.compile(function, source="numpy", args=(a,))
    assert "import scipy\n" in graph.source
    assert "scipy.linalg.norm(a) * a" in graph.source
    graph.save(tmp_path / "graph.zip")
    assert_same(graph_compiler.load(tmp_path / "graph.zip")(a), function(a))


def test_settings_of_floating_point_errors_are_kept() -> None:
    def function(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(x)

    graph = graph_compiler.compile(function, source="numpy", args=(np.ones(2),))
    assert_same(graph(np.zeros(2)), np.full(2, -np.inf))


# -------------------------------------------------------------------------------------- the runtime around it
def test_save_and_load(tmp_path: Any) -> None:
    layer = Layer()
    x = X.astype("f")
    for target in ("numpy", "jax"):
        graph = graph_compiler.compile(
            lambda y: np.tanh(y @ layer.weight).sum(axis=0) + y.shape[0], source="numpy", to=target, args=(x,)
        )
        graph.save(tmp_path / f"{target}.zip")
        again = graph_compiler.load(tmp_path / f"{target}.zip")
        assert_same(np.asarray(again(x[:2])), np.asarray(graph(x[:2])))
    other = graph_compiler.load(tmp_path / "numpy.zip")
    assert other.source.count("np.tanh") == 1
    with pytest.raises(GuardFailed):
        other(x.astype("d"))


HOSTILE = [
    "numpy.ctypeslib.load_library", "numpy.random.set_state", "numpy.save", "numpy.fromfile", "numpy.load", "numpy.ndarray.tofile",
    "numpy.ndarray.dump", "numpy.f2py.run_main", "numpy.lib.format.open_memmap", "numpy.apply_along_axis", "numpy.frompyfunc",
    "numpy.ndarray.__reduce__", "os.system", "numpy.exec", "scipy.special.test", "numpy.testing.rundocs", "numpy.add.__reduce__",
    "numpy.linalg.linalg", "numpy.dtype", "numpy.random.bytes",
]  # fmt: skip


@pytest.mark.parametrize("op", HOSTILE)
def test_calls_that_no_saved_graph_may_hold(op: str) -> None:
    from graph_compiler.frontends.numpy import files

    node = Node(op, (1, 2, 3), {}, Origin())
    with pytest.raises(InvalidFile):
        files.check(Graph("f", "numpy", nodes=[node]))


@pytest.mark.parametrize("name", ["number", "integer", "generic", "flexible", "sum", "nothing"])
def test_dtypes_that_no_saved_graph_may_hold(name: str) -> None:
    from graph_compiler.frontends.numpy import files

    with pytest.raises(InvalidFile):
        files.read(f'np.dtype("{name}")')


def test_calls_that_a_saved_graph_may_hold() -> None:
    from graph_compiler.frontends.numpy import files

    ops = ("numpy.add", "numpy.add.reduce", "numpy.linalg.norm", "numpy.zeros", "numpy.array", "numpy.where", "numpy.ndarray.sum", "numpy.fft.fftfreq",
           "numpy.ndarray.__getitem__", "numpy.ndarray.T.__get__", "numpy.lib.stride_tricks.sliding_window_view", "scipy.special.erf",
           "numpy.lib.stride_tricks.as_strided")  # fmt: skip
    files.check(Graph("f", "numpy", nodes=[Node(op, (1, 2, 3), {}, Origin()) for op in ops]))


def test_verify_and_rewrite() -> None:
    def function(x: Any) -> Any:
        x = x.copy()
        x[x < 0] = 0
        return np.cumsum(x, axis=0) / x.shape[0]

    graph = graph_compiler.transpile(function, source="numpy", to="torch", args=(X,), verify=True)
    assert graph.verify().runs > 2
    assert isinstance(graph.to("jax")(X), type(graph_compiler.compile(function, source="numpy", to="jax")(X)))
    assert graph_compiler.compile(function, source="numpy", args=(X,), verify=True).verify().runs > 2


@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
def test_verify_leaves_state_alone(target: str) -> None:
    optimiser = Adam()
    graph = graph_compiler.transpile(optimiser.step, source="numpy", to=target, args=(np.ones(3),))
    assert graph.verify().runs > 2
    assert optimiser.steps == 0
    assert_same(optimiser.weights, np.ones(3))


def test_frozen_weights() -> None:
    layer = Layer()
    graph = graph_compiler.compile(
        lambda x: x @ layer.weight, source="numpy", args=(X.astype("f"),), freeze=True
    )
    assert not graph.parameters
    assert_same(graph(X.astype("f")), X.astype("f") @ layer.weight)


def test_numpy_has_no_training_mode() -> None:
    with pytest.raises(NotTraced, match="written in numpy"):
        graph_compiler.compile(lambda x: x + 1, source="numpy", args=(X,)).train()


def test_default_target_of_transpile() -> None:
    assert (
        graph_compiler.transpile(lambda x: x + 1, source="numpy", args=(X,)).variants[0].target.name == "jax"
    )


# ------------------------------------------------------------------------------------ what cannot be recorded
ERRORS: list[tuple[str, Callable[..., Any], type[Exception], str]] = [
    (
        "a new generator",
        lambda x: x + np.random.default_rng().normal(),
        TracingError,
        "gives something else at each call",
    ),
    ("Python's random", lambda x: x * random.random(), TracingError, "gives something else at each call"),
    (
        "scipy",
        lambda x: scipy.linalg.lstsq(x[:3, :3], x[:3, 0])[0],
        TracingError,
        r"test_source.py:\d+: the elements of an array are handed to code",
    ),
    (
        "compiled code that takes only arrays of NumPy",
        lambda x: scipy.linalg.sqrtm(x[:3, :3]),
        TracingError,
        r"test_source.py:\d+: a traced array is handed to compiled code",
    ),
    (
        "a constructor",
        lambda x: x * np.float32(x.sum()),
        TracingError,
        "the elements of an array are handed to code",
    ),
    (
        "an array from outside",
        lambda x: np.copyto(np.frombuffer(bytes(96)).reshape(3, 4), x),
        TracingError,
        "does not follow",
    ),
    ("an order", lambda x: np.median(x, overwrite_input=True), TracingError, "leave overwrite_input out"),
    ("an order", lambda x: np.percentile(x, 3, 0, None, True), TracingError, "leave overwrite_input out"),
    ("memory", lambda x: x.tobytes(), TracingError, "tobytes"),
    ("ctypes", lambda x: x.ctypes, TracingError, "ctypes"),
    ("torch", lambda x: torch.from_numpy(x) + 1, SourceNotFound, r"refers to torch alone(.|\n)*TracedArray"),
    (
        "frompyfunc",
        lambda x: np.frompyfunc(math.floor, 1, 1)(x) + 1,
        TracingError,
        "belongs to no public module",
    ),
    ("objects", lambda x: np.array([x, None], dtype=object), TracingError, "handed to code"),
    ("assigned shape", lambda x: setattr(x.copy(), "shape", (4, 3)), TracingError, "assigning to shape"),
    ("a generator expression", lambda x: (row for row in x), TracingError, "returns a generator"),
    ("a set", lambda x: {x.sum()}, TracingError, "returns a set"),
    ("pickle", lambda x: __import__("pickle").dumps(x), TracingError, "pickled"),
]


@pytest.mark.parametrize(
    ("function", "error", "message"), [case[1:] for case in ERRORS], ids=[case[0] for case in ERRORS]
)
def test_error(function: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        graph_compiler.compile(function, source="numpy", args=(X,))


@pytest.mark.parametrize(
    "argument",
    [np.ma.array([1.0]), np.rec.array([1.0]), np.array(["a"]), np.array([1.0], ">f8"), np.array([None])],
)
def test_arrays_that_no_other_framework_has(argument: Any) -> None:
    with pytest.raises(TracingError):
        graph_compiler.compile(lambda x: x, source="numpy", args=(argument,))


UNWRITABLE: list[tuple[str, Callable[..., Any], str]] = [
    ("real_if_close", lambda x: np.real_if_close(x + 0j), "numpy.real_if_close: no row"),
    ("polymul of a leading 0", lambda x: np.polymul(x[0] * [0, 1, 1, 1], x[1]), "begin with 0"),
    ("poly of a matrix", lambda x: np.poly(x[:3, :3]), "depends on the elements"),
    ("where without out", lambda x: np.sqrt(x, where=x > 0), "pass out="),
    (
        "where of two",
        lambda x: np.divmod(x, 2, where=x > 0),
        "without where= and select the elements with np",
    ),
    ("eig", lambda x: np.linalg.eig(x[:3, :3] + x[:3, :3].T), "eigh"),
    ("order", lambda x: x.ravel(order="K"), "order='K'"),
    ("as_strided of a transposed array", lambda x: as_strided(x.T, (3,), (8,)), "not contiguous"),
    ("as_strided of a transposed sum", lambda x: as_strided(x.T + 1, (3,), (8,)), "not contiguous"),
    ("as_strided of one column", lambda x: as_strided(x[:1].T, (2,), (8,)), "not contiguous"),
    ("as_strided of columns", lambda x: as_strided(x[:, 1:], (4,), (8,)), "not contiguous"),
    ("as_strided past the end", lambda x: as_strided(x[:1], (2, 4), x.strides), "outside of its array"),
    (
        "several at once",
        lambda x: (np.real_if_close(x + 0j), np.linalg.eig(x[:3, :3])),
        r"2 calls(.|\n)*real_if_close(.|\n)*eig",
    ),
]


@pytest.mark.parametrize(
    ("function", "message"), [case[1:] for case in UNWRITABLE], ids=[case[0] for case in UNWRITABLE]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:'where' used without 'out':UserWarning")
def test_calls_without_a_row(function: Any, message: str) -> None:
    # For NumPy itself every recorded call can be written.
    graph_compiler.compile(function, source="numpy", args=(X,))
    with pytest.raises(UnsupportedOperation, match=message):
        graph_compiler.transpile(function, source="numpy", to="jax", args=(X,))


@pytest.mark.parametrize(
    "views",
    [
        lambda base: (base[:4], base[2:]),
        lambda base: (base[::-1], base[:2]),
        lambda base: (base[:2], base[::-1]),
        lambda base: (base[:2], base[:, ::-1]),
    ],
    ids=["later elements", "reversed and written", "reversed and read", "one axis reversed"],
)
def test_memory_that_is_shared(views: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        x *= 2
        return x.sum() + y.sum()

    shared = views(np.ones((6, 2)))
    with pytest.raises(TracingError, match="shares memory"):
        graph_compiler.compile(function, source="numpy", args=shared)
    graph = graph_compiler.compile(function, source="numpy", args=tuple(map(np.copy, shared)))
    with pytest.raises(TracingError, match="shares memory"):
        graph(*shared)


def test_reversed_halves_share_no_memory() -> None:
    def function(x: Any, y: Any) -> Any:
        x *= 2
        return x.sum() + y.sum()

    def halves() -> tuple[Any, Any]:
        base = np.arange(6.0)
        return base[2::-1], base[:2:-1]

    graph = graph_compiler.compile(function, source="numpy", args=halves())
    assert graph(*halves()) == function(*halves())


def test_array_used_after_the_recording() -> None:
    kept: list[Any] = []

    class Keeper:
        __slots__ = ()

        def __call__(self, x: Any) -> Any:
            hidden(x)
            return x + 1

    def hidden(x: Any) -> None:
        vars(graph_compiler)["_kept_by_a_test"] = x

    graph_compiler.compile(Keeper(), source="numpy", args=(X,))
    kept.append(vars(graph_compiler).pop("_kept_by_a_test"))
    with pytest.raises(TracingError, match="after it"):
        kept[0] + 1


def test_static_arguments() -> None:
    graph = graph_compiler.compile(lambda x, axis: x.sum(axis=axis), source="numpy", static_argnames="axis")
    assert_same((graph(X, axis=0), graph(X, axis=1)), (X.sum(axis=0), X.sum(axis=1)))
    with pytest.raises(CallMismatch):
        graph(X, axis=[0])


@pytest.mark.parametrize(
    ("function", "good", "bad", "error"),
    [
        (np.add.reduceat, (np.ones(6), np.array([0, 5])), (np.ones(5), np.array([0, 5])), IndexError),
        (np.add.reduceat, (np.ones(6), np.array([0, 5])), (np.ones(6), np.array([0, -1])), IndexError),
        (lambda x: np.add.reduceat(x, [0, 3]), (np.ones(6),), (np.ones(3),), IndexError),
        (
            lambda k, x: np.choose(k, [x, -x]),
            (np.array([0, 1]), np.ones(2)),
            (np.array([0, 2]), np.ones(2)),
            ValueError,
        ),
        (
            lambda k, x: np.choose(k, [x, -x]),
            (np.array([0, 1]), np.ones(2)),
            (np.array([-1, 1]), np.ones(2)),
            ValueError,
        ),
        (np.polymul, (np.ones(3), np.ones(2)), (np.array([0.0, 1.0, 1.0]), np.ones(2)), UnsupportedOperation),
    ],
)
def test_elements_that_numpy_refuses_or_that_decide_a_size(
    function: Any, good: Any, bad: Any, error: Any
) -> None:
    graph = graph_compiler.compile(function, source="numpy", to="jax", args=good)
    assert_same(graph(*good), np.asarray(function(*good), np.float32))
    with pytest.raises(error):
        graph(*bad)


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
def test_ranges_that_are_empty_at_some_sizes(to: str) -> None:
    """The ranges are empty in the recorded call or in a later one, where their length would be negative."""
    pytest.importorskip(to)

    def ranges(x: Any) -> Any:
        n = x.shape[0]
        return (
            np.arange(2, n) + len(np.arange(3, n, 2)),
            np.arange(n - 2, -1, -1),
            np.arange(n - 3).sum(),
            np.ones((len(np.arange(2, n)), 2)),
        )

    for recorded in (5, 1, 0):
        graph = graph_compiler.transpile(ranges, source="numpy", to=to, args=(np.zeros(recorded),))
        for n in (0, 1, 2, 4, 7):
            assert_same(graph(np.zeros(n)), ranges(np.zeros(n)))


def test_weights_that_the_function_contains_are_not_tested_at_each_call() -> None:
    x = np.arange(6.0).reshape(2, 3)
    function = lambda x: np.average(x, axis=1, weights=[1, 2, 3])  # noqa: E731
    graph = graph_compiler.compile(function, to="numpy", args=(x,))
    assert_same(graph(x + 1), function(x + 1))
    assert "Checked after the call" not in graph.source
