"""Tests of storage that torch shares with other libraries: which tensors use it, and the cost of checking."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import graph_compiler
from graph_compiler.errors import GuardFailed, TracingError
from graph_compiler.frontends.torch.memory import watching
from graph_compiler.frontends.torch.memory.watching import ExportedMemory

_PLACES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1, max_size=12)


@given(_PLACES, st.tuples(st.integers(0, 40), st.integers(0, 9)))
def test_those_are_found_whose_elements_overlap(
    places: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    memory = torch.from_numpy(np.zeros(50, np.float32))
    shared = ExportedMemory()
    for start, length in places:
        shared.share(memory[start : start + length], "here")
    start, length = asked
    found = {
        (one.tensor.storage_offset(), len(one.tensor)) for one in shared._in([memory[start : start + length]])
    }
    assert found == {
        place for place in places if length and place[1] and place[0] < start + length and start < sum(place)
    }


class _FromFile(torch.nn.Linear):
    """A layer whose weight shares memory with a NumPy array, as after loading from safetensors."""

    def __init__(self) -> None:
        super().__init__(200, 100)
        self.held = np.ones((100, 200), np.float32)
        self.weight = torch.nn.Parameter(torch.from_numpy(self.held))


def _refuse(tensor: torch.Tensor) -> Any:
    raise AssertionError(f"a copy of {tensor.numel()} elements was made")


def test_weights_from_a_file_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = _FromFile(), torch.randn(3, 200)
    monkeypatch.setattr(watching, "Snapshot", _refuse)
    graph = graph_compiler.compile(model, args=(x,))
    torch.testing.assert_close(graph(x), model(x))


def test_weights_that_numpy_writes_are_refused() -> None:
    model = _FromFile()

    def function(x: torch.Tensor) -> torch.Tensor:
        first = model(x)
        model.held[0, 0] += 1
        return first + model(x)

    with pytest.raises(graph_compiler.errors.TracingError, match="code outside of torch"):
        graph_compiler.compile(function, args=(torch.randn(3, 200),))


def test_a_kept_view_of_an_argument_is_refused() -> None:
    x = torch.ones(4, 3)
    kept = x[1:]
    with pytest.raises(graph_compiler.errors.TracingError, match="Take views of x inside the function"):
        graph_compiler.compile(lambda x: x.sum() + kept, args=(x,))


@torch.no_grad()
def test_a_view_that_was_made_without_gradients_outlives_a_write_to_its_weight() -> None:
    """Since the write, torch refuses to tell whether the view is a leaf."""
    layer = torch.nn.Linear(3, 2)
    kept = [layer.weight.t()]
    layer.weight.mul_(0.5)
    function = lambda x: layer(x).sum() + x @ kept[0]  # noqa: E731
    graph = graph_compiler.compile(function, args=(torch.ones(4, 3),))
    layer.weight.add_(1)
    x = torch.randn(5, 3)
    torch.testing.assert_close(graph(x), function(x))


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("is_written_before", [False, True])
@pytest.mark.parametrize("name", ["folded", "with an argument", "beside the weight"])
def test_such_a_view_is_read_where_gradients_are_disabled(
    name: str, is_written_before: bool, to: str
) -> None:
    """The graph is recorded and called while gradients are enabled."""
    layer = torch.nn.Linear(3, 3)
    with torch.no_grad():
        kept = layer.weight[1:]
        if is_written_before:
            layer.weight.mul_(0.5)
    compute = {
        "folded": lambda x: x * kept.T[0].sum(),
        "with an argument": lambda x: x[:2] * kept,
        "beside the weight": lambda x: layer(x) @ kept.T,
    }[name]
    function = torch.no_grad()(lambda x: compute(x) + 1)
    graph = graph_compiler.compile(function, args=(torch.ones(2, 3),), to=to)
    x = torch.randn(2, 3)
    for _ in range(2):
        torch.testing.assert_close(torch.as_tensor(graph(x)), function(x))
        with torch.no_grad():
            layer.weight.add_(1)


def test_copies_do_not_depend_on_identities_of_the_recording() -> None:
    """The keys of the memo are ids, which another object may have when the graph is called."""

    def function(x: Any) -> Any:
        doubled, named = copy.deepcopy([x * 2, {"x": x}])
        return doubled + named["x"]

    graph = graph_compiler.compile(function, args=(torch.ones(3),))
    assert graph.source.count("__deepcopy__({})") == 2


@pytest.mark.parametrize(
    "array",
    [np.ones(6, np.float32)[::-2], np.ones(3, ">f4")],
    ids=["negative strides", "other byte order"],
)
def test_a_write_to_an_array_that_can_only_be_copied_is_refused(array: Any) -> None:
    graph = graph_compiler.compile(lambda x: x.add_(1.0) * 2, args=(torch.ones(3),))
    shared = np.ones(6, np.float32)[::2]
    graph(shared)
    assert shared.tolist() == [2.0] * 3
    with pytest.raises(GuardFailed, match=r"test_shared_memory.py:\d+: .* can only be copied for torch"):
        graph(array)


def test_a_true_last_argument_is_no_write() -> None:
    """``torch.sum(weight, 0, True)`` keeps an axis, so memory that the weight shares is only read."""
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    kept = [weight.data.t()[1:]]
    function = lambda x: torch.sum(weight, 0, True) + kept[0].sum() + x  # noqa: E731
    graph = graph_compiler.compile(function, args=(torch.ones(3),)).to("numpy")
    assert np.array_equal(graph(np.arange(3.0, dtype=np.float32)), function(torch.arange(3.0)).detach())


def _add_in_place(x: Any, y: Any) -> Any:
    y.add_(x)
    return (y * y).sum()


def test_a_write_inside_of_transforms_of_torch() -> None:
    graph = graph_compiler.compile(_add_in_place, args=(torch.ones(3), torch.ones(3)))
    x = torch.arange(10.0)
    for function in (
        lambda f: torch.vmap(f)(x.reshape(2, 5)[:, :3], x.reshape(2, 5)[:, 2:].clone()),
        lambda f: torch.func.grad(lambda z: f(z[:3] * 2, z[2:5].clone()))(x),
        lambda f: torch.vmap(torch.func.grad(lambda z: f(z[:3] * 2, z[2:5].clone())))(x.reshape(2, 5)),
    ):
        torch.testing.assert_close(function(graph), function(_add_in_place))


def test_a_write_to_shared_memory_inside_of_a_transform_is_refused() -> None:
    graph = graph_compiler.compile(_add_in_place, args=(torch.ones(3), torch.ones(3)))
    with pytest.raises(TracingError, match="shares memory with another one"):
        torch.func.grad(lambda z: graph(z[:3], z[2:5]))(torch.arange(10.0))
