"""Reads graphs from the files that ``saving`` writes. Nothing in them is executed."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import safetensors

from ..errors import FrameworkNotInstalled, GraphCompilerError, GuardFailed, InvalidFile
from ..ir.graph import Graph as IRGraph
from ..ir.serialisation import KEY, NAME, Decoder, matching
from ..ops.dtypes import ITEMSIZE, NARROWED
from ..tracing import Surroundings
from .absent import Absent
from .graph import Graph
from .loaded import Held, LoadedPipeline
from .piecewise import ENCODED, FILES
from .pipeline import Options
from .saving import FORMAT, VERSION
from .target import Target
from .validation import validate
from .variant import Recorded

_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError, GraphCompilerError,
           zipfile.BadZipFile, safetensors.SafetensorError, EOFError, NotImplementedError, SyntaxError, StopIteration)  # fmt: skip


def load(
    path: str | os.PathLike[str], to: str | None, frontend_of: Callable[[str], ModuleType], backend_of: Callable[[str], ModuleType]
) -> Graph:
    """See :func:`graph_compiler.load`."""
    files = _read(Path(path))
    try:
        data = _checked_json(files)
        name, source, written_for = matching(KEY, data["name"]), matching(NAME, data["source"]), matching(NAME, data["target"])
        frontend, backend = _frontend(source, data, frontend_of), backend_of(written_for)
        target = backend if to is None else backend_of(to)
        graphs, arrays = _graphs(data, files, frontend, backend, target.target)
        trained = frozenset(map(str, data.get("trained", arrays)))  # the first files do not say
    except _DAMAGE as problem:
        raise (
            problem
            if isinstance(problem, (InvalidFile, FrameworkNotInstalled))
            else InvalidFile(f"{path} is no readable saved graph: {type(problem).__name__}: {problem}")
        ) from problem
    pipeline = LoadedPipeline(_nothing, name, frontend, target, graphs[0].dialect == target.name, Options(), backend_of)
    graph, held = Graph(pipeline, pipeline.name, max_variants=len(graphs) + 1), Held(arrays, trained)
    try:
        for one in graphs:
            graph.adopt(pipeline.written(Recorded(one, held), Surroundings(), "loaded"))
    except _DAMAGE as problem:
        if to not in (None, written_for) and isinstance(problem, GraphCompilerError):
            raise
        raise InvalidFile(f"{path} holds a graph that cannot be written: {type(problem).__name__}: {problem}") from problem
    return graph


def _frontend(name: str, data: Any, frontend_of: Callable[[str], ModuleType]) -> Any:
    """The frontend of the framework that was recorded; where that is not installed, a stand-in will do for canonical graphs."""
    try:
        return frontend_of(name)
    except FrameworkNotInstalled as problem:
        if any(body["dialect"] != "canonical" for body in data["variants"]):
            raise
        return Absent(name, problem)


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
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidFile("it was not written by graph_compiler")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise InvalidFile(f"it has the format version {data.get('version')!r}, and this release reads {VERSION}")
    digest = _json(files["digest.json"])
    for name in FILES[:2]:
        if digest.get(name) != hashlib.sha256(files[name]).hexdigest():
            raise InvalidFile(f"{name} was altered or damaged since it was saved")
    if not data["variants"]:
        raise InvalidFile("it holds no variant")
    return data


def _graphs(data: Any, files: dict[str, bytes], frontend: Any, backend: ModuleType, target: Target) -> tuple[list[IRGraph], dict[str, Any]]:
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
        validate(graph, parameters, frontend, backend)
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
    if entry["dtype"] not in (ENCODED[dtype], ENCODED[NARROWED.get(dtype, dtype)]):
        raise InvalidFile(f"an array of type {dtype} is stored as {entry['dtype']}")
    stored = bytes(entry["data"])
    if len(stored) != width * count and len(stored) * 2 == width * count and width == ITEMSIZE[NARROWED.get(dtype, dtype)] * 2:
        stored = np.frombuffer(stored, NARROWED[dtype]).astype(dtype).tobytes()  # saved from a framework without the wide type
    elif len(stored) != width * count:
        raise InvalidFile(f"an array of type {dtype} and shape {shape} has {len(stored)} bytes")
    return target.from_bytes(stored, dtype, tuple(shape))
