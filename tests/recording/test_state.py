"""Tests of state: the next call of a graph uses changes from outside, and its own changes are visible
outside.
"""

from __future__ import annotations

import copy
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import graph_compiler as gc
from graph_compiler.errors import CallMismatch, NotCompilable
from tests.support.compare import assert_same

TARGETS = ("torch", "jax", "numpy")
SCALE = 2.0
TABLE = torch.ones(4)
LEVELS = [1, 2]


def _x(rows: int = 3) -> torch.Tensor:
    return torch.linspace(-2, 3, rows * 4).reshape(rows, 4)


class Model(nn.Module):
    kind = "linear"

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.blocks, self.drop = (
            nn.Linear(4, 4),
            nn.ModuleList([nn.Linear(4, 4)]),
            nn.Dropout(0.0),
        )
        self.scale, self.table, self.options, self.flags, self.activation = (
            2.0,
            torch.ones(4),
            {"factor": 2},
            [True],
            torch.relu,
        )
        self.settings = types.SimpleNamespace(offset=3, inner=types.SimpleNamespace(power=2))

    def forward(self, x: Any) -> Any:
        x = self.linear(x) * self.scale + self.table
        for block in self.blocks:
            x = block(x)
        x = x + 1 if self.flags[0] else x
        x = self.drop(self.activation(x))
        return (x * self.options["factor"] + self.settings.offset) ** self.settings.inner.power


class Plain:
    def __init__(self) -> None:
        self.factor, self.inner, self.levels, self.nested = (
            2,
            types.SimpleNamespace(offset=3, table=torch.ones(4)),
            [1],
            {"a": {"b": 1}},
        )

    def __call__(self, x: Any) -> Any:
        return x * self.factor + self.inner.offset * self.inner.table + self.levels[0] + self.nested["a"]["b"]

    def method(self, x: Any) -> Any:
        return self(x)


def _fresh_linear() -> nn.Linear:
    torch.manual_seed(5)
    return nn.Linear(4, 4)


_MODEL: dict[str, Callable[[Any], Any]] = {
    "number": lambda m: setattr(m, "scale", 5.0),
    "equal number of another type": lambda m: setattr(m, "scale", 2),
    "tensor": lambda m: setattr(m, "table", torch.full((4,), 7.0)),
    "tensor in place": lambda m: m.table.add_(3),
    "module": lambda m: setattr(m, "linear", _fresh_linear()),
    "dict": lambda m: m.options.update(factor=9),
    "list": lambda m: m.flags.__setitem__(0, False),
    "one more block": lambda m: m.blocks.append(_fresh_linear()),
    "function": lambda m: setattr(m, "activation", torch.tanh),
    "object": lambda m: setattr(m.settings, "offset", 8),
    "object in an object": lambda m: setattr(m.settings.inner, "power", 3),
    "hook": lambda m: m.linear.register_forward_hook(lambda module, args, output: output * 10),
    "hook before": lambda m: m.linear.register_forward_pre_hook(lambda module, args: (args[0] * 10,)),
    "rate of dropout": lambda m: setattr(m.drop, "p", 1.0),
    "forward": lambda m: setattr(m.linear, "forward", lambda x: x * 100),
    "mode": lambda m: m.eval(),
    "weight transposed": lambda m: setattr(m.linear.weight, "data", m.linear.weight.data.t()),
    "weight negated": lambda m: setattr(m.linear.weight, "data", torch._neg_view(m.linear.weight.data)),
}
# A graph for another framework converts these weights once.
_WEIGHTS: dict[str, Callable[[Any], Any]] = {
    "weight": lambda m: setattr(m.linear, "weight", nn.Parameter(torch.full((4, 4), 0.5))),
    "no bias": lambda m: setattr(m.linear, "bias", None),
}
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "number": lambda o: setattr(o, "factor", 7),
    "object": lambda o: setattr(o.inner, "offset", 9),
    "tensor": lambda o: setattr(o.inner, "table", torch.zeros(4)),
    "tensor in place": lambda o: o.inner.table.add_(1),
    "list": lambda o: o.levels.__setitem__(0, 5),
    "dict": lambda o: o.nested["a"].update(b=9),
}


def _check_change(make: Callable[[], Any], change: Callable[[Any], Any], to: str) -> None:
    original, function = make(), make()
    graph = gc.compile(function, to=to, args=(_x(),))
    assert_same(graph(_x()), original(_x()))
    change(original)
    change(function)
    assert_same(graph(_x(2)), original(_x(2)))


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("change", _MODEL)
def test_a_change_of_a_model_is_seen(change: str, to: str) -> None:
    _check_change(Model, _MODEL[change], to)


@pytest.mark.parametrize("change", _WEIGHTS)
def test_a_change_of_a_weight_is_seen(change: str) -> None:
    _check_change(Model, _WEIGHTS[change], "torch")


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("change", _PLAIN)
def test_a_change_of_an_object_is_seen(change: str, to: str) -> None:
    _check_change(Plain, _PLAIN[change], to)
    _check_change(lambda: Plain().method, lambda method: _PLAIN[change](method.__self__), to)
    _check_change(
        lambda: functools.partial(_apply, Plain()), lambda partial: _PLAIN[change](partial.args[0]), to
    )


def _apply(function: Any, x: Any) -> Any:
    return function(x)


def _uses_globals(x: Any) -> Any:
    return _helper(x) * SCALE + TABLE * LEVELS[0]


def _helper(x: Any) -> Any:
    return x * SCALE


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(("name", "value"), [("SCALE", 9.0), ("TABLE", torch.zeros(4)), ("LEVELS", [7])])
def test_a_change_of_a_global_is_seen(
    name: str, value: Any, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = gc.compile(_uses_globals, to=to, args=(_x(),))
    assert_same(graph(_x()), _uses_globals(_x()))
    monkeypatch.setitem(globals(), name, value)
    assert_same(graph(_x()), _uses_globals(_x()))


def test_why_it_was_recorded_again() -> None:
    model = Model()
    graph = gc.compile(model, args=(_x(),))
    model.scale = 3.0
    graph(_x())
    assert "the attribute scale of a Model was 2.0 when recorded and is 3.0 now" in graph.variants[1].why


# ------------------------------------------------------------------------------------- objects that are named
class Box:
    def __init__(self) -> None:
        self.hidden, self.steps, self.log = torch.zeros(2), 0, [torch.zeros(2)]

    def update(self, x: Any) -> Any:
        self.hidden = self.hidden + x
        self.steps += 1
        self.log[0] = x * self.steps
        return self.hidden * self.steps


class CallableBox(Box):
    def __call__(self) -> None: ...


_hidden: dict[int, Box] = {}
# The cache hides the object from the search.
_find = functools.lru_cache(lambda number: _hidden[number])


def _finds(x: Any) -> Any:
    return _find(0).update(x)


@pytest.mark.parametrize("to", TARGETS)
def test_stateful_objects(to: str) -> None:
    box, expected = Box(), Box()
    _find.cache_clear()
    _hidden[0] = box
    graph = gc.compile(_finds, to=to, stateful=[box])
    for size in (1.0, 2.0, 3.0):
        assert_same(graph(torch.full((2,), size)), expected.update(torch.full((2,), size)))
        assert_same(vars(box), vars(expected))
    assert len(graph.variants) == 1


def _updates_both(boxes: Any, x: Any, *, other: Any) -> Any:
    return boxes["mine"][0].update(x) + other.update(x)


@pytest.mark.parametrize("to", TARGETS)
def test_stateful_arguments(to: str) -> None:
    graph = gc.compile(
        _updates_both, to=to, arg_stateful_idxs=[[0, "mine", 0]], kwarg_stateful_idxs=[["other"]]
    )
    for _ in range(2):
        mine, other, same, again = CallableBox(), CallableBox(), CallableBox(), CallableBox()
        for size in (1.0, 2.0):
            x = torch.full((2,), size)
            assert_same(
                graph({"mine": [mine]}, x, other=other), _updates_both({"mine": [same]}, x, other=again)
            )
            assert_same((vars(mine), vars(other)), (vars(same), vars(again)))


class Slotted:
    __slots__ = ("steps", "total")

    def __init__(self) -> None:
        self.total, self.steps = torch.zeros(2), 0

    def update(self, x: Any) -> Any:
        self.total, self.steps = self.total * 0.5 + x, self.steps + 1
        return self.total * self.steps


@pytest.mark.parametrize("to", TARGETS)
def test_stateful_arguments_with_slots(to: str) -> None:
    graph = gc.compile(lambda slotted, x: slotted.update(x), to=to, arg_stateful_idxs=[[0]])
    mine, same = Slotted(), Slotted()
    for size in (1.0, 2.0, 3.0):
        x = torch.full((2,), size)
        assert_same(graph(mine, x), same.update(x))
        assert_same((mine.total, mine.steps), (same.total, same.steps))


class Unset(Slotted):
    """An object with attributes and a slot that gets its value later."""

    def __init__(self) -> None:
        self.steps = 0


def test_a_slot_that_the_function_sets_first() -> None:
    held = Unset()

    def function(x: Any) -> Any:
        before = hasattr(held, "total")
        held.total = x
        return x + 1 if before else x

    x = torch.ones(2)
    graph = gc.compile(function, args=(x,))
    assert not hasattr(held, "total")
    assert [graph(x).tolist() for _ in range(2)] == [[1, 1], [2, 2]] and held.total is x


def test_a_path_that_leads_nowhere() -> None:
    with pytest.raises(CallMismatch, match=r"nothing at \[0, 'theirs'\]"):
        gc.compile(
            _updates_both,
            arg_stateful_idxs=[[0, "theirs"]],
            args=({"mine": [Box()]}, torch.ones(2)),
            kwargs={"other": Box()},
        )


@pytest.mark.parametrize("to", TARGETS)
def test_a_module_as_argument(to: str) -> None:
    def function(module, x):
        return module(x)

    model, original = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    graph = gc.compile(function, to=to)
    for step in range(4):
        assert_same(graph(model, _x() + step), original(_x() + step))
        model.train(step != 1)
        original.train(step != 1)
    assert sorted(graph.parameters) == [
        "module.bias",
        "module.num_batches_tracked",
        "module.running_mean",
        "module.running_var",
        "module.weight",
    ]


@pytest.mark.parametrize("to", TARGETS)
def test_state_with_the_compiler_of_the_framework(to: str) -> None:
    box, expected = Box(), Box()
    options = {"compile_options": {"backend": "eager"}} if to == "torch" else {}
    graph = gc.compile(box.update, to=to, return_backend_compiled_fn=True, **options)
    for size in (1.0, 2.0, 3.0):
        assert_same(graph(torch.full((2,), size)), expected.update(torch.full((2,), size)))


class Widening:
    def __init__(self) -> None:
        self.width, self.calls = 2, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        rows = nn.functional.pad(x, (0, (-x.shape[0]) % self.width)).reshape(-1, self.width)
        self.width += 1
        return rows.sum(1) + torch.full((self.width,), self.calls).sum()


def test_sizes_made_of_state_are_static_in_jit() -> None:
    graph, expected = gc.compile(Widening(), to="jax", return_backend_compiled_fn=True), Widening()
    for size in (4, 4, 5):
        assert_same(graph(torch.arange(float(size))), expected(torch.arange(float(size))))
    assert len(graph.variants) == 1


def test_recording_leaves_objects_as_they_are() -> None:
    box = Box()
    held = dict(vars(box))
    graph = gc.compile(box.update, args=(torch.ones(2),))
    assert all(vars(box)[name] is item for name, item in held.items()) and torch.equal(
        box.log[0], torch.zeros(2)
    )
    graph.functional({}, torch.ones(2))
    assert all(vars(box)[name] is item for name, item in held.items())


def test_recording_leaves_weights_that_lookups_shorten() -> None:
    for layer, given in (
        (nn.Embedding(5, 3, max_norm=0.5), torch.tensor([0, 2])),
        (nn.EmbeddingBag(5, 3, max_norm=0.5), torch.tensor([[0, 2]])),
    ):
        before, original = layer.weight.detach().clone(), copy.deepcopy(layer)
        graph = gc.compile(layer, args=(given,))
        assert torch.equal(layer.weight, before)
        assert_same(graph(given + 1), original(given + 1))
        assert torch.equal(layer.weight, original.weight) and not torch.equal(layer.weight, before)


@pytest.mark.parametrize("to", TARGETS)
def test_state_is_left_in_the_objects_of_the_original(to: str) -> None:
    box = Box()
    graph = gc.transpile(box.update, to=to)
    graph(torch.ones(2))
    assert isinstance(box.hidden, torch.Tensor) and box.hidden.tolist() == [1, 1] and box.steps == 1
    assert graph.state["Box.steps"] == 1 and graph.state["Box.hidden"].tolist() == [1, 1]
    assert type(graph.state["Box.hidden"]).__module__.startswith(to)


@pytest.mark.parametrize("to", TARGETS)
def test_state_of_a_pure_call(to: str) -> None:
    box = Box()
    graph = gc.compile(box.update, to=to, args=(torch.ones(2),))
    result, state = graph.functional({}, torch.ones(2))
    assert (result.tolist(), state["Box.steps"]) == ([1, 1], 1)
    result, state = graph.functional({}, torch.ones(2), state=state)
    assert (result.tolist(), state["Box.steps"]) == ([4, 4], 2)
    assert box.steps == 0


@pytest.mark.parametrize("to", TARGETS)
def test_state_that_the_user_resets(to: str) -> None:
    box, expected = Box(), Box()
    graph = gc.compile(box.update, to=to)
    for step in range(4):
        if step == 2:
            box.hidden, expected.hidden, box.steps, expected.steps = torch.ones(2), torch.ones(2), 7, 7
        assert_same(graph(torch.ones(2)), expected.update(torch.ones(2)))


def test_calls_of_the_original_and_of_its_graph_elsewhere_share_their_statistics() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), torch.randn(4, 3)
    expected = copy.deepcopy(model)
    graph = gc.compile(model, to="numpy")
    for call in range(4):
        assert_same(graph(x + call), expected(x + call))
        assert_same(model(x - call), expected(x - call))
        # Recordings and checks of other graphs must not count.
        graph.to("jax")
        graph.verify(runs=1)
    assert_same(dict(model.state_dict()), dict(expected.state_dict()))
    assert_same({name: graph.parameters[name] for name in model.state_dict()}, dict(model.state_dict()))


@pytest.mark.parametrize("to", TARGETS)
def test_statistics_of_modules_given_in_turn(to: str) -> None:
    given, originals = [nn.BatchNorm1d(4), nn.BatchNorm1d(4)], [nn.BatchNorm1d(4), nn.BatchNorm1d(4)]
    graph = gc.compile(lambda module, x: module(x), to=to)
    for step, number in enumerate((0, 1, 0, 0, 1)):
        assert_same(graph(given[number], _x() + step), originals[number](_x() + step))
    for module, original in zip(given, originals):
        assert_same(dict(module.state_dict()), dict(original.state_dict()))


class Adding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.total, self.norm = torch.zeros(4), nn.BatchNorm1d(4)

    def forward(self, x: Any) -> Any:
        self.total.add_(x.sum(0))
        return self.norm(x) + self.total


def test_state_of_a_recording_for_torch_that_is_written_for_others() -> None:
    """All graphs of one model share its state, whichever of them was called last."""
    model, expected = Adding(), Adding()
    graph = gc.compile(model, args=(_x(),))
    graphs = [graph.to("numpy"), graph.to("jax"), graph]
    for step in range(6):
        assert_same(graphs[step % 3](_x() + step), expected(_x() + step))
        assert_same(model.total, expected.total)
        assert_same(dict(model.state_dict()), dict(expected.state_dict()))
    pure = graphs[0].functional(graphs[0].parameters, _x())[1]
    assert_same(pure["total"], expected.total + _x().sum(0))


def test_a_call_that_is_traced_leaves_no_state() -> None:
    import jax

    box = Box()
    graph = gc.compile(box.update, to="jax", args=(torch.ones(2),))
    with pytest.raises(CallMismatch, match=r"use graph\.functional"):
        jax.jit(graph)(jax.numpy.ones(2))
    assert box.steps == 0 and box.hidden.tolist() == [0, 0]
    assert_same(graph(torch.ones(2)), Box().update(torch.ones(2)))


@pytest.mark.parametrize("to", TARGETS)
def test_a_module_is_refused_where_it_has_no_place_for_state(to: str) -> None:
    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.hidden = torch.nn.Linear(3, 3), torch.zeros(3)

        def forward(self, x: Any) -> Any:
            self.hidden = torch.tanh(self.cell(x) + self.hidden)
            return self.hidden

    graph = gc.compile(Recurrent(), to=to, args=(torch.ones(3),))
    with pytest.raises(NotCompilable, match=r"keeps state in \S*hidden.*functional with state="):
        graph.as_module()


def test_a_handle_that_torch_keeps_on_an_operator_is_no_state() -> None:
    """torch looks it up when the operator is called for the first time, which is here within the recording."""
    doubled = torch.library.custom_op(
        "graph_compiler_tests::first_called", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    graph = gc.compile(lambda x: doubled(x) + 1, args=(torch.ones(3),))
    assert_same(graph.as_module()(torch.arange(4.0)), torch.arange(4.0) * 2 + 1)


def test_a_number_that_turns_negative_zero_is_written_to_the_callers_dict() -> None:
    """-0.0 equals 0.0, but dividing by it gives another infinity."""

    def function(x: Any, found: dict[str, float]) -> Any:
        found["offset"] = -0.0
        return x * 2

    x = torch.ones(3)
    graph = gc.compile(function, args=(x, {"offset": 0.0}))
    given = {"offset": 0.0}
    graph(x, given)
    assert math.copysign(1.0, given["offset"]) == -1.0
