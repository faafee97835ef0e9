"""Inputs given on the command line and in files."""

from __future__ import annotations

import inspect
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import nearest
from ..ir.graph import Graph as IRGraph
from ..registration import entry_method
from ..trees import paths
from .exits import WrongInput

_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.+)", re.DOTALL)
_SPEC = re.compile(r"(?P<dtype>[A-Za-z]\w*)\[(?P<sizes>[\d\s,]*)\](?::(?P<below>\d+))?")
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
_BELOW = 10  # whole numbers are drawn below this: small enough for most tables that they look up

Given = tuple[tuple[Any, ...], dict[str, Any]]


def parsed(texts: Sequence[str]) -> Given:
    """Return positional and named arguments for texts such as ``["x=float32[2,3]", "n=4"]``. Arrays are
    random, with a fixed seed.

    >>> parsed(["int64[2]:3", "flag=true"])
    ((array([2, 1]),), {'flag': True})
    """
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
        return _drawn(spec, whole, generator)
    if text.endswith((".npy", ".npz")):
        return _array_of(Path(text))
    try:
        return json.loads(text)
    except ValueError:
        raise WrongInput(
            f"--input {whole} is none: an array is written float32[2,3] (whole numbers below 100: int64[2,3]:100) or file.npy, another "
            "value as in JSON"
        ) from None


def _drawn(spec: re.Match[str], whole: str, generator: np.random.Generator) -> Any:
    dtype = spec["dtype"]
    if dtype not in _DTYPES:
        raise WrongInput(f"--input {whole}: there is no data type {dtype}{nearest(dtype, _DTYPES)}")
    shape = tuple(int(size) for size in spec["sizes"].split(",") if size.strip())
    if dtype.startswith(("int", "uint", "bool")):
        below = 2 if dtype == "bool" else int(spec["below"] or _BELOW)
        return generator.integers(0, max(1, below), shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


# ------------------------------------------------------------------------------ files
def read(files: Sequence[Path], dtypes: dict[str, str]) -> Given:
    """Arguments from files: .npz by name (``arr_0`` by position), .npy by position, .json by name or, of a list, by position.

    Numbers in JSON become arrays of the ``dtypes`` that the graph has for inputs of these names.
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
        return [_as_array(item, dtypes.get(names[place]) if place < len(names) else None, file) for place, item in enumerate(held)], {}
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
    except (ValueError, TypeError) as problem:
        raise WrongInput(f"{file} holds what is no array of {dtype}: {problem}") from None


def _array_of(file: Path) -> Any:
    if not file.is_file():
        raise WrongInput(f"there is no file {file}")
    return _loaded(file)


def _loaded(file: Path) -> Any:
    """Return the array in a file, or a dict of its arrays. Raise `WrongInput` if it cannot be read."""
    try:
        held = np.load(file, allow_pickle=False)
        if not isinstance(held, np.lib.npyio.NpzFile):
            return held
        with held:
            return dict(held)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as problem:
        raise WrongInput(f"{file} holds no arrays that can be read: {problem}") from None


# ------------------------------------------------------------------------------ arguments
def fitted(given: Given, graph: IRGraph) -> Given:
    """Return the arguments in the form in which the graph was recorded: some may have to move from positions
    to names, or from names to positions.
    """
    (args, kwargs), found = given, list(paths(graph.input_tree))
    by_place = {path[1]: value.name for path, value in zip(found, graph.inputs) if path[0] == 0 and len(path) == 2}
    by_name = list(dict.fromkeys(path[1] for path in found if path[0] == 1 and path[1] not in kwargs))
    places = min(len(args), len(by_place))
    named = {**dict(zip(by_name, args[places:])), **kwargs}
    more = [named.pop(by_place[place]) for place in sorted(by_place) if place >= places and by_place[place] in named]
    return (*args[:places], *more, *args[places + len(by_name) :]), named


def names_of_arguments(function: Any) -> list[str]:
    """Return the names of the parameters of a callable for messages; an empty list if it has no signature."""
    try:
        return list(inspect.signature(entry_method(function, function)).parameters)
    except (TypeError, ValueError):
        return []
