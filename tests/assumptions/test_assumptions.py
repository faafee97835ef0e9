"""Tests of every kind of assumption: checked, described, kept by lifting, saved and loaded; invalid JSON is
refused.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import graph_compiler
from graph_compiler.assumptions import KINDS, IndexBounds, in_order
from graph_compiler.errors import GuardFailed, InvalidFile, InvalidGraph
from graph_compiler.ir import Graph, Guard, Origin, Value
from graph_compiler.ir.assumption import Assumption
from graph_compiler.ir.json import Decoder, Encoder
from graph_compiler.ops.registry import ArraySpec
from graph_compiler.runtime.calling.mismatch import why_missed
from graph_compiler.sizes import Size, Symbol, apply

from .samples import SAMPLES, Sample

each = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def made(sample: Sample) -> Any:
    args, kwargs = sample.recorded()
    return graph_compiler.transpile(sample.function, to=sample.to, args=args, kwargs=kwargs)


def assumed(sample: Sample, graph: Graph) -> Assumption:
    return next(one for one in in_order(graph) if type(one) is sample.kind)


def original(sample: Sample, call: Any) -> Any:
    args, kwargs = call
    return sample.function(*args, **kwargs).detach().numpy()


def result(graph: Any, call: Any) -> Any:
    args, kwargs = call
    found = graph(*args, **kwargs)
    return found.detach().numpy() if isinstance(found, torch.Tensor) else found


@each
def test_a_call_that_keeps_it_fits(sample: Sample) -> None:
    graph = made(sample)
    assumed(sample, graph.variants[0].graph)
    assert (result(graph, sample.keeps()) == original(sample, sample.keeps())).all()
    assert len(graph.variants) == 1


@each
def test_a_call_that_breaks_it_does_not_fit(sample: Sample) -> None:
    graph = made(sample)
    (variant,) = graph.variants
    args, kwargs = sample.breaks()
    assert (variant.matching.match(args, kwargs) is not None) == sample.is_after
    if sample.raises is not None:
        with pytest.raises(sample.raises):
            graph(*args, **kwargs)
    else:
        assert (result(graph, sample.breaks()) == original(sample, sample.breaks())).all()
        assert len(graph.variants) == 2
    assert re.search(sample.words, why_missed(variant, *sample.breaks()))


@each
def test_a_graph_for_another_framework_makes_it_too(sample: Sample) -> None:
    args, kwargs = sample.recorded()
    graph = graph_compiler.transpile(sample.function, to="numpy", args=args, kwargs=kwargs)
    assumption = assumed(sample, graph.variants[0].graph)
    assert assumption.mapped(lambda item: item) == assumption
    assert (result(graph, sample.keeps()) == original(sample, sample.keeps())).all()
    assert len(graph.variants) == 1


def test_sizes_in_it_become_those_of_the_other_graph() -> None:
    size = Size.of(Symbol(Value("x", ArraySpec((3, 2), "float32")), 0, 3))
    changed = {size: 7, apply("eq", size, 3): True}
    assert IndexBounds(0, size, size).mapped(lambda item: changed.get(item, item)) == IndexBounds(0, 7, 7)
    assert IndexBounds(0, 1, size).mapped(lambda item: changed.get(item, item)) == IndexBounds(0, 1, 7)
    holds_always = Guard(apply("eq", size, 3), True, Origin())
    assert holds_always.mapped(lambda item: changed.get(item, item)) is None
    assert Guard(size, True, Origin("f.py", 3), 0.5).mapped(lambda item: changed.get(item, item)) == Guard(
        7, True, Origin("f.py", 3), 0.5
    )


@each
def test_it_is_the_same_after_a_file(sample: Sample) -> None:
    graph = made(sample).variants[0].graph
    encoder = Encoder(graph, lambda item: None)
    for value in graph.sources():
        encoder.number(value)
    assumption = assumed(sample, graph)
    data = json.loads(json.dumps(assumption.to_json(encoder), allow_nan=False))
    again = KINDS[assumption.kind].from_json(data, reader(encoder.values, graph.inputs))
    assert again == assumption
    assert type(again) is type(assumption)


@each
def test_a_loaded_graph_checks_it(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    made(sample).save(path)
    graph = graph_compiler.load(path)
    assert (result(graph, sample.keeps()) == original(sample, sample.keeps())).all()
    with pytest.raises(GuardFailed, match=sample.words):
        result(graph, sample.breaks())


@each
def test_hostile_data_is_refused(sample: Sample) -> None:
    values = [
        Value("x", ArraySpec((3, 2), "float32")),
        Value("y", ArraySpec((3, 2), "float32")),
        Value("z", ArraySpec((3, 2), "float32")),
    ]
    for data in sample.hostile:
        with pytest.raises(InvalidFile):
            KINDS[sample.kind.kind].from_json(data, reader(values, values[:2]))  # type: ignore[attr-defined]


def reader(values: list[Value], inputs: list[Value]) -> Decoder:
    """Return a decoder of JSON with these values."""
    decoder = Decoder(
        {"values": [[value.name, value.dtype, list(value.spec.hints)] for value in values]},
        lambda text: None,
        {},
        KINDS,
        str,
    )
    decoder.values, decoder.inputs = list(values), inputs
    return decoder


def test_every_kind_has_a_sample() -> None:
    assert {sample.kind for sample in SAMPLES} == set(KINDS.values())


def test_no_note_is_left(checkout: Path) -> None:
    """What a stage tells the next one about a graph must be a typed field, not an arbitrary attribute."""
    files = [
        file
        for room in ("graph_compiler", "frontends", "backends")
        for file in (checkout / room).rglob("*.py")
    ]
    assert len(files) > 300
    assert [str(file) for file in files if ".notes" in file.read_text(encoding="utf-8")] == []


@dataclasses.dataclass(frozen=True)
class Unlisted:
    kind: ClassVar[str] = "unlisted"


def test_a_kind_without_a_row_says_where_it_belongs() -> None:
    graph = Graph("f", "canonical")
    graph.assume(Unlisted())  # type: ignore[arg-type]
    with pytest.raises(
        InvalidGraph,
        match=r"Unlisted is not in the table of assumptions: add it to _ORDER in graph_compiler/assumptions",
    ):
        in_order(graph)
