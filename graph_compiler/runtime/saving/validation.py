"""Validation of graphs from files: valid names and references, and nothing that could call a function."""

from __future__ import annotations

import re
from typing import Any

from ...contracts import Backend, Frontend
from ...errors import InvalidFile
from ...ir import verify
from ...ir.graph import Graph as IRGraph
from ...ir.json import LINE, matching
from ...ir.node import Value, every, values_in
from ...ops.control import runs_blocks
from ...ops.dtypes import ITEMSIZE, KEYS
from ...sizes import Size
from ...trees import Branch, count_leaves, iterate_structure

# Characters allowed in a string parameter of an operation: none that could form a call.
_WORDS = re.compile(r"[\w ,.>+*/\-]*", re.ASCII)
# These parameters are sentences, which the source contains in quotes.
_TEXTS = {"message": LINE}


def validate(graph: IRGraph, parameters: dict[str, Any], frontend: Frontend, backend: Backend) -> None:
    """Raise ``InvalidFile`` if ``save`` could not have written ``graph`` with these parameters."""
    for value in graph.sources():
        if value.dtype not in ITEMSIZE and (value.dtype not in KEYS or value not in graph.inputs):
            raise InvalidFile(f"{value.dtype!r} is no data type")
    held = {
        **{name: (graph.parameters[name], array) for name, array in parameters.items()},
        **graph.constants,
    }
    for name, (value, array) in held.items():
        if tuple(array.shape) != value.spec.hints:
            raise InvalidFile(f"{name} has the shape {tuple(array.shape)} and should have {value.spec.hints}")
    _check_trees(graph)
    if graph.dialect == frontend.name == backend.name:
        _check_results(graph)
        frontend.files.check(graph)
    elif graph.dialect == "canonical":
        _check_words(graph)
    else:
        raise InvalidFile(f"a graph in {graph.dialect} cannot be written for {backend.name}")
    verify(graph)


def _check_trees(graph: IRGraph) -> None:
    tree = graph.input_tree
    if (
        not isinstance(tree, Branch)
        or tree.type is not tuple
        or [getattr(child, "type", None) for child in tree.children] != [tuple, dict]
    ):
        raise InvalidFile("the arguments are not of the right form")
    key = graph.randomness.key
    if count_leaves(tree) != len(graph.inputs) - (key is not None) or (
        key is not None and graph.inputs[-1] is not key
    ):
        raise InvalidFile("the graph has other inputs than its call has arrays")
    if type(graph.outputs) is not list or count_leaves(graph.output_tree) != len(graph.outputs):
        raise InvalidFile("the graph has other outputs than its result has leaves")
    if any(place >= len(graph.outputs) for place in graph.number_outputs):
        raise InvalidFile("the graph has other outputs than its result has leaves")
    if any(
        isinstance(leaf, (str, bytes, complex)) or leaf is None for leaf in iterate_structure(graph.outputs)
    ):
        raise InvalidFile("the graph returns what is no array")
    where = {"argument": range(len(graph.inputs)), "buffer": graph.parameters, "constant": graph.constants}
    if any(
        isinstance(effect.target, (list, dict)) or effect.target not in where[effect.kind]
        for effect in graph.effects
    ):
        raise InvalidFile("the graph writes to what it does not have")


def _check_results(graph: IRGraph) -> None:
    """Raise ``InvalidFile`` unless results of recorded calls hold their outputs.

    The source takes the names of outputs from these results.
    """
    for node in every(graph.nodes):
        if node.regions and not runs_blocks(node.op):
            raise InvalidFile(f"{node.op:.80} runs no blocks")
        if not set(node.outputs) <= set(values_in(node.result)):
            raise InvalidFile(f"the result of {node.op:.80} is none of the values that it makes")


def _check_words(graph: IRGraph) -> None:
    for node in every(graph.nodes):
        for name, item in node.params.items():
            if name.endswith("dtype") and item is not None and item not in ITEMSIZE:
                raise InvalidFile(f"{item!r:.80} is no data type")
            _words(item, _TEXTS.get(name, _WORDS))
        _words(node.inputs)


def _words(item: Any, pattern: re.Pattern[str] = _WORDS) -> None:
    for part in iterate_structure((item,)):
        if isinstance(part, str):
            matching(pattern, part)
        elif not (
            part is None or part is Ellipsis or isinstance(part, (Value, Size, bool, int, float, complex))
        ):
            raise InvalidFile(f"{part!r:.80} has no place in a canonical graph")
