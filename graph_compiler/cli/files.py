"""Inputs of commands from options and files, and results as JSON or files."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts import Target
from ..errors import nearest
from ..ir.graph import Graph as IRGraph
from ..registration import entry_method
from ..trees import Branch, paths
from .exits import WrongInput

_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.+)", re.DOTALL)
_SPEC = re.compile(
    r"(?P<dtype>[A-Za-z]\w*)\[(?P<sizes>(?:\s*\d+\s*(?:,\s*\d+\s*)*,?)?\s*)\](?::(?P<below>\d+))?"
)
_DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
# Random integers are below this, so that they are valid indices for most embeddings.
_BELOW = 10

Given = tuple[tuple[Any, ...], dict[str, Any]]


def parse_inputs(texts: Sequence[str]) -> Given:
    """Return positional and named arguments for texts such as ``["x=float32[2,3]", "n=4"]``.

    After an optional name, a text is a dtype and shape (with or without a bound of integers), the path of a
    ``.npy`` or ``.npz`` file, or JSON.

    >>> parse_inputs(["int64[2]:3", "flag=true"])
    ((array([2, 1]),), {'flag': True})
    """
    # One generator makes all inputs, so that two inputs of one shape differ.
    generator = np.random.default_rng(0)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        if named is None:
            args.append(_value(text, text, generator))
        elif named["name"] in kwargs:
            raise WrongInput(f"--input {named['name']} is given twice")
        else:
            kwargs[named["name"]] = _value(named["value"], text, generator)
    return tuple(args), kwargs


def _value(text: str, whole: str, generator: np.random.Generator) -> Any:
    if spec := _SPEC.fullmatch(text):
        return _random_array(spec, whole, generator)
    if text.endswith((".npy", ".npz")):
        return _array_of(Path(text))
    try:
        return json.loads(text)
    except ValueError:
        raise WrongInput(
            f"--input {whole} is none: an array is written float32[2,3] (whole numbers below 100: "
            "int64[2,3]:100) or file.npy, another "
            "value as in JSON"
        ) from None


def _random_array(spec: re.Match[str], whole: str, generator: np.random.Generator) -> Any:
    dtype = spec["dtype"]
    if dtype not in _DTYPES:
        raise WrongInput(f"--input {whole}: there is no data type {dtype}{nearest(dtype, _DTYPES)}")
    shape = tuple(int(size) for size in spec["sizes"].split(",") if size.strip())
    bound = spec["below"]
    if dtype.startswith(("float", "complex")):
        if bound:
            raise WrongInput(f"--input {whole}: only integers have a bound; leave out :{bound}")
        return generator.standard_normal(shape).astype(dtype)
    # The generator makes no larger numbers than those of int64.
    most = 2 if dtype == "bool" else min(np.iinfo(dtype).max, np.iinfo("int64").max) + 1
    below = int(bound or min(_BELOW, most))
    if not 1 <= below <= most:
        raise WrongInput(f"--input {whole}: the bound of {dtype} is from 1 to {most}")
    return generator.integers(0, below, shape).astype(dtype)


# ------------------------------------------------------------------------------ files
def read(files: Sequence[Path], dtypes: dict[str, str]) -> Given:
    """Return positional and named arguments from .npy, .npz and .json files.

    dtypes: dtypes of the inputs of the graph, by name.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for file in files:
        if not file.is_file():
            raise WrongInput(f"there is no file {file}")
        reader = _READERS.get(file.suffix)
        if reader is None:
            raise WrongInput(f"{file} is none of {', '.join(_READERS)}")
        more, named = reader(file, dtypes)
        args += more
        kwargs.update(named)
    return tuple(args), kwargs


def _read_npz(file: Path, dtypes: dict[str, str]) -> tuple[list[Any], dict[str, Any]]:
    held = _loaded(file)
    if not isinstance(held, dict):
        raise WrongInput(f"{file} holds one array and no archive of arrays; name it .npy")
    # Sorted as strings, arr_10 would come before arr_2.
    by_position = sorted((int(name[4:]), name) for name in held if re.fullmatch(r"arr_\d+", name))
    return [held.pop(name) for _, name in by_position], held


def _read_npy(file: Path, dtypes: dict[str, str]) -> tuple[list[Any], dict[str, Any]]:
    return [_loaded(file)], {}


def _read_json(file: Path, dtypes: dict[str, str]) -> tuple[list[Any], dict[str, Any]]:
    try:
        held = json.loads(file.read_text("utf-8"))
    except ValueError as problem:
        raise WrongInput(f"{file} is no JSON: {problem}") from None
    names = list(dtypes)
    if isinstance(held, dict):
        return [], {name: _as_array(item, dtypes.get(name), file) for name, item in held.items()}
    if isinstance(held, list):
        return [
            _as_array(item, dtypes.get(names[place]) if place < len(names) else None, file)
            for place, item in enumerate(held)
        ], {}
    raise WrongInput(f"{file} holds neither an object of inputs by name nor a list of them")


_READERS: dict[str, Callable[[Path, dict[str, str]], tuple[list[Any], dict[str, Any]]]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".json": _read_json,
}


def _as_array(item: Any, dtype: str | None, file: Path) -> Any:
    if dtype is None:
        return item
    try:
        return np.asarray(item, dtype)
    except (ValueError, TypeError, OverflowError) as problem:
        raise WrongInput(f"{file} holds what is no array of {dtype}: {problem}") from None


def _array_of(file: Path) -> Any:
    if not file.is_file():
        raise WrongInput(f"there is no file {file}")
    return _loaded(file)


def _loaded(file: Path) -> Any:
    try:
        # Unpickling runs code that the file contains, and files may come from anywhere.
        held = np.load(file, allow_pickle=False)
        if not isinstance(held, np.lib.npyio.NpzFile):
            return held
        # The arrays of a .npz file are read on access, so they are read before the file is closed.
        with held:
            return dict(held)
    # RuntimeError is that of encrypted files and of compression that is not supported.
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as problem:
        raise WrongInput(f"{file} holds no arrays that can be read: {problem}") from None


# ------------------------------------------------------------------------------ arguments
def fit_to_graph(given: Given, graph: IRGraph) -> Given:
    """Rearrange positional and named arguments as they were passed while recording, as far as they fit."""
    (args, kwargs), found = given, list(paths(graph.input_tree))
    by_place = {
        path[1]: value.name for path, value in zip(found, graph.inputs) if path[0] == 0 and len(path) == 2
    }
    by_name = list(dict.fromkeys(path[1] for path in found if path[0] == 1 and path[1] not in kwargs))
    places = min(len(args), _count_positional(graph))
    named = {**dict(zip(by_name, args[places:])), **kwargs}
    more: list[Any] = []
    # After an argument that stays named, all others must do so, too.
    while (name := by_place.get(places + len(more))) is not None and name in named:
        more.append(named.pop(name))
    return (*args[:places], *more, *args[places + len(by_name) :]), named


def _count_positional(graph: IRGraph) -> int:
    arguments = graph.input_tree
    positional = arguments.children[0] if isinstance(arguments, Branch) else arguments
    return len(positional.keys) if isinstance(positional, Branch) else 0


def names_of_arguments(function: Any) -> list[str]:
    try:
        return list(inspect.signature(entry_method(function, function)).parameters)
    except (TypeError, ValueError):
        return []


SUFFIXES = (".npz", ".npy", ".json")


def named_leaves(result: Any, target: Target | None = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield ``(path, leaf)`` for each leaf of a result, with arrays converted to NumPy.

    >>> [name for name, _ in named_leaves({"logits": np.ones(2), "states": [np.ones(1), None]})]
    ['logits', 'states.0', 'states.1']
    """
    parts = _parts(result)
    if parts is None:
        is_own = target is not None and isinstance(result, tuple(target.array_types))
        convert = target.to_numpy if target is not None and is_own else np.asarray
        yield name or "result", convert(result) if hasattr(result, "shape") else result
    for part, inner in parts or ():
        yield from named_leaves(inner, target, f"{name}.{part}" if name else str(part))


def by_name(leaves: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return leaves by path. A path that occurs again, as for the keys 1 and "1", gets a number.

    >>> by_name(named_leaves({1: "a", "1": "b"}))
    {'1': 'a', '1_2': 'b'}
    """
    found: dict[str, Any] = {}
    for path, leaf in leaves:
        names = (f"{path}_{number}" for number in itertools.count(2))
        found[path if path not in found else next(name for name in names if name not in found)] = leaf
    return found


def _parts(result: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(result, Mapping):
        return list(result.items())
    if is_dataclass(result) and not isinstance(result, type):
        return [(field.name, getattr(result, field.name)) for field in fields(result)]
    if isinstance(result, (tuple, list)):
        return list(zip(getattr(result, "_fields", range(len(result))), result))
    return None


def as_json(leaves: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(leaf) for name, leaf in leaves.items()}


def _plain(leaf: Any) -> Any:
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return leaf if isinstance(leaf, (bool, int, float, str, type(None))) else repr(leaf)
    if leaf.dtype.kind == "c":
        return {"real": leaf.real.tolist(), "imag": leaf.imag.tolist()}
    return (leaf.astype(np.float32) if leaf.dtype.kind not in "biuf" else leaf).tolist()


def write(leaves: Mapping[str, Any], path: Path) -> None:
    if path.suffix == ".json":
        path.write_text(json.dumps(as_json(leaves)), "utf-8")
        return
    arrays = {name: leaf for name, leaf in leaves.items() if isinstance(leaf, np.ndarray)}
    if path.suffix == ".npz":
        # ``np.savez`` takes the names as keywords, which its own parameters must not have.
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array)
    elif len(arrays) == 1:
        np.save(path, next(iter(arrays.values())))
    else:
        raise WrongInput(
            f"{path} holds one array, and the result has {len(arrays)}: write it to .npz or .json"
        )


def check_path(path: Path, suffixes: tuple[str, ...], force: bool) -> Path:
    if suffixes and path.suffix not in suffixes:
        raise WrongInput(f"{path} is to be one of {', '.join(suffixes)}")
    if not path.resolve().parent.is_dir():
        raise WrongInput(f"there is no folder {path.parent}")
    if path.exists() and not force:
        raise WrongInput(f"{path} is there already; --force replaces it")
    return path
