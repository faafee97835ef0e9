"""What a graph from outside must keep to: names that are names, places that there are, and nothing that could call."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

from ..errors import InvalidFile
from ..ir import verify
from ..ir.graph import Graph as IRGraph
from ..ir.node import Value, values_in
from ..ir.serialisation import LINE, NAME, matching
from ..ops.dtypes import ITEMSIZE
from ..sizes import Size
from ..tracing.overlap import NO_ARRAY
from ..trees import Branch, count_leaves, iterate_structure

_WORDS = re.compile(r"[\w ,.>+*/\-]*", re.ASCII)  # what a parameter of an operation may say: nothing that could call
_TEXTS = {"message": LINE}  # parameters that are sentences, and stand in the source in quotes


def validate(graph: IRGraph, parameters: dict[str, Any], frontend: ModuleType, backend: ModuleType) -> None:
    """``InvalidFile`` where a graph that was read, with these arrays for its parameters, is none that ``save`` could have written."""
    for value in graph.sources():
        if value.dtype not in ITEMSIZE:
            raise InvalidFile(f"{value.dtype!r} is no data type")
    held = {**{name: (graph.parameters[name], array) for name, array in parameters.items()}, **graph.constants}
    for name, (value, array) in held.items():
        if tuple(array.shape) != value.spec.hints:
            raise InvalidFile(f"{name} has the shape {tuple(array.shape)} and should have {value.spec.hints}")
    _check_trees(graph)
    _check_notes(graph)
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
    if not isinstance(tree, Branch) or tree.type is not tuple or [getattr(child, "type", None) for child in tree.children] != [tuple, dict]:
        raise InvalidFile("the arguments are not of the right form")
    key = graph.randomness.key
    if count_leaves(tree) != len(graph.inputs) - (key is not None) or (key is not None and graph.inputs[-1] is not key):
        raise InvalidFile("the graph has other inputs than its call has arrays")
    if type(graph.outputs) is not list or count_leaves(graph.output_tree) != len(graph.outputs):
        raise InvalidFile("the graph has other outputs than its result has leaves")
    if any(place >= len(graph.outputs) for place in graph.number_outputs):
        raise InvalidFile("the graph has other outputs than its result has leaves")
    if any(isinstance(leaf, (str, bytes, complex)) or leaf is None for leaf in iterate_structure(graph.outputs)):
        raise InvalidFile("the graph returns what is no array")
    where = {"argument": range(len(graph.inputs)), "buffer": graph.parameters, "constant": graph.constants}
    if any(isinstance(effect.target, (list, dict)) or effect.target not in where[effect.kind] for effect in graph.effects):
        raise InvalidFile("the graph writes to what it does not have")


def _check_notes(graph: IRGraph) -> None:
    """These become source of the code that matches calls."""
    count = len(graph.inputs)
    for name in ("same_inputs", "written_inputs"):
        places = graph.notes.get(name, ())
        if not isinstance(places, (list, tuple)) or not all(type(place) is int and NO_ARRAY <= place < count for place in places):
            raise InvalidFile(f"{name} are no places of inputs")
    extra = graph.notes.get("extra_keywords", ())
    if not isinstance(extra, tuple) or not all(isinstance(name, str) for name in extra):
        raise InvalidFile("extra_keywords are no names")
    if len(graph.notes.get("same_inputs", ())) > count:
        raise InvalidFile("there are fewer inputs")
    for fact, expected in graph.notes.get("input_facts", {}).items():
        matching(NAME, fact)
        if not isinstance(expected, list) or len(expected) > count or not all(map(_is_fact, expected)):
            raise InvalidFile(f"{fact} is no fact of inputs")
    attributes = graph.notes.get("input_attributes", [])
    if not isinstance(attributes, list) or not all(_is_attribute(row, count) for row in attributes):
        raise InvalidFile("input_attributes are none of inputs")
    rows = graph.notes.get("bounds", [])
    if not isinstance(rows, list) or not all(_is_bound(row, graph.inputs) for row in rows):
        raise InvalidFile("bounds are those of no inputs")


def _is_fact(item: Any) -> bool:
    """Yes or no, or the order of axes in memory."""
    return type(item) is bool or isinstance(item, tuple) and all(type(number) is int for number in item)


def _is_attribute(row: Any, count: int) -> bool:
    """The place of an input, the name of an attribute, and what it holds, as text."""
    if not isinstance(row, tuple) or len(row) != 3 or type(row[0]) is not int or not isinstance(row[1], str):
        return False
    return 0 <= row[0] < count and isinstance(row[2], (str, type(None)))


def _is_bound(row: Any, inputs: list[Value]) -> bool:
    """An input, where its elements begin and end, and one that is allowed besides; sizes are those of inputs."""
    if not isinstance(row, tuple) or len(row) != 4 or not isinstance(row[0], Value) or row[0] not in inputs:
        return False
    if not all(type(item) is int or isinstance(item, Size) for item in row[1:3]) or type(row[3]) not in (int, type(None)):
        return False
    symbols = [symbol for item in row[1:3] if isinstance(item, Size) for symbol in item.symbols()]
    return all(symbol.source in inputs and symbol.kind == "size" for symbol in symbols)


def _check_results(graph: IRGraph) -> None:
    """What a recorded call gives is where its source takes names from."""
    for node in graph.nodes:
        if "result" in node.facts and not set(node.outputs) <= set(values_in(node.facts["result"])):
            raise InvalidFile(f"the result of {node.op:.80} is none of the values that it makes")


def _check_words(graph: IRGraph) -> None:
    for node in graph.nodes:
        for name, item in node.params.items():
            if name.endswith("dtype") and item is not None and item not in ITEMSIZE:
                raise InvalidFile(f"{item!r:.80} is no data type")
            _words(item, _TEXTS.get(name, _WORDS))
        _words(node.inputs)


def _words(item: Any, pattern: re.Pattern[str] = _WORDS) -> None:
    for part in iterate_structure((item,)):
        if isinstance(part, str):
            matching(pattern, part)
        elif not (part is None or part is Ellipsis or isinstance(part, (Value, Size, bool, int, float, complex))):
            raise InvalidFile(f"{part!r:.80} has no place in a canonical graph")
