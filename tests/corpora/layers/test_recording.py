"""Tests of repeated calls that are recorded like an earlier one without full analysis: the recording is the
same as with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.ir.graph import to_text
from graph_compiler.ir.node import every
from tests.support.compare import leaves

torch = pytest.importorskip("torch")
nn = torch.nn

known_calls = pytest.importorskip("graph_compiler.frontends.torch.capture.known_calls")
capture = pytest.importorskip("graph_compiler.frontends.torch.capture.capture")
WIDTH = 8
COUNTED = {"calls": 0}


class Layer(nn.Module):
    def __init__(self, number: int = 0, scale: float = 1.0) -> None:
        super().__init__()
        self.norm, self.inner, self.outer = (
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH),
        )
        self.dropout, self.number, self.scale = nn.Dropout(0.25), number, scale
        self.register_buffer("shift", torch.randn(WIDTH))

    def forward(self, x: Any) -> Any:
        y = self.inner(self.norm(x) + self.shift).view(*x.shape[:-1], 2, WIDTH // 2).transpose(1, 2)
        y = torch.softmax(y @ y.transpose(-1, -2) * self.scale, -1) @ y
        return x + self.dropout(self.outer(y.transpose(1, 2).reshape(x.shape)))


class Numbered(Layer):
    def forward(self, x: Any) -> Any:
        return (
            super().forward(x) if self.number % 2 else torch.tanh(super().forward(x)[:, :, :] * self.number)
        )


class Counting(Layer):
    def forward(self, x: Any) -> Any:
        COUNTED["calls"] += 1
        return super().forward(x) * COUNTED["calls"]


class Normed(Layer):
    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        self.batch = nn.BatchNorm1d(WIDTH)

    def forward(self, x: Any) -> Any:
        return self.batch(super().forward(x).transpose(1, 2)).transpose(1, 2)


class Writing(Layer):
    """Writes to a view if its number is odd, so that a later read depends on the layer."""

    def forward(self, x: Any) -> Any:
        y = super().forward(x)
        part = y.reshape(-1, WIDTH)[:, 1:]
        if self.number % 2:
            part.mul_(0.5)
        return y + part.sum()


class Masked(Layer):
    """Attends under a boolean mask, and writes to a copy if its number is odd."""

    def forward(self, x: Any) -> Any:
        mask = x[:, None, None, :, 0] > -3
        y = self.inner(x).view(*x.shape[:-1], 2, WIDTH // 2).transpose(1, 2)
        y = (
            nn.functional.scaled_dot_product_attention(y.contiguous(), y, y, attn_mask=mask)
            .transpose(1, 2)
            .contiguous()
        )
        if self.number % 2:
            # ``contiguous`` returns ``y`` itself here.
            y = y.mul_(0.5).contiguous()
        return x + y.reshape(x.shape).masked_fill(x > 2, 0.0)


class Moded(Layer):
    def forward(self, x: Any) -> Any:
        with torch.set_grad_enabled(self.number % 2 == 1):
            return super().forward(x)


class Cast(Layer):
    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.number % 2 == 1):
            return super().forward(x)


class Asking(Layer):
    """Reads what the previous layer has stored, and branches on elements."""

    before: Any = None

    def forward(self, x: Any) -> Any:
        held = self.before[0].kept if self.before else torch.zeros(())
        self.kept = super().forward(x).mean()
        return x + held if self.kept > 100 else x - held + self.kept


class Stack(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def _stack(
    layer: Callable[..., nn.Module], change: Callable[[Stack], Any] = lambda model: None, train: bool = False
) -> Callable[[], Stack]:
    def made() -> Stack:
        torch.manual_seed(0)
        COUNTED["calls"] = 0
        model = Stack(*(layer(number) for number in range(4))).train(train)
        change(model)
        return model

    return made


def _share(model: Stack) -> None:
    model.layers[2].inner.weight = model.layers[0].inner.weight
    model.layers[3] = model.layers[1]


def _freeze(model: Stack) -> None:
    model.layers[1].inner.weight.requires_grad_(False)


def _patch(model: Stack) -> None:
    model.layers[2].forward = lambda x: torch.relu(Layer.forward(model.layers[2], x))


def _transpose(model: Stack) -> None:
    """Give the weights another stride order."""
    model.layers[2].inner.weight = nn.Parameter(torch.randn(WIDTH, WIDTH).t())


def _chain(model: Stack) -> None:
    for before, layer in zip(model.layers, model.layers[1:]):
        layer.before = (before,)


MODELS: dict[str, Callable[[], Stack]] = {
    "equal": _stack(Layer),
    "other scale": _stack(lambda number: Layer(number, 1.0 if number < 2 else 0.5)),
    "number decides": _stack(Numbered),
    "hook": _stack(
        Layer, lambda model: model.layers[1].register_forward_hook(lambda module, args, result: result * 2)
    ),
    "dropout": _stack(Layer, train=True),
    "dropout of one": _stack(Layer, lambda model: model.layers[2].train()),
    "shared": _stack(Layer, _share),
    "frozen": _stack(Layer, _freeze),
    "patched": _stack(Layer, _patch),
    "transposed": _stack(Layer, _transpose),
    "more attributes": _stack(Layer, lambda model: setattr(model.layers[1].norm, "weight", None)),
    "half": _stack(Layer, lambda model: setattr(model.layers[1], "dropout", nn.Identity())),
    "counting": _stack(Counting),
    "batch norm": _stack(Normed, train=True),
    "writes": _stack(Writing),
    "masked": _stack(Masked),
    "modes": _stack(Moded),
    "autocast": _stack(Cast),
    "one asks another": _stack(Asking, _chain),
}


def described(model: Stack, to: str = "torch") -> tuple[str, list[Any], Any]:
    """Return everything that a recording contains about its calls."""
    graph = graph_compiler.compile(model, to=to, args=(torch.ones(2, 3, WIDTH),), roll="never")
    recorded = graph.variants[0].recording.graph
    nodes = list(every(recorded.nodes))
    numbers = {value: place for place, value in enumerate(value for node in nodes for value in node.outputs)}
    facts = [
        (
            node.origin.line,
            node.origin.module,
            {index: numbers.get(viewed, viewed.name) for index, viewed in node.views.items()},
            [numbers.get(value, value.name) for value in node.writes],
            (
                node.is_random,
                node.no_grad,
                node.record.is_detached_write,
                node.record.returns_operand,
                node.record.strided,
                node.record.has_wide_integers,
            ),
        )
        for node in nodes
    ]
    return (
        to_text(recorded),
        facts,
        (str(recorded.guards), recorded.assumptions, recorded.demands, len(recorded.effects)),
    )


@pytest.mark.parametrize("name", MODELS)
def test_recordings_are_those_of_full_analysis(name: str, monkeypatch: Any) -> None:
    found = described(MODELS[name]())
    monkeypatch.setattr(known_calls.CallOutcomes, "outcome", lambda self, key: None)
    wanted = described(MODELS[name]())
    assert found[0] == wanted[0]
    assert found[1] == wanted[1] and str(found[2]) == str(wanted[2])


@pytest.mark.parametrize(
    "name",
    [
        "number decides",
        "hook",
        "shared",
        "patched",
        "transposed",
        "counting",
        "writes",
        "masked",
        "modes",
        "one asks another",
    ],
)
def test_layers_that_differ_compute_what_the_model_computes(name: str) -> None:
    """Two calls with different numbers of rows show that counters advance."""
    graph, original = graph_compiler.compile(MODELS[name](), args=(torch.ones(2, 3, WIDTH),)), MODELS[name]()
    rows = [torch.randn(5, 3, WIDTH, generator=torch.Generator().manual_seed(number)) for number in range(2)]
    with torch.no_grad():
        COUNTED["calls"] = 0
        found = [graph(x) for x in rows]
        COUNTED["calls"] = 0
        wanted = [original(x) for x in rows]
    for one, other in zip(leaves(found).values(), leaves(wanted).values(), strict=True):
        np.testing.assert_allclose(one.detach(), other.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["equal", "frozen", "modes", "hook"])
def test_gradients_have_the_names_of_the_weights(name: str) -> None:
    model = MODELS[name]()
    graph, x = graph_compiler.compile(model, args=(torch.ones(2, 3, WIDTH),)), torch.randn(5, 3, WIDTH)
    model(x).square().sum().backward()
    wanted = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    given = {
        name: value.detach().clone().requires_grad_(value.requires_grad)
        for name, value in graph.parameters.items()
    }
    graph.functional(given, x).square().sum().backward()
    found = {name: value.grad for name, value in given.items() if value.grad is not None}
    assert found.keys() == wanted.keys()
    for weight, gradient in wanted.items():
        np.testing.assert_allclose(found[weight], gradient, rtol=1e-3, atol=1e-4)


def analysed(layer: Callable[[], nn.Module], depth: int, monkeypatch: Any) -> list[str]:
    """Return the calls of a model that are analysed in full."""
    names, add_node = list[str](), capture.add_node

    def counted(trace: Any, call: Any, *rest: Any) -> Any:
        names.append(call.name)
        return add_node(trace, call, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(capture, "add_node", counted)
        graph_compiler.compile(
            Stack(*(layer() for _ in range(depth))).eval(), args=(torch.ones(2, 3, WIDTH),)
        )
    return names


@pytest.mark.parametrize("layer", [Layer, Masked])
def test_calls_that_are_analysed_do_not_grow_with_depth(layer: Any, monkeypatch: Any) -> None:
    few, many = analysed(layer, 4, monkeypatch), analysed(layer, 12, monkeypatch)
    assert few == many and len(few) < 20


def test_a_seed_between_equal_calls_is_kept() -> None:
    """The recording looks for changes of the seed only after calls that may draw."""

    def drawn(x: Any) -> Any:
        for seed in (3, 4):
            x = torch.tanh(x)
            torch.manual_seed(seed)
            x = torch.tanh(x) + torch.rand(3)
        return x

    graph = graph_compiler.compile(drawn, args=(torch.ones(3),))
    np.testing.assert_array_equal(graph(torch.zeros(3)), drawn(torch.zeros(3)))


def test_a_call_with_another_outcome_is_analysed_in_full(monkeypatch: Any) -> None:
    """The result depends on a setting that the recording does not know."""
    original, made = torch.Tensor.tanh, []

    def described_wrongly(call: Any, node: Any) -> Any:
        outcome = known_calls.outcome_of(call, node)
        made.append(call.name)
        return None if outcome is None else known_calls.OperandOutcome(0)

    monkeypatch.setattr(capture, "outcome_of", described_wrongly)
    graph = graph_compiler.compile(lambda x: x.tanh().tanh().tanh(), args=(torch.ones(3),))
    assert graph.source.count("tanh()") == 3 and len(made) == 3
    np.testing.assert_allclose(graph(torch.zeros(3) + 2), original(original(original(torch.zeros(3) + 2))))


def kernels_seen(monkeypatch: pytest.MonkeyPatch, depth: int, wants_gradients: bool) -> int:
    """Return how many kernels a recording of ``depth`` equal steps analyses."""
    unseen = pytest.importorskip("graph_compiler.frontends.torch.capture.unrecorded")
    looked, look = [], unseen.KernelMode.__torch_dispatch__
    weight = torch.ones(WIDTH, WIDTH, requires_grad=wants_gradients)

    def function(x: Any) -> Any:
        for _ in range(depth):
            x = torch.tanh(nn.functional.linear(x, weight))
        return x

    def counted(self: Any, called: Any, *rest: Any) -> Any:
        looked.append(called)
        return look(self, called, *rest)

    with monkeypatch.context() as patches:
        patches.setattr(unseen.KernelMode, "__torch_dispatch__", counted)
        graph_compiler.transpile(function, to="numpy", args=(torch.ones(2, WIDTH),))
    return len(looked)


def test_kernels_of_known_calls_are_looked_at_where_gradients_keep_what_they_make(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert kernels_seen(monkeypatch, 4, wants_gradients=False) == kernels_seen(
        monkeypatch, 8, wants_gradients=False
    )
    assert kernels_seen(monkeypatch, 4, wants_gradients=True) < kernels_seen(
        monkeypatch, 8, wants_gradients=True
    )


def test_what_a_known_call_keeps_for_gradients_is_met() -> None:
    def function(x: Any) -> Any:
        with torch.enable_grad():
            given = x.detach().requires_grad_()
            torch.sin(given)
            return torch.sin(given).grad_fn._saved_self * 2

    graph = graph_compiler.transpile(function, to="numpy", args=(torch.ones(3),))
    x = torch.arange(3.0)
    np.testing.assert_allclose(graph(x.numpy()), x.numpy() * 2)
