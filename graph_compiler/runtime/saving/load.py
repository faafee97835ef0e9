"""Loading of saved graphs."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from ...contracts import Backend, Frontend, Live, Target, Weights
from ...errors import FrameworkNotInstalled, GraphCompilerError, GuardFailed, InvalidFile
from ...ir.graph import Graph as IRGraph
from ...ir.json import KEY, NAME, matching
from ...ops.dtypes import ITEMSIZE, NARROWED
from ...recording import EnvironmentGuards
from ...recording.environment_guards import EnvironmentGuard
from ..calling.binding import MissingOriginal
from ..frameworks import MissingFrontend
from ..graph import Graph
from ..lazy import StaticGraph
from ..options import path_of
from ..pipeline import Options, Pipeline
from ..variant import Variant, VariantRecording
from .decode import (
    binding_from_json,
    dtypes_of,
    graphs_of,
    modes_of,
    parse_index,
    read_json,
    require_stored,
    statics_of,
)
from .pieces import FILES
from .stored_arrays import DAMAGE, HashedFile, stored_arrays


@dataclass
class LoadedPipeline(Pipeline):
    """Pipeline of a loaded graph, which has no original to record."""

    has_original: ClassVar[bool] = False
    # Arrays of all variants, in the target's framework.
    _arrays: dict[str, Any] = field(init=False, default_factory=dict)

    def native_weights(self, recorded: VariantRecording, graph: IRGraph) -> Any:
        for name, array in recorded.weights.arrays.items():
            if name not in self._arrays:
                self._arrays[name] = self.target.target.adopt(array)
        return _FileArrays(self._arrays, list(graph.parameters))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant:
        raise GuardFailed(
            f"{self.name} was loaded from a file, so there is no original to record again, and this call "
            f"fits none of its variants: {why}"
        )


class _FileArrays(Live):
    dicts: tuple[dict[str, Any], ...] = ()

    def __init__(self, arrays: dict[str, Any], names: list[str]) -> None:
        self._arrays, self._names = arrays, names

    @property
    def current(self) -> dict[str, Any]:
        return (
            self._arrays
            if self._names == list(self._arrays)
            else {name: self._arrays[name] for name in self._names}
        )

    def refresh(self) -> None: ...

    def write_buffer(self, name: str, array: Any) -> None:
        self._arrays[name] = array

    def __call__(self) -> dict[str, Any]:
        return self.current


class LoadedWeights(Weights):
    """Weights and training mode of a loaded graph.

    mode: training mode that overrides the saved one, or None.
    """

    def __init__(
        self, arrays: dict[str, Any], trained: frozenset[str], frozen: frozenset[str], training: bool | None
    ) -> None:
        self.arrays, self._trained, self._frozen, self._training = arrays, trained, frozen, training
        self.mode: bool | None = None

    def guards(self, modes: list[bool]) -> EnvironmentGuards:
        what = "the mode of training (by train() or eval())"
        fact = EnvironmentGuard("({}.mode is None or {}.mode in {})", (self, self, frozenset(modes)), what)
        return EnvironmentGuards([fact] if len(set(modes)) < 2 else [])

    @property
    def has_modes(self) -> bool:
        return self._training is not None

    def set_training(self, mode: bool) -> None:
        self.mode = mode

    def is_training(self) -> bool:
        return next((mode for mode in (self.mode, self._training) if mode is not None), True)

    @contextmanager
    def in_mode(self, mode: bool) -> Iterator[None]:
        before, self.mode = self.mode, mode
        try:
            yield
        finally:
            self.mode = before

    def live(self, names: Iterable[str]) -> _FileArrays:
        return _FileArrays(self.arrays, list(names))

    def owner_of(self, name: str) -> Any:
        return self.arrays

    def rebind(self, name: str, array: Any) -> None:
        self.arrays[name] = array

    def set_elements(self, name: str, elements: Any, rebound: bool) -> Any:
        self.arrays[name] = elements
        return elements

    def is_trained(self, name: str) -> bool:
        return name in self._trained or name in self._frozen

    def is_frozen(self, name: str) -> bool:
        return name in self._frozen


# Opens a file of the graph by its name.
_Opener = Callable[[str], IO[bytes]]


def load(
    path: str | os.PathLike[str],
    to: str | None,
    frontend_of: Callable[[str], Frontend],
    backend_of: Callable[[str], Backend],
) -> Graph:
    with _open(path_of("path", path)) as opened:
        return _graph_in(opened, path, to, frontend_of, backend_of)


def from_bytes(
    data: bytes, frontend_of: Callable[[str], Frontend], backend_of: Callable[[str], Backend]
) -> Graph:
    with _open_zip(io.BytesIO(data), "the pickle") as opened:
        return _graph_in(opened, "the pickle", None, frontend_of, backend_of)


def _graph_in(
    opened: _Opener,
    path: str | os.PathLike[str],
    to: str | None,
    frontend_of: Callable[[str], Frontend],
    backend_of: Callable[[str], Backend],
) -> Graph:
    try:
        digests = read_json(_read_all(opened, FILES[2]))
        data = _index(opened, digests)
        name, source, written_for = (
            matching(KEY, data["name"]),
            matching(NAME, data["source"]),
            matching(NAME, data["target"]),
        )
        frontend, backend = _frontend(source, data, frontend_of), backend_of(written_for)
        target = backend if to is None else backend_of(to)
        graphs, arrays = _graphs(
            data, _arrays(data, opened, digests, _native(data, backend, target)), frontend, backend
        )
        # A file may lack this entry.
        trained = frozenset(map(str, data.get("trained", arrays)))
        frozen = frozenset(map(str, data.get("frozen", ())))
        training, modes = modes_of(data)
        statics = statics_of(data)
        absent = MissingOriginal(binding_from_json(data.get("signature")))
    except DAMAGE as problem:
        raise (
            problem
            if isinstance(problem, (InvalidFile, FrameworkNotInstalled))
            else InvalidFile(f"{path} is no readable saved graph: {type(problem).__name__}: {problem}")
        ) from problem
    pipeline = LoadedPipeline(
        absent, name, frontend, target, graphs[0].dialect == target.name, Options(), backend_of
    )
    # A loaded graph records nothing, so it must never reach its limit.
    graph = (Graph if statics is None else StaticGraph)(pipeline, pipeline.name, max_variants=len(graphs) + 1)
    if statics is not None and isinstance(graph, StaticGraph):
        graph._statics = statics
    held = LoadedWeights(arrays, trained, frozen, training)
    try:
        for one, answered in zip(graphs, modes):
            graph._adopt(pipeline.write_variant(VariantRecording(one, held), held.guards(answered), "loaded"))
    except DAMAGE as problem:
        # The file is sound if only the framework that the user asks for cannot express the graph.
        if to not in (None, written_for) and isinstance(problem, GraphCompilerError):
            raise
        raise InvalidFile(
            f"{path} holds a graph that cannot be written: {type(problem).__name__}: {problem}"
        ) from problem
    return graph


def _frontend(name: str, data: Any, frontend_of: Callable[[str], Frontend]) -> Any:
    try:
        return frontend_of(name)
    except FrameworkNotInstalled as problem:
        if any(body["dialect"] != "canonical" for body in data["variants"]):
            raise
        return MissingFrontend(name, problem)


@contextmanager
def _open(path: Path) -> Iterator[_Opener]:
    if path.is_dir():
        missing = [name for name in FILES if not (path / name).is_file()]
        if missing:
            raise InvalidFile(f"{path} is no saved graph: {', '.join(missing)} is missing")
        # Without a buffer, each array is read directly into its own memory.
        yield lambda name: (path / name).open("rb", buffering=0)
        return
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    # Reading a named pipe would block.
    if not path.is_file():
        raise InvalidFile(f"{path} is no file")
    with _open_zip(path, path) as opened:
        yield opened


@contextmanager
def _open_zip(file: Path | IO[bytes], path: str | os.PathLike[str]) -> Iterator[_Opener]:
    try:
        archive = zipfile.ZipFile(file)
    except DAMAGE as problem:
        raise InvalidFile(f"{path} is no saved graph, or a damaged one: {problem}") from problem
    with archive:
        infos = {info.filename: info for info in archive.infolist()}
        # ``save`` does not compress, and a compressed file could expand without limit.
        if sorted(archive.namelist()) != sorted(FILES) or any(
            info.compress_type != zipfile.ZIP_STORED for info in infos.values()
        ):
            raise InvalidFile(f"{path} is no saved graph: it holds {', '.join(infos) or 'nothing'}")
        yield archive.open


def _read_all(opened: _Opener, name: str) -> bytes:
    with opened(name) as file:
        return file.read()


def _index(opened: _Opener, digests: Any) -> Any:
    text = _read_all(opened, FILES[0])
    data = parse_index(text)
    if digests.get(FILES[0]) != hashlib.sha256(text).hexdigest():
        raise InvalidFile(f"{FILES[0]} was altered or damaged since it was saved")
    return data


def _native(data: Any, backend: Backend, target: Backend) -> Target:
    found: Target = (target if data["variants"][0]["dialect"] == "canonical" else backend).target
    return found


def _arrays(data: Any, opened: _Opener, digests: Any, native: Target) -> dict[str, Any]:
    dtypes, arrays = dtypes_of(data), {}
    with opened(FILES[1]) as file:
        hashed = HashedFile(file)
        for name, encoded, stored in stored_arrays(hashed):
            arrays[name] = _array(encoded, stored, dtypes[name], data["array_shapes"][name], native)
        hashed.require(digests.get(FILES[1]), FILES[1])
    return arrays


def _graphs(
    data: Any, arrays: dict[str, Any], frontend: Any, backend: Backend
) -> tuple[list[IRGraph], dict[str, Any]]:
    graphs = graphs_of(data, arrays, frontend, backend)
    return graphs, {
        name.removeprefix("parameters/"): array
        for name, array in arrays.items()
        if name.startswith("parameters/")
    }


def _array(encoded: str, stored: np.ndarray[Any, Any], dtype: str, shape: Any, native: Target) -> Any:
    width, count = ITEMSIZE[dtype], 1
    for size in shape:
        if type(size) is not int or not 0 <= size < 1 << 48:
            raise InvalidFile(f"{size!r} is no size of an array")
        count *= size
    require_stored(encoded, dtype)
    if (
        len(stored) != width * count
        and len(stored) * 2 == width * count
        and width == ITEMSIZE[NARROWED.get(dtype, dtype)] * 2
    ):
        # The file was saved from a framework that lacks the 64-bit dtype.
        stored = stored.view(NARROWED[dtype]).astype(dtype).view(np.uint8)
    elif len(stored) != width * count:
        raise InvalidFile(f"an array of type {dtype} and shape {shape} has {len(stored)} bytes")
    return native.from_bytes(stored, dtype, tuple(shape))
