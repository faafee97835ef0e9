"""Decoding of the JSON of saved graphs, and validation of the graphs, because files are untrusted."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...assumptions import KINDS
from ...contracts import Backend, Frontend
from ...errors import InvalidFile
from ...ir import verify
from ...ir.graph import Graph as IRGraph
from ...ir.graph import GraphState
from ...ir.json import LINE, Decoder, KnownClasses, matching
from ...ir.node import Value, every, values_in
from ...ops.control import has_regions
from ...ops.dtypes import ITEMSIZE, KEYS, NARROWED
from ...recording.state.container_updates import updates_from_json
from ...sizes import Size
from ...trees import Branch, count_leaves, iterate_structure
from ..calling.binding import ArgumentBinding, StaticArguments
from .pieces import ENCODED

# ------------------------------------------------------------------------------------------------- validation
# Validation of graphs from files: valid names and references, and nothing that could call a function.

# Characters allowed in a string parameter of an operation: none that could form a call.
_WORDS = re.compile(r"[\w ,.>+*/\-]*", re.ASCII)
# These parameters are sentences, which the source contains in quotes.
_TEXTS = {"message": LINE}


def validate(graph: IRGraph, parameters: dict[str, Any], frontend: Frontend, backend: Backend) -> None:
    """Raise an error if a decoded graph is invalid, or if its arrays have other shapes than it says."""
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
    for node in every(graph.nodes):
        if node.regions and not has_regions(node.op):
            raise InvalidFile(f"{node.op:.80} runs no blocks")
        # The source takes the names of outputs from these results.
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


# ----------------------------------------------------------------------------------------------------- decode
_PARAMETER = inspect.Parameter
_KINDS = {
    kind.name: kind
    for kind in (
        _PARAMETER.POSITIONAL_ONLY,
        _PARAMETER.POSITIONAL_OR_KEYWORD,
        _PARAMETER.VAR_POSITIONAL,
        _PARAMETER.KEYWORD_ONLY,
        _PARAMETER.VAR_KEYWORD,
    )
}
_PLAIN = (bool, int, float, str, type(None))


class _UnknownDefault:
    """Placeholder for a parameter's default that the file does not hold."""

    def __repr__(self) -> str:
        return "..."


UNKNOWN = _UnknownDefault()


def binding_to_json(binding: ArgumentBinding | None) -> Any:
    if binding is None:
        return None
    return {
        "parameters": [_to_json(parameter) for parameter in binding.parameters],
        "seen": sorted(binding.seen),
    }


def binding_from_json(data: Any) -> ArgumentBinding | None:
    if data is None:
        return None
    parameters = tuple(_from_json(entry) for entry in data["parameters"])
    # The constructor raises if the order of parameters is invalid or a name occurs twice.
    inspect.Signature(parameters)
    return ArgumentBinding(parameters, frozenset(map(_identifier, data["seen"])))


def _to_json(parameter: inspect.Parameter) -> list[Any]:
    entry = [parameter.name, parameter.kind.name]
    # The inner list is empty if a file cannot hold the default.
    return (
        entry
        if parameter.default is parameter.empty
        else [*entry, [parameter.default] if _is_plain(parameter.default) else []]
    )


def _from_json(entry: Any) -> inspect.Parameter:
    name, kind, *defaults = entry
    default = inspect.Parameter.empty if not defaults else next(iter(defaults[0]), UNKNOWN)
    if default not in (inspect.Parameter.empty, UNKNOWN) and not _is_plain(default):
        raise InvalidFile(f"{default!r:.80} is no default of a parameter")
    return inspect.Parameter(_identifier(name), _KINDS[kind], default=default)


def _identifier(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidFile(f"{name!r:.80} is no legal name here")
    return name


def _is_plain(item: Any) -> bool:
    return type(item) in _PLAIN and not (type(item) is float and not math.isfinite(item))


FORMAT = "graph_compiler"
VERSION = 2


def read_json(text: bytes) -> Any:
    # Duplicate keys could hide a value that was checked from one that is used.
    return json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_unique_keys)


def _reject_constant(word: str) -> Any:
    raise InvalidFile(f"{word} is no JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidFile("a key stands twice in one object")
    return made


def parse_index(text: bytes) -> Any:
    data = read_json(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidFile("it was not written by graph_compiler")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise InvalidFile(
            f"it has the format version {data.get('version')!r}, and this release reads {VERSION}"
        )
    if not data["variants"]:
        raise InvalidFile("it holds no variant")
    return data


def graphs_of(data: Any, arrays: Mapping[str, Any], frontend: Any, backend: Any) -> list[IRGraph]:
    known = KnownClasses()
    return [
        _graph_of(body, number, arrays, frontend, backend, known)
        for number, body in enumerate(data["variants"])
    ]


def _graph_of(
    body: Any, number: int, arrays: Mapping[str, Any], frontend: Any, backend: Any, known: KnownClasses
) -> IRGraph:
    constants = {name: arrays[f"constants/{number}/{name}"] for name in body["constants"]}
    decoder = Decoder(body, frontend.files.read, constants, KINDS, frontend.files.row_key, known)
    graph = decoder.graph()
    graph.state = GraphState(updates=updates_from_json(body.get("updates"), decoder.item, graph.output_tree))
    validate(graph, {name: arrays[f"parameters/{name}"] for name in graph.parameters}, frontend, backend)
    return graph


def modes_of(data: Any) -> tuple[bool | None, list[list[bool]]]:
    """Return the training mode of a saved graph, or None, and the modes in which each variant can run."""
    training, modes = data.get("training"), data.get("modes", [[True, False]] * len(data["variants"]))
    if len(modes) != len(data["variants"]) or not all(
        isinstance(each, list) and all(type(mode) is bool for mode in each) for each in modes
    ):
        raise InvalidFile("the modes of its variants are not of the right form")
    if training is not None and type(training) is not bool:
        raise InvalidFile(f"{training!r:.80} is no mode of training")
    return training, modes


def statics_of(data: Any) -> StaticArguments | None:
    if data.get("static") is None:
        return None
    names, numbers = data["static"]
    if any(type(number) is not int for number in numbers):
        raise InvalidFile("the places of static arguments are no numbers")
    return StaticArguments.told(list(map(_identifier, names)), numbers)


def dtypes_of(data: Any) -> dict[str, str]:
    return {
        name: dtype
        for number, body in enumerate(data["variants"])
        for name, dtype in _dtypes_of(body, number)
    }


def _dtypes_of(body: Any, number: int) -> Iterator[tuple[str, str]]:
    yield from (
        (f"parameters/{name}", body["values"][place][1]) for name, place in body["parameters"].items()
    )
    yield from (
        (f"constants/{number}/{name}", body["values"][place][1]) for name, place in body["constants"].items()
    )


def require_stored(encoded: str, dtype: str) -> None:
    if encoded not in (ENCODED[dtype], ENCODED[NARROWED.get(dtype, dtype)]):
        raise InvalidFile(f"an array of type {dtype} is stored as {encoded}")


def require_readable(
    text: bytes, arrays: Mapping[str, Any], dtypes: Mapping[str, str], frontend: Any, backend: Any
) -> None:
    data = read_json(text)
    for name, dtype in dtypes_of(data).items():
        if data["array_shapes"][name] != list(arrays[name].shape):
            raise InvalidFile(f"{name} has the shape {tuple(arrays[name].shape)}")
        require_stored(ENCODED[dtypes[name]], dtype)
    graphs_of(data, arrays, frontend, backend)
