"""Tests of numbers read from tensors in graphs that are compiled, differentiated, saved, verified and
explained.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import graph_compiler as gc
from graph_compiler.errors import GuardFailed, TracingError
from tests.support.compare import assert_same

_CALLS = [[1.0, 2.0], [3.0, 4.5], [0.25, 7.0]]


def scaled(x: Any) -> Any:
    largest = x.max().item()
    if largest > 1:
        x = x + 1
    return x * (largest * 2 + 1), largest, x.argmax().item()


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
def test_a_compiled_graph_and_a_loaded_one_serve_all_numbers(to: str, tmp_path: Path) -> None:
    compiled = {} if to == "torch" else {"return_backend_compiled_fn": True}
    graph = gc.compile(scaled, to=to, args=(torch.tensor(_CALLS[0]),), **compiled)
    graph.save(tmp_path / "graph")
    loaded = gc.load(tmp_path / "graph", to=to)
    for call in _CALLS:
        expected = scaled(torch.tensor(call))
        assert_same(graph(torch.tensor(call)), expected)
        assert_same(loaded(torch.tensor(call)), expected)
    assert len(graph.variants) == 1
    assert graph.verify(args=(torch.tensor([2.0, 9.0]),)).runs == 1
    before = len(graph.variants)
    assert_same(graph(torch.tensor([0.5, 0.25])), scaled(torch.tensor([0.5, 0.25])))
    assert len(graph.variants) == before + 1


def test_jax_traces_numbers_and_takes_no_gradient_through_them() -> None:
    import jax

    graph = gc.compile(scaled, to="jax", args=(torch.tensor(_CALLS[0]),))
    x = torch.tensor([3.0, 4.5], requires_grad=True)
    expected = scaled(x)
    expected[0].sum().backward()
    array = x.detach().numpy()
    result, largest, place = jax.jit(graph.functional)(graph.parameters, array)
    np.testing.assert_allclose(result, expected[0].detach(), rtol=1e-6)
    assert (float(largest), int(place)) == expected[1:]
    found = jax.grad(lambda x: graph.functional(graph.parameters, x)[0].sum())(array)
    np.testing.assert_allclose(found, x.grad, rtol=1e-6)


def test_what_python_computes_from_floats_fits_the_very_call_in_every_target() -> None:
    def by_text(x: Any) -> Any:
        return x * len(f"{x.mean().item() / 3:.2f}")

    x = torch.linspace(0.1, 7.3, 101)
    for to in ("jax", "numpy", "tensorflow"):
        graph = gc.compile(by_text, to=to)
        assert_same(graph(x), by_text(x))
        assert len(graph.variants) == 1


def test_random_numbers_are_open_as_factors_and_refused_where_they_decide() -> None:
    def factor(x: Any) -> Any:
        return x * torch.rand(()).item()

    def decides(x: Any) -> Any:
        return x * 2 if torch.rand(()).item() > 0.5 else x

    graph = gc.compile(factor, to="numpy", args=(torch.ones(1),))
    first, second = (float(graph(torch.ones(1))[0]) for _ in range(2))
    assert 0 <= first < 1 and 0 <= second < 1 and first != second
    with pytest.raises(TracingError, match=r"test_numbers.*random elements"):
        gc.compile(decides, to="numpy", args=(torch.ones(1),))


def test_a_guard_of_a_comparison_names_the_line() -> None:
    graph = gc.compile(scaled, to="numpy", args=(torch.tensor([1.0, 2.0]),))
    with pytest.raises(GuardFailed, match=r"test_numbers\.py:\d+"):
        graph.functional(graph.parameters, np.array([0.5, 0.25], np.float32))


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize(
    "ask", [lambda x: not x, torch.is_nonzero, lambda x: 1 if x else 2], ids=["not", "is_nonzero", "if"]
)
def test_a_branch_on_a_number_holds_for_all_that_are_not_zero(ask: Any, to: str) -> None:
    def function(x: Any) -> Any:
        return x * 2 if ask(x.sum()) else x - 1

    graph = gc.compile(function, to=to, args=(torch.ones(3),))
    for numbers in ([1.0, 2.0, 4.0], [0.5, -0.25, 0.0], [float("nan")]):
        assert_same(graph(torch.tensor(numbers)), function(torch.tensor(numbers)))
    assert len(graph.variants) == 1
    assert_same(graph(torch.tensor([-2.0, 2.0])), function(torch.tensor([-2.0, 2.0])))
    assert len(graph.variants) == 2


def test_names_of_conversions_are_pythons_own_after_a_recording() -> None:
    gc.compile(lambda x: x * float(x.max()), args=(torch.ones(2),))
    assert "float" not in vars(sys.modules[__name__])
    assert float("2") == 2.0 and isinstance(int("2"), int)


_ASKING = """
def of_an_input(x): return x * 2 if type(x.shape[0]) is int else x
def of_a_computed_one(x): return x * 2 if type(x[x > 0].numel() + 1) is int else x
def kept(x): return x * {int: 2.0}.get(type(x[x > 0].shape[0] * 2), 1.0)
"""


@pytest.mark.parametrize("name", ["of_an_input", "of_a_computed_one", "kept"])
def test_code_without_a_file_that_asks_for_types_finds_pythons_own(name: str) -> None:
    space: dict[str, Any] = {}
    exec(_ASKING, space)
    graph = gc.compile(space[name], to="numpy", args=(torch.ones(3),))
    for x in (torch.ones(3), torch.tensor([1.0, -1.0, 2.0, 3.0])):
        assert_same(graph(x), x * 2)


def shifted(x: Any, count: int, *, options: Any, scale: float = 1.0) -> Any:
    """Use numbers as elements, factors, bounds and results. ``options["name"]`` is a list, whose numbers are
    static.
    """
    y = x * count + options["shift"] * scale
    return (
        y[:, :count],
        count + 1,
        torch.full((2,), scale),
        x.shape[0] * count,
        y if options["shift"] > 3 else -y,
        x.sum(options["axes"]),
    )


def _shifted_call(step: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = torch.arange((2 + step % 3) * 9.0).reshape(-1, 9)
    return (x, step), {"options": {"shift": 10 - step, "axes": [0], "array": x[0]}, "scale": step / 3}


@pytest.mark.parametrize(
    ("to", "compiled"),
    [("torch", False), ("numpy", False), ("jax", True), ("tensorflow", False), ("tensorflow", True)],
)
def test_numbers_of_a_call_that_change_again_and_again_are_open(
    to: str, compiled: bool, tmp_path: Path
) -> None:
    graph = gc.compile(shifted, to=to, return_backend_compiled_fn=compiled)
    for step in (1, 2, 3, 4, 5, 6):
        args, kwargs = _shifted_call(step)
        found, expected = graph(*args, **kwargs), shifted(*args, **kwargs)
        assert_same(found, expected)
        assert type(found[1]) is int and type(found[3]) is int
    assert len(graph.variants) == 3, graph.explain()
    # This call takes the other branch.
    args, kwargs = _shifted_call(8)
    assert_same(graph(*args, **kwargs), shifted(*args, **kwargs))
    assert len(graph.variants) == 4 and "was recorded for options_shift > 3" in graph.variants[-1].why
    args, kwargs = _shifted_call(1)
    # A bool is another class than int.
    assert_same(graph(args[0], True, **kwargs), shifted(args[0], True, **kwargs))
    assert len(graph.variants) == 5
    assert graph.verify(args=_shifted_call(4)[0], kwargs=_shifted_call(4)[1]).runs == 1
    assert graph.verify().runs > 5
    graph.save(tmp_path / "graph")
    args, kwargs = _shifted_call(5)
    assert_same(gc.load(tmp_path / "graph")(*args, **kwargs), shifted(*args, **kwargs))


def test_numbers_of_a_call_stand_beside_sizes_that_are_not_known_yet() -> None:
    import tensorflow as tf

    def first(x: Any, count: int) -> Any:
        return x[:count] * count if x.shape[0] > count + 1 else x - count

    graph = gc.compile(first, to="tensorflow")
    for count in (1, 2, 3):
        graph(torch.ones(9), count)
    traced = tf.function(
        lambda x: graph.functional(graph.parameters, x, 4), input_signature=[tf.TensorSpec([None])]
    )
    assert_same(traced(tf.range(7.0)), first(torch.arange(7.0), 4))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"GuardFailed: .*count"):
        traced(tf.range(3.0))
