"""Tests of training flags: a recording depends on those that it reads, and does not change torch's modules."""

from __future__ import annotations

import pytest
import torch

import graph_compiler
from graph_compiler.assumptions import InputAttribute
from graph_compiler.frontends.torch.state.reads import MODULE_READS, TRAINING, reads_unseen
from graph_compiler.recording.patches import PatchSet, Session, patching


class Quiet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inner(x))


class Own(torch.nn.Module):
    """A class with its own ``training`` attribute, whose reads are not observed."""

    training = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if self.training else x


def test_a_flag_that_nobody_read_does_not_matter() -> None:
    model = Quiet()
    graph = graph_compiler.compile(model, args=(torch.ones(1, 2),))
    model.eval()
    graph(torch.ones(3, 2))
    assert len(graph.variants) == 1


@pytest.mark.parametrize(
    "model", [torch.nn.Sequential(Quiet(), torch.nn.Dropout(1.0)), Own()], ids=["dropout", "own"]
)
def test_a_flag_that_was_read_does(model: torch.nn.Module) -> None:
    graph, x = graph_compiler.compile(model, args=(torch.ones(3, 2),)), torch.ones(3, 2)
    model.eval()
    assert torch.equal(graph(x), model(x))
    model.train()
    assert torch.equal(graph(x), model(x))
    assert len(graph.variants) == 2


def test_a_module_that_no_search_finds_is_watched_too() -> None:
    hidden = {"deep": [torch.nn.Dropout(1.0)]}

    def function(x: torch.Tensor) -> torch.Tensor:
        return hidden["deep"][0](x)

    graph, x = graph_compiler.compile(function, args=(torch.ones(2),)), torch.ones(2)
    hidden["deep"][0].eval()
    assert torch.equal(graph(x), x)


def test_setting_and_deleting_while_flags_are_watched() -> None:
    module, probes = torch.nn.Linear(1, 1), PatchSet(*MODULE_READS)
    with patching(probes, Session()) as outer, patching(probes, Session()) as inner:
        module.training = False
        assert module.training is False
        del module.training
        assert not hasattr(module, "training")
    assert outer.noted(TRAINING) == inner.noted(TRAINING) == [module]
    assert "training" not in vars(torch.nn.Module)
    assert reads_unseen(Own()) and not reads_unseen(module)


def test_nothing_stays_patched_when_the_function_raises() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        graph_compiler.compile(fails, args=(torch.ones(1),))
    assert "training" not in vars(torch.nn.Module)


def test_attributes_that_the_recording_asks_for_itself_do_not_matter() -> None:
    weight = torch.ones(3, requires_grad=True)

    def step(x: torch.Tensor) -> torch.Tensor:
        (x * weight * 2).sum().backward()
        with torch.no_grad():
            weight.sub_(weight.grad)
        return weight * 1

    graph = graph_compiler.compile(step, args=(torch.ones(3),))
    assert not graph.variants[0].graph.assumed(InputAttribute)
    assert not any("attribute" in fact.what for fact in graph.variants[0].environment._guards)
