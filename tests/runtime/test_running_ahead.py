"""Tests of calls that run while checks are still made: results are those of checks made first."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import InternalError
from graph_compiler.runtime import weights
from graph_compiler.runtime.weights import CapturedArguments, NativeWeights, order_weights

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
native = importlib.import_module("graph_compiler.backends.jax.native")


class Embedded(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.dense = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 3)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, ids: Any) -> Any:
        return {"scores": self.dropout(self.dense(self.table(ids)))}


class Deep(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8)))
        self.dense = torch.nn.Linear(256, 3)

    def forward(self, x: Any) -> Any:
        return self.dense(self.layers(x))


def _transpiled(function: Any, args: Any, is_compiled: bool = True) -> Any:
    return graph_compiler.transpile(function, to="jax", args=args, return_backend_compiled_fn=is_compiled)


IDS = torch.tensor([[0, 4], [2, 1]])


def _graph() -> tuple[Any, Any]:
    model = Embedded().eval()
    graph = _transpiled(model, (IDS,))
    for _ in range(3):
        graph(IDS)
    variant = graph._variants[0]
    assert variant.attempt.__code__.co_name == "attempt" and variant.attempt is not variant._attempt
    return model, graph


def _agrees(model: Any, graph: Any) -> None:
    expected = model(IDS)["scores"].detach().numpy()
    np.testing.assert_allclose(np.asarray(graph(IDS)["scores"]), expected, rtol=1e-5, atol=1e-6)


def _written(model: Any) -> None:
    with torch.no_grad():
        model.dense.weight.mul_(3)


def _written_unseen(model: Any) -> None:
    model.dense.weight.data[1] = 7


def _written_by_numpy(model: Any) -> None:
    model.dense.bias.detach().numpy()[:] = 5


def _other_memory(model: Any) -> None:
    model.dense.weight.data = torch.full((3, 4), 0.25)


def _replaced(model: Any) -> None:
    model.dense.weight = torch.nn.Parameter(torch.full((3, 4), 0.5))


def _other_layer(model: Any) -> None:
    model.dense = torch.nn.Linear(4, 3)


CHANGES = [_written, _written_unseen, _written_by_numpy, _other_memory, _replaced, _other_layer]


@pytest.mark.parametrize("are_copied", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_results_have_the_weights_of_the_call(
    change: Callable[[Any], None], are_copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not are_copied:
        monkeypatch.setattr(weights, "_LARGEST_COPY", 0)
    model, graph = _graph()
    assert graph._variants[0].parameters.latest.may_be_written is not are_copied
    for _ in range(3):
        change(model)
        _agrees(model, graph)


@pytest.mark.parametrize("change", [change for change in CHANGES if change is not _other_layer])
def test_parameters_have_the_values_of_the_model(change: Callable[[Any], None]) -> None:
    model, graph = _graph()
    change(model)
    for name, array in graph.parameters.items():
        np.testing.assert_array_equal(array, model.get_parameter(name).detach().numpy())


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("change", [_written, _written_unseen])
def test_a_later_write_does_not_change_an_earlier_result(
    change: Callable[[Any], None], is_compiled: bool
) -> None:
    # The weights share memory with those of torch, and JAX computes asynchronously.
    model = Deep()
    graph, x = _transpiled(model, (torch.ones(64, 256),), is_compiled), np.ones((64, 256), "f")
    for _ in range(3):
        graph(x)
    for _ in range(10):
        expected = model(torch.from_numpy(x)).detach().numpy()
        got = graph(x)
        with torch.no_grad():
            model.dense.weight.data.add_(1)
            change(model)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-4)
        with torch.no_grad():
            model.dense.weight.fill_(0.01)


@pytest.mark.parametrize(("columns", "are_copied"), [(8, True), (32, False)])
@pytest.mark.parametrize("write", [lambda weight: weight.data, lambda weight: weight.detach().numpy()])
def test_a_write_to_one_element_is_noticed(
    write: Callable[[Any], Any], columns: int, are_copied: bool
) -> None:
    # Torch does not count these writes, and only samples of arrays that share memory are compared.
    model = torch.nn.Linear(2048, columns)
    graph, x = _transpiled(model, (torch.ones(1, 2048),)), torch.ones(1, 2048)
    for column in range(columns):
        write(model.weight)[column, 1000] = 50
        np.testing.assert_allclose(np.asarray(graph(x)), model(x).detach().numpy(), rtol=1e-4, atol=1e-4)
    assert graph._variants[0].parameters.latest.may_be_written is not are_copied


@pytest.mark.parametrize("polls", [0, 1, native._POLLS])
def test_waiting_ends_when_the_results_are_computed(polls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_POLLS", polls)
    wait = native.ResultWaiter()
    compute = jax.jit(lambda x: {"traced": jax.lax.fori_loop(0, 20, lambda _, y: jax.numpy.tanh(y @ x), x)})
    x = jax.numpy.ones((256, 256))
    for _ in range(3):
        result = compute(x)["traced"]
        wait([result, 2.5])
        assert result.is_ready()
    jax.jit(lambda x: wait([x]))(x)
    assert polls or 0 < wait._unpolled < native._UNPOLLED_CALLS


def test_indices_out_of_bounds_raise_as_in_the_original() -> None:
    _, graph = _graph()
    with pytest.raises(IndexError, match="index out of range"):
        graph(torch.tensor([[0, 5], [2, 1]]))


def test_another_mode_is_another_variant() -> None:
    model, graph = _graph()
    model.train()
    assert {0.0} < set(np.unique(np.asarray(graph(IDS)["scores"])).tolist())
    model.eval()
    _agrees(model, graph)
    assert len(graph._variants) == 2


def test_after_a_failed_check_all_checks_come_first() -> None:
    model, graph = _graph()
    variant = graph._variants[0]
    _written(model)
    _agrees(model, graph)
    assert variant.attempt is variant._attempt
    _written(model)
    _agrees(model, graph)


def test_calls_inside_functions_of_jax_run_in_order() -> None:
    model, graph = _graph()
    expected = model(IDS)["scores"].detach().numpy()
    ids = jax.numpy.asarray(IDS.numpy(), "int32")
    got = jax.jit(lambda ids: graph(ids)["scores"])(ids)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-6)
    got = jax.vmap(lambda ids: graph(ids[None])["scores"][0])(ids)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-6)
    assert graph._variants[0].attempt is not graph._variants[0]._attempt


def test_written_arrays_of_numpy_have_their_values_of_the_call() -> None:
    weight = np.arange(6, dtype="float32").reshape(2, 3)
    graph = _transpiled(lambda x: x @ weight, (np.ones((4, 2), "f"),))
    x = np.ones((4, 2), "f")
    for step in range(4):
        weight[0, 1] = step
        np.testing.assert_array_equal(np.asarray(graph(x)), x @ weight)


def test_programs_of_weights_in_another_order_have_other_texts() -> None:
    class Two(torch.nn.Module):
        def __init__(self, names: tuple[str, ...]) -> None:
            super().__init__()
            for name in names:
                setattr(self, name, torch.nn.Parameter(torch.ones(2)))

        def forward(self, x: Any) -> Any:
            return self.a * x + self.b

    texts = set()
    for names in (("a", "b"), ("b", "a")):
        graph = _transpiled(Two(names), (torch.ones(2),))
        parameters = graph._variants[0].parameters
        assert isinstance(parameters, NativeWeights)
        flat = graph._variants[0].executable.flat
        passed = order_weights(parameters, CapturedArguments(flat, ("parameters",), {}))
        texts.add((tuple(parameters.latest.native), passed.text))
    assert len({order for order, _ in texts}) == len({text for _, text in texts})


def test_the_warning_about_many_shapes_names_the_argument() -> None:
    table = torch.arange(4.0)
    graph = _transpiled(lambda tokens, mask: tokens + table + mask, (torch.ones(2, 4), torch.ones(4)))
    with pytest.warns(RuntimeWarning, match=r"tokens \[2, 4\], \[3, 4\], \[5, 4\]\)"):
        for rows in (2, 3, 5):
            graph(torch.ones(rows, 4), torch.ones(4))


def test_a_bug_in_the_checks_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    model, graph = _graph()
    # The frame of this function counts as one of the package.
    made: dict[str, Any] = {"__name__": NativeWeights.__module__}
    exec(compile("def fails(): return {}['planted']", weights.__file__, "exec"), made)
    # It fails ahead, and not when the call is made again in order.
    failing, current = iter([made["fails"]]), NativeWeights.is_current
    monkeypatch.setattr(
        NativeWeights,
        "is_current",
        lambda self, converted: next(failing, lambda: current(self, converted))(),
    )
    with pytest.raises(InternalError, match="planted"):
        graph(IDS)
    monkeypatch.undo()
    _agrees(model, graph)
