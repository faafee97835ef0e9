"""Reads graphs from the files that ``saving`` writes. Nothing in them is executed."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import safetensors

from ..errors import FrameworkNotInstalled, GraphCompilerError, GuardFailed, InvalidFile
from ..ir.graph import Graph as IRGraph
from ..ir.serialisation import KEY, NAME, matching
from ..ops.dtypes import ITEMSIZE, NARROWED
from ..tracing import Surroundings
from .absent import Absent
from .decoding import checked_index, dtypes_of, graphs_of, require_stored
from .graph import Graph
from .loaded import Held, LoadedPipeline
from .piecewise import FILES
from .pipeline import Options
from .target import Target
from .variant import Recorded

_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError, GraphCompilerError,
           zipfile.BadZipFile, safetensors.SafetensorError, EOFError, NotImplementedError, SyntaxError, StopIteration)  # fmt: skip


def load(
    path: str | os.PathLike[str], to: str | None, frontend_of: Callable[[str], ModuleType], backend_of: Callable[[str], ModuleType]
) -> Graph:
    """See :func:`graph_compiler.load`."""
    return _graph_in(_read(Path(path)), path, to, frontend_of, backend_of)


def from_bytes(data: bytes, frontend_of: Callable[[str], ModuleType], backend_of: Callable[[str], ModuleType]) -> Graph:
    """The graph that :func:`saving.to_bytes` wrote."""
    return _graph_in(_read_zip(io.BytesIO(data), "the pickle"), "the pickle", None, frontend_of, backend_of)


def _graph_in(
    files: dict[str, bytes],
    path: str | os.PathLike[str],
    to: str | None,
    frontend_of: Callable[[str], ModuleType],
    backend_of: Callable[[str], ModuleType],
) -> Graph:
    try:
        data = checked_index(files)
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
    return _read_zip(path, path)


def _read_zip(file: Path | IO[bytes], path: str | os.PathLike[str]) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(file) as archive:
            infos = {info.filename: info for info in archive.infolist()}
            if sorted(archive.namelist()) != sorted(FILES) or any(info.compress_type != zipfile.ZIP_STORED for info in infos.values()):
                raise InvalidFile(f"{path} is no saved graph: it holds {', '.join(infos) or 'nothing'}")
            return {name: archive.read(name) for name in FILES}
    except (*_DAMAGE, OSError) as problem:
        raise (
            problem if isinstance(problem, InvalidFile) else InvalidFile(f"{path} is no saved graph, or a damaged one: {problem}")
        ) from problem


def _graphs(data: Any, files: dict[str, bytes], frontend: Any, backend: ModuleType, target: Target) -> tuple[list[IRGraph], dict[str, Any]]:
    """The graphs and their parameters: arrays of ``target`` in canonical graphs, of the source where its own calls were saved.

    What the file holds of the arrays is let go piece by piece, for memory has no place for all weights three times.
    """
    native = target if data["variants"][0]["dialect"] == "canonical" else backend.target
    entries = dict(safetensors.deserialize(files.pop("arrays.safetensors")))  # type: ignore[no-untyped-call]
    dtypes = dtypes_of(data)
    arrays = {name: _array(entries.pop(name), dtypes[name], data["array_shapes"][name], native) for name in tuple(entries)}
    graphs = graphs_of(data, arrays, frontend, backend)
    return graphs, {name.removeprefix("parameters/"): array for name, array in arrays.items() if name.startswith("parameters/")}


def _array(entry: Any, dtype: str, shape: Any, target: Any) -> Any:
    width, count = ITEMSIZE[dtype], 1
    for size in shape:
        if type(size) is not int or not 0 <= size < 1 << 48:
            raise InvalidFile(f"{size!r} is no size of an array")
        count *= size
    require_stored(entry["dtype"], dtype)
    stored = bytes(entry["data"])
    if len(stored) != width * count and len(stored) * 2 == width * count and width == ITEMSIZE[NARROWED.get(dtype, dtype)] * 2:
        stored = np.frombuffer(stored, NARROWED[dtype]).astype(dtype).tobytes()  # saved from a framework without the wide type
    elif len(stored) != width * count:
        raise InvalidFile(f"an array of type {dtype} and shape {shape} has {len(stored)} bytes")
    return target.from_bytes(stored, dtype, tuple(shape))
