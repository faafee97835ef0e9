"""Tests of environment guards: a dict is compared only if it has changed, and numbers are compared by value."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.frontends.torch.memory import watching  # noqa: E402
from graph_compiler.frontends.torch.state.reads import versions_of  # noqa: E402
from graph_compiler.recording import Reached  # noqa: E402
from graph_compiler.recording.environment_guards import (  # noqa: E402  # noqa: E402
    EnvironmentGuard,
    VersionsOf,
    conjunction,
    detects,
    detects_sample_changes,
    is_readable,
    memory_versions,
    versions_counted_by,
    versions_read_by,
)

FOUND = [versions_of] if versions_of is not None else []


def test_entries_are_read_only_after_a_change() -> None:
    held, looks = {"scale": 2, "other": 0}, []
    version = {"number": 1}

    def is_two(entries: dict[str, int]) -> bool:
        looks.append(1)
        return entries["scale"] == 2

    holds = conjunction(
        [EnvironmentGuard("{}({})", (is_two, held), of=held)],
        versions_counted_by(lambda entries: version["number"]),
    )
    assert holds() and holds() and len(looks) == 1
    version["number"], held["other"] = 2, 5
    assert holds() and holds() and len(looks) == 2
    version["number"], held["scale"] = 3, 7
    assert not holds() and not holds() and len(looks) == 4
    version["number"], held["scale"] = 4, 2
    assert holds() and holds() and len(looks) == 5
    version["number"] = 5
    del held["scale"]
    assert not holds()


@pytest.mark.parametrize("count", [1, 1000])
def test_a_guard_with_too_few_items_is_named(count: int) -> None:
    guard = EnvironmentGuard("{} == {}", (2,), of={})
    with pytest.raises(IndexError, match=r"the guard '{} == {}' has more pairs of braces than items \(1\)"):
        conjunction([guard] * count)


@pytest.mark.parametrize("versions_of", FOUND)
def test_versions_follow_attributes_of_modules(versions_of: VersionsOf) -> None:
    """Every way to set an attribute must change the versions."""
    module: Any = torch.nn.Dropout(0.5)
    own, seen = vars(module), []
    versions = versions_of([own, {}], [module])
    for change in (
        lambda: setattr(module, "p", 0.1),
        lambda: own.update(p=0.2),
        lambda: object.__setattr__(module, "p", 0.3),
        module.eval,
        lambda: own.pop("inplace"),
        lambda: setattr(module, "forward", None),
        lambda: setattr(module, "__class__", torch.nn.Dropout2d),
    ):
        seen.append(versions.copy())
        assert versions.now == seen[-1]
        change()
        assert not any(versions.now == before for before in seen)


@pytest.mark.parametrize("versions_of", FOUND)
def test_a_class_that_was_replaced_is_seen_beside_dicts_that_were_not(versions_of: VersionsOf) -> None:
    module = torch.nn.ReLU()
    facts = [
        EnvironmentGuard("{}.__class__ is {}", (module, torch.nn.ReLU), class_of=module),
        EnvironmentGuard("{}['training']", (vars(module),), of=vars(module)),
    ]
    holds = conjunction(facts, versions_of)
    assert holds() and holds()
    module.__class__ = torch.nn.ReLU6
    assert not holds() and not holds()
    module.__class__ = torch.nn.ReLU
    assert holds()


def test_a_forward_that_was_replaced_is_seen_where_it_is_inherited_too() -> None:
    class Base(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Own(Base):
        pass

    x = torch.ones(3)
    graph = graph_compiler.compile(Own(), args=(x,))
    assert torch.equal(graph(x), x * 2)
    Base.forward = lambda self, x: x * 3  # type: ignore[method-assign]
    assert torch.equal(graph(x), x * 3)
    Own.forward = lambda self, x: x * 4  # type: ignore[method-assign]
    assert torch.equal(graph(x), x * 4)


@pytest.mark.skipif(not is_readable, reason="this Python keeps no versions of dicts in their memory")
def test_what_is_looked_at_stays_alive() -> None:
    versions = memory_versions([{"a": 1}], [torch.nn.ReLU()])
    before = versions.copy()
    garbage = [({number: number}, torch.nn.ReLU()) for number in range(1000)]
    assert versions.now == before and len(garbage) == 1000


def test_versions_that_tell_only_of_dicts_are_not_trusted() -> None:
    def of_dicts(dicts: Any, objects: Any, words: Any = ()) -> Any:
        return versions_read_by(lambda: [dict(one) for one in dicts])

    assert not detects_sample_changes(of_dicts)


def _put(tensor: Any, data: Any) -> None:
    tensor.data = data


_TO_TENSORS: dict[str, Any] = {
    "in place": lambda t: t.mul_(2),
    "through a view": lambda t: t[1:].zero_(),
    "through data": lambda t: t.data.zero_(),
    "transposed": lambda t: t.t_(),
    "other data": lambda t: _put(t, torch.full((3, 3), 5.0)),
    "other strides": lambda t: _put(t, t.data.t()),
    "pending sign": lambda t: _put(t, torch._neg_view(t.data)),
    "other dtype": lambda t: _put(t, t.data.view(torch.int32)),
    "other memory": lambda t: t.set_(torch.eye(3)),
}


@pytest.mark.parametrize("readable", [True, False], ids=["words", "calls"])
@pytest.mark.parametrize("change", _TO_TENSORS)
def test_changes_of_captured_tensors_are_seen(
    change: str, readable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes must be noticed without the fast check of memory too, and before and after another change,
    which renews that check.
    """
    monkeypatch.setattr(watching, "is_readable", watching.is_readable and readable)
    layer, table, x = torch.nn.Linear(3, 3), torch.arange(9.0).reshape(3, 3), torch.ones(3)

    def function(x: Any) -> Any:
        return layer(x) + table @ x.to(table.dtype)

    graph = graph_compiler.compile(function, args=(x,), to="numpy")
    with torch.no_grad():
        layer.requires_grad_(False)
        for tensor in (table, layer.weight):
            assert np.allclose(graph(x), function(x), atol=1e-5)
            tensor.requires_grad_(tensor.is_floating_point()).requires_grad_(False)
            assert np.allclose(graph(x), function(x), atol=1e-5)
            _TO_TENSORS[change](tensor)
            if tensor is table or tensor.is_floating_point():
                assert np.allclose(graph(x), function(x), atol=1e-5)


def test_writes_to_an_inference_tensor_with_gaps_are_seen() -> None:
    with torch.inference_mode():
        table = torch.zeros(100, 200)[:, ::2]
    function = lambda x: x + table.sum()  # noqa: E731
    x = torch.ones(1)
    graph = graph_compiler.compile(function, args=(x,))
    with torch.inference_mode():
        table.add_(1)
    assert torch.equal(graph(x), function(x))


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_autocast_of_each_device_is_compared(device: str) -> None:
    x = torch.ones(2, 2)
    graph = graph_compiler.compile(lambda x: x @ x)
    try:
        torch.set_autocast_enabled(device, True)
        found = [graph(x).dtype]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found.append(graph(x).dtype)
    finally:
        torch.set_autocast_enabled(device, False)
    assert found == [torch.float32, torch.bfloat16]


class Penalised(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return (
            self.layer(x)
            + sum(weight.square().sum() for weight in self.parameters())
            + len(list(self.buffers()))
        )


@pytest.mark.parametrize(
    "add",
    [
        lambda model: setattr(model, "scale", torch.nn.Parameter(torch.ones(2))),
        lambda model: setattr(model.layer, "scale", torch.nn.Parameter(torch.ones(2))),
        lambda model: model.layer.register_buffer("mask", torch.ones(1)),
    ],
    ids=["weight", "weight of a part", "buffer"],
)
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_weights_that_no_layer_computes_with_are_seen(add: Any, to: str) -> None:
    model, x = Penalised().requires_grad_(False), torch.ones(1, 2)
    graph = graph_compiler.compile(model, args=(x,), to=to)
    add(model)
    assert np.allclose(graph(x).tolist(), model(x).tolist(), atol=1e-5)


@pytest.mark.skipif(not watching.is_readable, reason="this torch keeps its notes of tensors elsewhere")
def test_words_of_a_tensor_that_has_traded_places_are_not_read() -> None:
    table = torch.arange(3.0)
    noted = watching.words_of(table)
    assert noted is not None and noted.is_readable()
    holds = conjunction([EnvironmentGuard("True", (), words=noted)], versions_of)
    assert holds() and holds()
    torch.utils.swap_tensors(table, torch.full((3,), 7.0))
    assert not noted.is_readable() and (versions_of is None or not holds())


_LOOKS = itertools.count()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (lambda held: held["n"], True),
        (lambda held: held["n"] // 2, False),
        (lambda held: next(_LOOKS), False),
    ],
)
def test_versions_that_miss_changes_or_change_by_themselves_are_not_trusted(
    version: Any, expected: bool
) -> None:
    held = {"n": 0}
    assert (
        detects(versions_read_by(lambda: version(held)), (held.update(n=number) for number in range(1, 4)))
        is expected
    )


def test_the_same_number_again_is_no_change() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 0.5

        def forward(self, x: Any) -> Any:
            return x * self.scale

    model, x = Model(), torch.ones(3)
    graph = graph_compiler.compile(model, args=(x,))
    for text in ("0.5", "0.5", "0.25", "0.5"):
        model.scale = float(text)
        assert torch.equal(graph(x), model(x))
    assert len(graph.variants) == 2


@pytest.mark.parametrize("is_counted", [True, False])
def test_followers_are_fresh_where_the_facts_hold(is_counted: bool) -> None:
    class Doubled:
        def __init__(self, held: dict[str, int]) -> None:
            self.dicts = [held]
            self.refresh()

        def refresh(self) -> None:
            self.current = self.dicts[0]["weight"] * 2

    held, version = {"weight": 1}, {"number": 1}
    doubled = Doubled(held)
    holds = conjunction(
        [], versions_counted_by(lambda entries: version["number"]) if is_counted else None, [doubled]
    )
    assert holds() and doubled.current == 2
    version["number"], held["weight"] = 2, 5
    assert holds() and doubled.current == 10
    version["number"] = 3
    del held["weight"]
    assert not holds()


def test_followers_without_dicts_are_fresh_at_each_call() -> None:
    class Counted:
        def __init__(self) -> None:
            self.dicts: list[dict[Any, Any]] = []
            self.times = 0

        def refresh(self) -> None:
            self.times += 1

    counted = Counted()
    holds = conjunction([], versions_counted_by(lambda entries: 1), [counted])
    assert holds() and holds() and counted.times == 2


def test_a_replaced_parameter_is_used_and_a_removed_one_is_recorded_again() -> None:
    model, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    graph = graph_compiler.compile(model, args=(x,))
    for change in (
        lambda: setattr(model, "weight", torch.nn.Parameter(torch.ones(2, 3))),
        lambda: model.load_state_dict({"weight": torch.zeros(2, 3), "bias": torch.ones(2)}, assign=True),
        lambda: model._parameters.pop("bias") is None or setattr(model, "bias", torch.zeros(2)),
    ):
        assert len(graph.variants) == 1
        change()
        assert torch.equal(graph(x), model(x))
    assert len(graph.variants) == 2


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_the_grad_mode_of_a_call_decides_what_an_encoder_gives_for_hidden_rows(to: str) -> None:
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 1, norm=torch.nn.LayerNorm(4)).eval()
    x, hidden = torch.randn(2, 3, 4), torch.tensor([[False, True, True], [False, False, False]])
    graph = graph_compiler.compile(encoder, to=to, args=(x,), kwargs={"src_key_padding_mask": hidden})
    for enabled in (True, False, True):
        with torch.set_grad_enabled(enabled):
            for given in (x, x * 2 + 1):
                found = np.asarray(
                    graph(given, src_key_padding_mask=hidden).detach()
                    if to == "torch"
                    else graph(given, src_key_padding_mask=hidden)
                )
                np.testing.assert_allclose(
                    found, encoder(given, src_key_padding_mask=hidden).detach(), atol=1e-5
                )
    assert len(graph.variants) == 2 and "the grad mode" in graph.variants[1].why


def test_recording_asks_no_property_of_an_object() -> None:
    asked: list[str] = []

    class Lazy:
        scale = 2

        @property
        def table(self) -> int:
            asked.append("table")
            return 1

        def __call__(self, x: Any) -> Any:
            return x * getattr(self, "factor", self.scale) + (1 if hasattr(self, "bias") else len("table"))

    graph_compiler.compile(Lazy(), args=(torch.ones(2),))
    assert asked == []


class _Linked:
    def __init__(self, scale: float, after: Any) -> None:
        self.scale, self.after = scale, after


def _linked(count: int) -> Any:
    first: Any = None
    for _ in range(count):
        first = _Linked(1.0, first)
    return first


def test_what_lies_deeper_than_python_calls_go_is_reached() -> None:
    count, first, nested = 100_000, _linked(100_000), [1.0]
    for _ in range(count):
        nested = [nested]  # type: ignore[list-item]
    reach = Reached([lambda x: x * first.after.scale + len(nested)])
    assert len(reach.owners) == count + 1 and len(reach.containers) == count + 1


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
def test_a_linked_list_of_a_function_is_watched_to_its_end(source: str) -> None:
    ones = {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones
    first = _linked(2000)

    def function(x: Any) -> Any:
        one, total = first, 0.0
        while one is not None:
            one, total = one.after, total + one.scale
        return x * total

    graph = graph_compiler.compile(function, args=(ones(3),))
    assert float(graph(ones(2))[0]) == 2000
    first.after.after.scale = 51.0
    assert float(graph(ones(2))[0]) == 2050
    first.after = None
    assert float(graph(ones(2))[0]) == 1 and len(graph.variants) == 3
