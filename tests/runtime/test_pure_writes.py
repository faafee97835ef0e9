"""Tests of ``graph.functional`` of functions that write: it returns what was written and does not change
arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import torch

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import GradientRefused

TARGETS = ("torch", "jax", "tensorflow", "numpy")
total = torch.zeros(2)


def as_numpy(array: Any) -> Any:
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array)


def writes_argument(x: Any, y: Any) -> Any:
    x.add_(y)
    return x * y


def writes_twice_the_same(x: Any) -> Any:
    y = x[:1]
    y.mul_(2)
    return x + y


def writes_what_it_closes_over(x: Any) -> Any:
    total.add_(x)
    return total * 2


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("count", torch.zeros(2))
        self.last = torch.zeros(2)

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            self.count.add_(x)
        self.last.copy_(x)
        return self.weight * x + self.count


ONE, TWO = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
CASES: dict[str, tuple[Any, tuple[Any, ...], Any, dict[Any, Any]]] = {
    "argument": (writes_argument, (ONE, TWO), [12, 24], {0: [4, 6]}),
    "view": (writes_twice_the_same, (ONE,), [4, 4], {0: [2, 2]}),
    "closure": (writes_what_it_closes_over, (ONE,), [2, 4], {"total": [1, 2]}),
    "module": (Counting(), (ONE,), [2, 4], {"count": [1, 2], "last": [1, 2]}),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_writes_are_state(name: str, to: str) -> None:
    function, args, wanted, written = CASES[name]
    graph = graph_compiler.transpile(
        function, source="torch", to=to, args=tuple(torch.zeros(2) for _ in args)
    )
    total.zero_()
    given = [graph._pipeline.target.target.convert(array.clone()) for array in args]
    before = [as_numpy(array).copy() for array in (*given, *graph.parameters.values(), total)]
    result, state = graph.functional(graph.parameters, *given)
    np.testing.assert_allclose(as_numpy(result), wanted)
    assert {
        key.rpartition(".")[2] if isinstance(key, str) else key: as_numpy(item).tolist()
        for key, item in state.items()
    } == written
    for one, other in zip(before, (*given, *graph.parameters.values(), total)):
        np.testing.assert_array_equal(one, as_numpy(other))


class Held:
    def __init__(self) -> None:
        self.sum, self.last = torch.zeros(2), torch.zeros(2)
        self.pair = [torch.zeros(2), torch.ones(2)]


def another_place(held: Held, x: Any) -> Any:
    held.sum.add_(x)
    held.last = x * 2
    return held.sum * x


def the_place_itself(held: Held, x: Any) -> Any:
    held.sum.add_(x)
    held.sum = held.sum * 2
    return x


def another_place_of_the_array(held: Held, x: Any) -> Any:
    held.sum.add_(x)
    held.last = held.sum
    return x


def arrays_of_a_list(held: Held, x: Any) -> Any:
    for array in held.pair:
        array.add_(x)
    held.last = x * 2
    return held.pair[1]


def an_array_of_a_list(held: Held, x: Any) -> Any:
    held.pair[0].add_(x)
    return held.pair[1] * x


def an_argument(held: Held, x: Any) -> Any:
    x.add_(1)
    held.last = x
    return held.sum + x


IN_PLACES: dict[Any, tuple[Any, dict[Any, Any]]] = {
    another_place: ([1, 4], {"sum": [1, 2], "last": [2, 4]}),
    the_place_itself: ([1, 2], {"sum": [2, 4]}),
    another_place_of_the_array: ([1, 2], {"sum": [1, 2], "last": [1, 2]}),
    arrays_of_a_list: ([2, 3], {"pair": [[1, 2], [2, 3]], "last": [2, 4]}),
    an_array_of_a_list: ([1, 2], {"pair": [[1, 2], [1, 1]]}),
    an_argument: ([2, 3], {0: [2, 3], "last": [2, 3]}),
}


# Targets with immutable arrays return the new items of lists by themselves.
IN_LISTS = (arrays_of_a_list, an_array_of_a_list)


@pytest.mark.parametrize(
    ("function", "to"),
    [(function, to) for function in IN_PLACES for to in (TARGETS[:1] if function in IN_LISTS else TARGETS)],
    ids=lambda item: getattr(item, "__name__", item),
)
def test_objects_at_places_are_state(function: Any, to: str) -> None:
    held, (wanted, written) = Held(), IN_PLACES[function]
    graph = graph_compiler.transpile(
        lambda x: function(held, x), source="torch", to=to, args=(torch.ones(2),)
    )
    result, state = graph.functional({}, graph._pipeline.target.target.convert(ONE.clone()))
    np.testing.assert_allclose(as_numpy(result), wanted)
    found = {key.rpartition(".")[2] if isinstance(key, str) else key: item for key, item in state.items()}
    found = {
        key: [as_numpy(array).tolist() for array in item] if key == "pair" else as_numpy(item).tolist()
        for key, item in found.items()
    }
    assert found == written
    for array, before in ((held.sum, [0, 0]), (held.last, [0, 0]), *zip(held.pair, ([0, 0], [1, 1]))):
        assert array.tolist() == before


def normalised() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)).train()


@pytest.mark.parametrize("to", TARGETS[:3])
def test_gradients_of_batch_norm_by_names(to: str) -> None:
    model, x = normalised(), torch.randn(5, 3)
    graph = graph_compiler.transpile(model, to=to, args=(x[:4],))

    def loss(parameters: Any, x: Any) -> Any:
        result, state = graph.functional({**graph.parameters, **parameters}, x)
        return (result**2)[0, 0], state

    gradients, state = transforms.grad(loss, has_aux=True)(
        {name: graph.parameters[name] for name in graph.trained}, x
    )
    one = graph_compiler.transpile(lambda x: model(x)[0, 0] ** 2, source="torch", to=to, args=(x[:4],))
    alone, _ = transforms.grad(one.functional, has_aux=True)(one.parameters, x)
    (model(x) ** 2)[0, 0].backward()
    for name, parameter in model.named_parameters():
        for found in (gradients[name], next(array for key, array in alone.items() if key.endswith(name))):
            np.testing.assert_allclose(as_numpy(found), parameter.grad, rtol=1e-3, atol=1e-5)
    for name, buffer in model.named_buffers():
        np.testing.assert_allclose(as_numpy(state[name]), buffer, rtol=1e-5)
    if to == "torch":
        with pytest.raises(GradientRefused, match="'running_mean'"):
            transforms.grad(lambda parameters, x: loss(parameters, x)[0])(graph.parameters, x)


def test_gradients_of_slices_and_the_second_ones() -> None:
    model, x = normalised(), torch.randn(5, 3)
    graph = graph_compiler.compile(model, args=(x[:4],))
    weights = {name: graph.parameters[name] for name in graph.trained}

    def loss(weights: Any, x: Any) -> Any:
        return graph.functional({**graph.parameters, **weights}, x)[0].sum() ** 2

    assert transforms.hessian(loss)(weights, x)["0.weight"]["2.bias"].shape == (4, 3, 1)
    assert not any(buffer.any() for name, buffer in model.named_buffers() if "mean" in name)
