"""Graphs as files: JSON and safetensors in a zip or a folder. No pickle, and no stored source: it is written anew from the graph."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import safetensors

from ..errors import GraphCompilerError, GuardFailed, InvalidFile
from ..ir import verify
from ..ir.graph import Graph as IRGraph
from ..ir.graph import Value, values_in
from ..ir.serialisation import KEY, LINE, NAME, Decoder, Encoder, matching, named
from ..ops.dtypes import ITEMSIZE, NARROWED
from ..sizes import Size
from ..tracing import Surroundings
from ..tracing.overlap import NO_ARRAY
from ..trees import Branch, count_leaves, iterate_structure
from .graph import Graph
from .piecewise import FILES, safetensors_of, write
from .pipeline import Options, Pipeline
from .target import Target
from .variant import Recorded, Variant

VERSION = 1
_FORMAT = "graph_compiler"
_WORDS = re.compile(r"[\w ,.>+*/\-]*", re.ASCII)  # what a parameter of an operation may say: nothing that could call
_TEXTS = {"message": LINE}  # parameters that are sentences, and stand in the source in quotes
_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError, GraphCompilerError,
           zipfile.BadZipFile, safetensors.SafetensorError, EOFError, NotImplementedError, SyntaxError, StopIteration)  # fmt: skip


# ------------------------------------------------------------------------------------- writing
def save(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Writes all variants of a graph: into a zip file where ``path`` has a suffix, otherwise into a folder."""
    parameters = graph.parameters
    arrays = {f"parameters/{name}": array for name, array in parameters.items()}
    bodies = []
    for number, variant in enumerate(graph.variants):
        bodies.append(Encoder(variant.graph, graph.pipeline.frontend.files.spell).graph_json())
        arrays.update((f"constants/{number}/{name}", array) for name, array in variant.constants.items())
    target = graph.variants[0].target
    about = {
        "format": _FORMAT,
        "version": VERSION,
        "name": named(graph.name),
        "source": graph.pipeline.frontend.name,
        "target": target.name,
    }
    text = json.dumps(
        {
            **about,
            "trained": sorted(graph.trained),
            "array_shapes": {name: list(a.shape) for name, a in arrays.items()},
            "variants": bodies,
        },
        allow_nan=False,
    ).encode()
    write(Path(path), dict(zip(FILES, ([text], safetensors_of(arrays, target.to_bytes)))))


# ------------------------------------------------------------------------------------- reading
@dataclass
class LoadedPipeline(Pipeline):
    """Writes what was recorded elsewhere; records nothing."""

    has_original: ClassVar[bool] = False
    _arrays: dict[str, Any] = field(init=False, default_factory=dict)  # of all variants, in the target's framework

    def native_weights(self, recorded: Recorded, graph: IRGraph) -> Any:
        """The arrays of the file: there are no objects of the user's that hold them."""
        for name, array in recorded.weights.arrays.items():
            if name not in self._arrays:
                self._arrays[name] = self.target.target.adopt(array)
        return _Arrays(self._arrays, list(graph.parameters))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant:
        raise GuardFailed(
            f"{self.name} was loaded from a file, so there is no original to record again, and this call fits none of its variants: {why}"
        )


class _Arrays:
    """Called, the arrays of these names; nobody but the graph itself replaces one."""

    dicts: tuple[dict[str, Any], ...] = ()

    def __init__(self, arrays: dict[str, Any], names: list[str]) -> None:
        self._arrays, self._names = arrays, names

    @property
    def current(self) -> dict[str, Any]:
        return self._arrays if self._names == list(self._arrays) else {name: self._arrays[name] for name in self._names}

    def refresh(self) -> None:
        """Nothing has changed."""

    def leave(self, name: str, array: Any) -> None:
        """Puts another array in the place of a buffer."""
        self._arrays[name] = array

    def __call__(self) -> dict[str, Any]:
        return self.current


class _Held:
    """Arrays in the place of a model's weights, of which these are trained."""

    def __init__(self, arrays: dict[str, Any], trained: frozenset[str]) -> None:
        self.arrays, self._trained = arrays, trained

    def live(self, names: Iterable[str]) -> _Arrays:
        return _Arrays(self.arrays, list(names))

    def rebind(self, name: str, array: Any) -> None:
        self.arrays[name] = array

    def is_trained(self, name: str) -> bool:
        return name in self._trained


def load(
    path: str | os.PathLike[str], to: str | None, frontend_of: Callable[[str], ModuleType], backend_of: Callable[[str], ModuleType]
) -> Graph:
    """See :func:`graph_compiler.load`."""
    files = _read(Path(path))
    try:
        data = _checked_json(files)
        name, source, written_for = matching(KEY, data["name"]), matching(NAME, data["source"]), matching(NAME, data["target"])
        frontend, backend = frontend_of(source), backend_of(written_for)
        target = backend if to is None else backend_of(to)
        graphs, arrays = _graphs(data, files, frontend, backend, target.target)
        trained = frozenset(map(str, data.get("trained", arrays)))  # the first files do not say
    except _DAMAGE as problem:
        raise (
            problem
            if isinstance(problem, InvalidFile)
            else InvalidFile(f"{path} is no readable saved graph: {type(problem).__name__}: {problem}")
        ) from problem
    pipeline = LoadedPipeline(_nothing, name, frontend, target, graphs[0].dialect == target.name, Options(), backend_of)
    graph, held = Graph(pipeline, pipeline.name, max_variants=len(graphs) + 1), _Held(arrays, trained)
    try:
        for one in graphs:
            graph.adopt(pipeline.written(Recorded(one, held), Surroundings(), "loaded"))
    except _DAMAGE as problem:
        if to not in (None, written_for) and isinstance(problem, GraphCompilerError):
            raise
        raise InvalidFile(f"{path} holds a graph that cannot be written: {type(problem).__name__}: {problem}") from problem
    return graph


def _nothing(*args: Any, **kwargs: Any) -> Any:
    raise GuardFailed("a loaded graph has no original")


def _read(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        missing = [name for name in FILES if not (path / name).is_file()]
        if missing:
            raise InvalidFile(f"{path} is no saved graph: {', '.join(missing)} is missing")
        return {name: (path / name).read_bytes() for name in FILES}
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.is_file():  # a pipe would be waited for
        raise InvalidFile(f"{path} is no file")
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist()}
            if sorted(archive.namelist()) != sorted(FILES) or any(info.compress_type != zipfile.ZIP_STORED for info in infos.values()):
                raise InvalidFile(f"{path} is no saved graph: it holds {', '.join(infos) or 'nothing'}")
            return {name: archive.read(name) for name in FILES}
    except (*_DAMAGE, OSError) as problem:
        raise (
            problem if isinstance(problem, InvalidFile) else InvalidFile(f"{path} is no saved graph, or a damaged one: {problem}")
        ) from problem


def _json(text: bytes) -> Any:
    """JSON as its standard has it: without NaN, and without a key that stands twice, of which two readers may take another one each."""
    return json.loads(text, parse_constant=_refused, object_pairs_hook=_unique)


def _refused(word: str) -> Any:
    raise InvalidFile(f"{word} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidFile("a key stands twice in one object")
    return made


def _checked_json(files: dict[str, bytes]) -> Any:
    data = _json(files["graph.json"])
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise InvalidFile("it was not written by graph_compiler")
    if data.get("version") != VERSION:
        raise InvalidFile(f"it has the format version {data.get('version')!r}, and this release reads {VERSION}")
    digest = _json(files["digest.json"])
    for name in FILES[:2]:
        if digest.get(name) != hashlib.sha256(files[name]).hexdigest():
            raise InvalidFile(f"{name} was altered or damaged since it was saved")
    if not data["variants"]:
        raise InvalidFile("it holds no variant")
    return data


def _graphs(
    data: Any, files: dict[str, bytes], frontend: ModuleType, backend: ModuleType, target: Target
) -> tuple[list[IRGraph], dict[str, Any]]:
    """The graphs and their parameters: arrays of ``target`` in canonical graphs, of the source where its own calls were saved.

    What the file holds of the arrays is let go piece by piece, for memory has no place for all weights three times.
    """
    native = target if data["variants"][0]["dialect"] == "canonical" else backend.target
    entries = dict(safetensors.deserialize(files.pop("arrays.safetensors")))  # type: ignore[no-untyped-call]
    dtypes = {name: dtype for body in data["variants"] for name, dtype in _dtypes_of(body, data["variants"].index(body))}
    arrays = {name: _array(entries.pop(name), dtypes[name], data["array_shapes"][name], native) for name in tuple(entries)}
    graphs = []
    for number, body in enumerate(data["variants"]):
        constants = {name: arrays[f"constants/{number}/{name}"] for name in body["constants"]}
        graph = Decoder(body, frontend.files.read, constants).graph()
        parameters = {name: arrays[f"parameters/{name}"] for name in graph.parameters}
        _check(graph, parameters, frontend, backend)
        graphs.append(graph)
    return graphs, {name.removeprefix("parameters/"): array for name, array in arrays.items() if name.startswith("parameters/")}


def _dtypes_of(body: Any, number: int) -> Iterable[tuple[str, str]]:
    """Names in the safetensors file -> dtypes of the graph."""
    yield from ((f"parameters/{name}", body["values"][place][1]) for name, place in body["parameters"].items())
    yield from ((f"constants/{number}/{name}", body["values"][place][1]) for name, place in body["constants"].items())


def _array(entry: Any, dtype: str, shape: Any, target: Any) -> Any:
    width, count = ITEMSIZE[dtype], 1
    for size in shape:
        if type(size) is not int or not 0 <= size < 1 << 48:
            raise InvalidFile(f"{size!r} is no size of an array")
        count *= size
    stored = bytes(entry["data"])
    if len(stored) != width * count and len(stored) * 2 == width * count and width == ITEMSIZE[NARROWED.get(dtype, dtype)] * 2:
        stored = np.frombuffer(stored, NARROWED[dtype]).astype(dtype).tobytes()  # saved from a framework without the wide type
    elif len(stored) != width * count:
        raise InvalidFile(f"an array of type {dtype} and shape {shape} has {len(stored)} bytes")
    return target.from_bytes(stored, dtype, tuple(shape))


# ------------------------------------------------------------------------------------- what a graph from outside must keep to
def _check(graph: IRGraph, parameters: dict[str, Any], frontend: ModuleType, backend: ModuleType) -> None:
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
    keyed = "key" in graph.notes
    if count_leaves(tree) != len(graph.inputs) - keyed or (keyed and graph.inputs[-1] is not graph.notes["key"]):
        raise InvalidFile("the graph has other inputs than its call has arrays")
    if type(graph.outputs) is not list or count_leaves(graph.output_tree) != len(graph.outputs):
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
    if not isinstance(graph.notes.get("source_only", ""), str):
        raise InvalidFile("source_only is no text")
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
