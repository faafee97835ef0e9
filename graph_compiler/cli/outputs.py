"""Results by name, and the files that they are written to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .exits import WrongInput

SUFFIXES = (".npz", ".npy", ".json")


def named(result: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a result as numpy arrays or plain values, each with its path.

    >>> [name for name, _ in named({"logits": np.ones(2), "states": [np.ones(1), None]})]
    ['logits', 'states.0', 'states.1']
    """
    parts = _parts(result)
    if parts is None:
        yield name or "result", np.asarray(result) if hasattr(result, "shape") else result
    for part, inner in parts or ():
        yield from named(inner, f"{name}.{part}" if name else str(part))


def _parts(result: Any) -> list[tuple[Any, Any]] | None:
    """Return (key, part) pairs of a container, or None for a leaf."""
    if isinstance(result, Mapping):
        return list(result.items())
    if is_dataclass(result) and not isinstance(result, type):
        return [(field.name, getattr(result, field.name)) for field in fields(result)]
    if isinstance(result, (tuple, list)):
        return list(zip(getattr(result, "_fields", range(len(result))), result))
    return None


def as_json(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Return results as numbers, strings and nested lists."""
    return {name: _plain(leaf) for name, leaf in leaves.items()}


def _plain(leaf: Any) -> Any:
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return leaf if isinstance(leaf, (bool, int, float, str, type(None))) else repr(leaf)
    if leaf.dtype.kind == "c":
        return {"real": leaf.real.tolist(), "imag": leaf.imag.tolist()}
    return (leaf.astype(np.float32) if leaf.dtype.kind not in "biuf" else leaf).tolist()


def write(leaves: Mapping[str, Any], path: Path) -> None:
    """Write results to a file in the format of its suffix. Raise `WrongInput` for several arrays and `.npy`."""
    if path.suffix == ".json":
        path.write_text(json.dumps(as_json(leaves)), "utf-8")
        return
    arrays = {name: leaf for name, leaf in leaves.items() if isinstance(leaf, np.ndarray)}
    if path.suffix == ".npz":
        np.savez(path, **arrays)  # type: ignore[arg-type]
    elif len(arrays) == 1:
        np.save(path, next(iter(arrays.values())))
    else:
        raise WrongInput(f"{path} holds one array, and the result has {len(arrays)}: write it to .npz or .json")


def checked_path(path: Path, suffixes: tuple[str, ...], force: bool) -> Path:
    """Return `path` if it may be written to; raise `WrongInput` otherwise, before any long computation."""
    if suffixes and path.suffix not in suffixes:
        raise WrongInput(f"{path} is to be one of {', '.join(suffixes)}")
    if not path.resolve().parent.is_dir():
        raise WrongInput(f"there is no folder {path.parent}")
    if path.exists() and not force:
        raise WrongInput(f"{path} is there already; --force replaces it")
    return path
