"""Tests of files, pickles and copies of graphs with several variants."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import strategies  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed, InvalidFile, NotSerialisable  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402


class Counting(torch.nn.Module):
    def __init__(self, counts: bool) -> None:
        super().__init__()
        self.counts, self.table = counts, torch.arange(6.0)
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: Any, power: int = 1) -> Any:
        if self.counts:
            self.n += 1
        return self.linear(x) ** power + self.table[:3] + torch.tensor([1.0, 2.0, 3.0]).cos() + self.n


CALLS = strategies.lists(
    strategies.tuples(strategies.integers(1, 3), strategies.integers(1, 2)), min_size=1, max_size=4
)


@hypothesis.settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)
@hypothesis.given(
    CALLS,
    strategies.booleans(),
    strategies.sampled_from(["torch", "jax", "numpy"]),
    strategies.sampled_from(["a.zip", "a"]),
)
def test_what_is_saved_can_be_loaded(
    tmp_path: Path, calls: list[tuple[int, int]], counts: bool, to: str, form: str
) -> None:
    graph = graph_compiler.compile(Counting(counts).eval(), to=to)
    given = [(torch.ones((2,) * (rank - 1) + (3,)), power) for rank, power in calls]
    for args in given:
        # Adding the same call again adds an equal variant.
        graph.add_variant(args, {})
    graph.save(tmp_path / form)
    again = graph_compiler.load(tmp_path / form)
    assert len(again.variants) == len(calls)
    for args in given:
        assert_same(again(*args), graph(*args))
    assert_same(dict(again.state), dict(graph.state))


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
    graph.save(tmp_path / "a.zip")
    before = (tmp_path / "a.zip").read_bytes()
    nodes = graph.variants[0].graph.nodes
    nodes[0] = dataclasses.replace(nodes[0], op="os.system")
    with pytest.raises(
        InvalidFile,
        match=r"Linear cannot be saved, for it could not be loaded again: .*os\.system.*Nothing was written",
    ):
        graph.save(tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == before


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
    graph.save(tmp_path / "a.zip")
    before = (tmp_path / "a.zip").read_bytes()

    def full(array: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(graph.variants[0].target, "to_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        graph.save(tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == before and len(list(tmp_path.iterdir())) == 1


# ------------------------------------------------------------------------------------- pickles and copies
@graph_compiler.compile
def doubled(x: Any) -> Any:
    return x * 2


def _through_pickle(item: Any) -> Any:
    return pickle.loads(pickle.dumps(item))


def _through_torch(item: Any) -> Any:
    held = io.BytesIO()
    torch.save(item, held)
    held.seek(0)
    return torch.load(held, weights_only=False)


COPIES = [_through_pickle, _through_torch, copy.copy, copy.deepcopy]
X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("copied", COPIES, ids=lambda copied: copied.__name__)
@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
def test_a_copy_of_a_graph_has_weights_and_state_of_its_own(to: str, copied: Callable[[Any], Any]) -> None:
    graph = graph_compiler.compile(Counting(True).eval(), to=to, args=(torch.ones(2, 3),))
    graph(X)
    again = copied(graph)
    assert_same(again(X), graph(X))
    graph(X)
    assert float(to_numpy(again.state["n"])) == 2 and float(to_numpy(graph.state["n"])) == 3


def test_a_pickle_holds_the_bytes_of_a_file_and_one_name() -> None:
    found = list(
        pickletools.genops(
            pickle.dumps(graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),)))
        )
    )
    assert [op.name for op, _, _ in found if op.name in ("REDUCE", "BUILD", "NEWOBJ", "INST", "OBJ")] == [
        "REDUCE"
    ]
    assert {"graph_compiler.api", "graph_from_bytes"} <= {arg for _, arg, _ in found if isinstance(arg, str)}
    assert next(arg for _, arg, _ in found if isinstance(arg, bytes)).startswith(b"PK")


@pytest.mark.parametrize("copied", COPIES, ids=lambda copied: copied.__name__)
@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
def test_a_copy_of_a_module_has_weights_of_its_own(to: str, copied: Callable[[Any], Any]) -> None:
    if to == "tensorflow" and copied is copy.copy:
        pytest.skip("Keras copies by itself")
    module = graph_compiler.compile(Counting(False).eval(), to=to, args=(torch.ones(2, 3),)).as_module()
    given = torch.ones(2, 3) if to == "torch" else X
    expected = to_numpy(module(given))
    assert_same(to_numpy(copied(module)(given)), expected)


def test_averages_of_a_model_with_a_graph_inside() -> None:
    inner = graph_compiler.compile(torch.nn.Linear(3, 3), args=(torch.ones(1, 3),)).as_module()
    model = torch.nn.Sequential(inner, torch.nn.ReLU())
    average = torch.optim.swa_utils.AveragedModel(model)
    before = average(torch.ones(2, 3))
    with torch.no_grad():
        inner.get_parameter("weight").add_(1)
    assert torch.equal(average(torch.ones(2, 3)), before) and not torch.equal(model(torch.ones(2, 3)), before)
    average.update_parameters(model)
    assert_same(_through_pickle(average)(torch.ones(2, 3)), average(torch.ones(2, 3)))


def test_graphs_that_were_not_called_yet() -> None:
    assert _through_pickle(doubled) is doubled
    model = torch.nn.Linear(3, 2)
    lazy = graph_compiler.compile(model)
    own = copy.deepcopy(lazy)
    with torch.no_grad():
        model.weight.zero_()
    assert not torch.equal(own(torch.ones(1, 3)), lazy(torch.ones(1, 3)))
    with pytest.raises(
        NotSerialisable, match=r"Linear has not been recorded yet, so it cannot be pickled; .*call it once"
    ):
        pickle.dumps(graph_compiler.compile(model))


def test_a_graph_that_no_file_holds_is_not_pickled_either() -> None:
    graph = graph_compiler.compile(Kept(), args=(torch.ones(2),))
    graph(torch.ones(2))
    with pytest.raises(
        NotSerialisable, match=r"Kept can be neither pickled nor copied: .*a file has no place for its state"
    ):
        pickle.dumps(graph)


class Kept(torch.nn.Module):
    total: Any = 0

    def forward(self, x: Any) -> Any:
        self.total = self.total + x.sum()
        return self.total


def test_what_holds_now_answers_after_loading(tmp_path: Path) -> None:
    """Globals, closures and modes are not saved, so an outdated variant must not be selected before the
    current one.
    """
    model, held = torch.nn.Dropout(0.5), {"most": 1.0}
    x = torch.full((64,), 2.0)
    graph = graph_compiler.transpile(
        lambda x: model(x).clamp(max=held["most"]), source="torch", to="numpy", args=(x,)
    )
    model.eval()
    held["most"] = 0.5
    assert (graph(x) == 0.5).all() and len(graph.variants) == 2
    graph.save(tmp_path / "graph.zip")
    assert (graph_compiler.load(tmp_path / "graph.zip")(x) == 0.5).all()


def _loaded(graph: Any, folder: Path) -> Any:
    graph.save(folder / "graph.zip")
    return graph_compiler.load(folder / "graph.zip")


class Drops(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(64))

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.dropout(x * self.weight, 0.5, self.training)


IN_MODE: dict[str, Callable[[Any, Any, bool], Any]] = {
    "torch": lambda module, x, training: module.train(training)(x),
    "jax": lambda module, x, training: (module.train() if training else module.eval()) or module(x),
    "tensorflow": lambda module, x, training: module(x, training=training),
    "numpy": lambda module, x, training: module(x),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("to", IN_MODE)
def test_modes_choose_among_the_variants_of_a_file(to: str, first: bool, tmp_path: Path) -> None:
    pytest.importorskip(to)
    x, model = torch.ones(64), Drops().train(first)
    graph = graph_compiler.transpile(model, to=to, args=(x,))
    graph.train(not first)(x)
    graph.train(first)
    again = _loaded(graph, tmp_path)
    module = again.as_module()
    for mode in (first, not first, first):
        drops = [0 in to_numpy(run(x)) for run in (again.train(mode), copy.deepcopy(again).train(mode))]
        drops += [0 in to_numpy(IN_MODE[to](module, x, mode))]
        assert drops == [mode] * 3
    assert 0 not in to_numpy(_loaded(again.eval(), tmp_path)(x))


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_mode_that_no_file_holds_is_refused(to: str, tmp_path: Path) -> None:
    """A model that does not depend on the mode serves both."""
    x = torch.ones(64)
    module = _loaded(graph_compiler.transpile(Drops().eval(), to=to, args=(x,)), tmp_path).as_module()
    assert 0 not in to_numpy(IN_MODE[to](module, x, False))
    with pytest.raises(
        GuardFailed,
        match=r"no recorded variant fits.*the mode of training \(by train\(\) or eval\(\)\) changed",
    ):
        IN_MODE[to](module, x, True)
    plain = _loaded(
        graph_compiler.transpile(torch.nn.Linear(64, 2).eval(), to=to, args=(x,)), tmp_path
    ).as_module()
    assert_same(IN_MODE[to](plain, x, True), IN_MODE[to](plain, x, False))


@pytest.mark.parametrize("training", [True, False])
def test_a_file_holds_the_mode_of_a_module_of_flax(training: bool, tmp_path: Path) -> None:
    nnx, jnp = pytest.importorskip("flax.nnx"), pytest.importorskip("jax.numpy")
    model = nnx.Sequential(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(0)))
    (model.train if training else model.eval)()
    graph = graph_compiler.transpile(model, to="torch", args=(jnp.ones((4, 3)),))
    for one in (graph, _loaded(graph, tmp_path)):
        assert one.as_module().training is training


def test_a_file_trains_in_the_mode_that_it_holds(tmp_path: Path) -> None:
    x = torch.ones(64)
    graph = graph_compiler.compile(Drops().train(), args=(x,))
    module = copy.deepcopy(_loaded(graph, tmp_path).as_module())
    assert module.training and 0 in module(x)
    with pytest.raises(GuardFailed, match="the mode of training"):
        module.eval()(x)
    with pytest.raises(GuardFailed, match="the mode of training"):
        pickle.loads(pickle.dumps(module))(x)
