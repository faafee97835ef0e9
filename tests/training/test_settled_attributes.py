"""Tests of models that set a Python attribute in their first call: it is no state if later calls do not
change it.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler import training  # noqa: E402
from graph_compiler.errors import NotCompilable  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402

TARGETS = ["torch", "jax", "tensorflow"]


class Choosing(torch.nn.Module):
    """A model that chooses its loss by the first labels, as classifiers of transformers do."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.config = torch.nn.Linear(3, 2), types.SimpleNamespace(kind=None, seen={})

    def forward(self, x: Any, labels: Any) -> Any:
        if self.config.kind is None:
            self.config.kind = "classes" if labels.dtype == torch.int64 else "numbers"
        outputs = self.linear(x)
        if self.config.kind == "classes":
            return torch.nn.functional.cross_entropy(outputs, labels)
        return (outputs[:, 0] - labels).square().mean()


class InTwoCalls(Choosing):
    def forward(self, x: Any, labels: Any) -> Any:
        if self.config.kind is not None:
            self.config.seen["name"] = self.config.kind
        return super().forward(x, labels) * (2 if "name" in self.config.seen else 3)


class Counting(Choosing):
    def forward(self, x: Any, labels: Any) -> Any:
        self.config.seen["calls"] = f"{self.config.seen.get('calls', '')}I"
        return super().forward(x, labels)


class Alternating(Choosing):
    def forward(self, x: Any, labels: Any) -> Any:
        self.config.kind = "numbers" if self.config.kind == "classes" else "classes"
        return self.linear(x).sum() if self.config.kind == "classes" else self.linear(x).mean()


LABELS = {"classes": torch.tensor([0, 1, 1, 0]), "numbers": torch.tensor([0.5, -1.0, 2.0, 0.0])}
INPUTS = torch.linspace(-1, 1, 12).reshape(4, 3)


def by_torch(model: Any, labels: Any, steps: int) -> dict[str, Any]:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(INPUTS, labels).backward()
        optimizer.step()
    return dict(model.state_dict())


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("kind", LABELS)
def test_an_attribute_that_is_set_once_is_no_state(kind: str, to: str) -> None:
    pytest.importorskip(to)
    labels = LABELS[kind]
    model = Choosing()
    optimizer = training.optimizer("sgd", learning_rate=0.1)
    example = (INPUTS[:2], labels[:2])
    state = training.TrainState.create(model, optimizer, loss=lambda loss, _: loss, to=to, args=example)
    for _ in range(3):
        state, metrics = training.single_train_step(state, ((INPUTS, labels), None))
    assert model.config.kind == kind and not state.held.places
    found = {name: to_numpy(state.parameters[name]) for name in model.state_dict()}
    assert_same(found, by_torch(Choosing(), labels, 3))
    assert float(to_numpy(metrics["loss"])) > 0


def test_attributes_that_are_set_one_after_the_other() -> None:
    model = InTwoCalls()
    state = training.TrainState.create(
        model, "sgd", loss=lambda loss, _: loss, args=(INPUTS, LABELS["classes"])
    )
    _, metrics = training.single_train_step(state, ((INPUTS, LABELS["classes"]), None))
    assert model.config.seen == {"name": "classes"}
    assert_same(metrics["loss"], model(INPUTS, LABELS["classes"]).detach())


@pytest.mark.parametrize("make", [Counting, Alternating])
def test_an_attribute_that_calls_change_is_state(make: Callable[[], Any]) -> None:
    model = make()
    before = (model.config.kind, dict(model.config.seen))
    with pytest.raises(NotCompilable, match=r"keeps config.*no array"):
        training.TrainState.create(model, "sgd", loss=lambda loss, _: loss, args=(INPUTS, LABELS["classes"]))
    assert make is Alternating or model.config.seen == before[1]


def test_a_module_of_a_graph_has_no_place_for_what_calls_change_alone() -> None:
    model = Choosing()
    graph = graph_compiler.compile(model, args=(INPUTS, LABELS["classes"]))
    with pytest.raises(NotCompilable, match=r"keeps state in config\.kind"):
        graph.as_module()
    graph(INPUTS, LABELS["classes"])
    graph(INPUTS, LABELS["classes"])
    assert not graph.state
    assert_same(graph.as_module()(INPUTS, LABELS["classes"]), model(INPUTS, LABELS["classes"]))


@pytest.mark.parametrize(
    "labels", [torch.tensor([0, 1]), torch.tensor([[0.0, 1.0], [1.0, 1.0]])], ids=["single", "multi"]
)
def test_a_classifier_of_transformers(labels: Any) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.DistilBertConfig(
        vocab_size=20, dim=8, n_layers=1, n_heads=2, hidden_dim=8, dropout=0.0, attention_dropout=0.0
    )
    config.seq_classif_dropout = 0.0
    model = transformers.DistilBertForSequenceClassification(config)
    batch = {"input_ids": torch.arange(10).reshape(2, 5), "labels": labels}
    state = training.TrainState.create(
        model, "sgd", loss=lambda outputs, _: outputs.loss, to="jax", kwargs=batch
    )
    _, metrics = training.single_train_step(state, (batch, None))
    assert_same(to_numpy(metrics["loss"]), model(**batch).loss.detach())
