"""What the source of a graph says of itself: what it was recorded with, and while what it holds."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from ..codegen import WIDTH
from ..ir.graph import Graph as IRGraph
from ..ir.node import Value, count_all

if TYPE_CHECKING:
    from .pipeline import Pipeline

_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def header_of(pipeline: Pipeline, recorded: IRGraph, graph: IRGraph, counts: str) -> str:
    """Return the docstring of a generated module; ``counts`` is what stands in front of the number of operations."""
    frontend, target = pipeline.frontend.name, pipeline.target.name
    what = f"recorded in {frontend} and written for {target}" if frontend != target else f"recorded in {frontend}"
    inputs = ", ".join(f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in recorded.inputs)
    operations = count_all(graph.nodes)
    counted = f"{counts}{operations} operation{'' if operations == 1 else 's'}"
    told = [f"Recorded with {inputs or 'no arrays'}; sizes are symbolic. {counted}."]
    if graph.guards:
        told += _conditions(graph)
    lines: list[str] = []
    for text in told:
        lines += [text] if len(text) <= WIDTH else textwrap.wrap(text, WIDTH, **_WORDS)
    return "\n".join([f"{pipeline.name}, {what}.", "", *lines])


def _conditions(graph: IRGraph) -> list[str]:
    told = []
    if holds := dict.fromkeys(repr(guard.condition) for guard in graph.entry_guards()):
        told.append(f"Holds while: {', '.join(holds)}.")
    if checked := [f"{guard.condition.name} is {guard.expected!r:.40}" for guard in graph.guards if isinstance(guard.condition, Value)]:
        told.append(f"Checked after the call: {', '.join(checked)}.")
    return told
