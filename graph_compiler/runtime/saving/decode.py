"""Decoding of the JSON of saved graphs, for ``load`` and for the check that ``save`` makes."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from ...assumptions import KINDS
from ...errors import InvalidFile
from ...ir.graph import Graph as IRGraph
from ...ir.graph import GraphState
from ...ir.json import NAME, Decoder, KnownClasses, matching
from ...ops.dtypes import NARROWED
from ...recording.state.container_updates import updates_from_json
from ..calling.binding import ArgumentBinding
from ..calling.static_arguments import StaticArguments
from .pieces import ENCODED
from .validation import validate

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
    """Placeholder for a parameter's default that the file does not hold. No argument equals it."""

    def __repr__(self) -> str:
        return "..."


UNKNOWN = _UnknownDefault()


def binding_to_json(binding: ArgumentBinding | None) -> Any:
    """Encode the parameters of a binding and its ``seen``. Return None if there is no binding.

    A parameter is ``[name, kind]``, or ``[name, kind, [default]]`` if it has a default. If a file cannot
    hold the default, the inner list is empty.
    """
    if binding is None:
        return None
    return {
        "parameters": [_to_json(parameter) for parameter in binding.parameters],
        "seen": sorted(binding.seen),
    }


def binding_from_json(data: Any) -> ArgumentBinding | None:
    """Decode what :func:`binding_to_json` encoded.

    For anything else, raise ``InvalidFile`` or another error that :func:`load` converts to it.
    """
    if data is None:
        return None
    parameters = tuple(_from_json(entry) for entry in data["parameters"])
    # The constructor raises if the order of parameters is invalid or a name occurs twice.
    inspect.Signature(parameters)
    return ArgumentBinding(parameters, frozenset(matching(NAME, name) for name in data["seen"]))


def _to_json(parameter: inspect.Parameter) -> list[Any]:
    entry = [parameter.name, parameter.kind.name]
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
    return inspect.Parameter(matching(NAME, name), _KINDS[kind], default=default)


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
    """Parse the JSON of a saved graph.

    Raise ``InvalidFile`` unless it has this format and version and at least one variant.
    """
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
    """Return the validated graphs of all variants.

    `arrays` holds constants and parameters by name in the file. Raise ``InvalidFile``, or another error
    that :func:`load` converts to it, if the data is malformed.
    """
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
    """Return the model's training mode (or None), and for each variant the modes that it answers in.

    Variants of files without this entry answer in both modes. Raise ``InvalidFile`` for malformed data.
    """
    training, modes = data.get("training"), data.get("modes", [[True, False]] * len(data["variants"]))
    if len(modes) != len(data["variants"]) or any(type(mode) is not bool for each in modes for mode in each):
        raise InvalidFile("the modes of its variants are not of the right form")
    if training is not None and type(training) is not bool:
        raise InvalidFile(f"{training!r:.80} is no mode of training")
    return training, modes


def statics_of(data: Any) -> StaticArguments | None:
    """Return the static arguments; None if there are none, or the file has no such entry.

    Raise ``InvalidFile`` for malformed data.
    """
    if data.get("static") is None:
        return None
    names, numbers = data["static"]
    if any(type(number) is not int for number in numbers):
        raise InvalidFile("the places of static arguments are no numbers")
    return StaticArguments.told([matching(NAME, name) for name in names], numbers)


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
    """Raise an error, such as ``InvalidFile``, if a graph with this JSON could not be loaded.

    `dtypes` holds the names of the dtypes of `arrays`.
    """
    data = read_json(text)
    for name, dtype in dtypes_of(data).items():
        if data["array_shapes"][name] != list(arrays[name].shape):
            raise InvalidFile(f"{name} has the shape {tuple(arrays[name].shape)}")
        require_stored(ENCODED[dtypes[name]], dtype)
    graphs_of(data, arrays, frontend, backend)
