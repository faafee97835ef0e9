"""Files that hold a lowered program and the form of its result. What is no whole file is none."""

from __future__ import annotations

import ast
import base64
import hashlib
import inspect
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jax import export

from ...errors import InvalidFile, Signal
from ...ir.trees_as_json import KnownClasses, tree_from_json, tree_to_json
from ...trees import Tree

Classes = Mapping[tuple[str, str], type]


class NotKept(Signal):
    """The file says that there can be no program."""


@dataclass(frozen=True)
class ProgramFile:
    """``passed`` tells of each array of the result which argument it is, None where the program makes it; ``weak`` of each that it makes
    whether its type is a weak one."""

    program: export.Exported
    form: Tree
    passed: list[int | None]
    weak: list[bool]


def classes_of(function: Callable[..., Any]) -> Classes:
    """Those that the text of a function imports, by module and name."""
    held = inspect.unwrap(function).__globals__.values()  # decorators have globals of their own
    return {(cls.__module__, cls.__qualname__): cls for cls in held if isinstance(cls, type)}


def write(path: Path, kept: ProgramFile, classes: Classes) -> None:
    """``InvalidFile`` where the form of the result could not be read again as it is."""
    form = tree_to_json(kept.form, repr)
    if _form(json.loads(json.dumps(form)), classes) != kept.form:
        raise InvalidFile("the form of the result cannot be kept")
    program = base64.b64encode(kept.program.serialize()).decode()
    _put(path, {"form": form, "passed": kept.passed, "weak": kept.weak, "program": program})


def write_none(path: Path) -> None:
    """Says that there can be no program, so that the next process does not try again."""
    with suppress(OSError):
        _put(path, {})


def _put(path: Path, held: dict[str, Any]) -> None:
    """Beside, and then in its place: other processes may read and write it."""
    body = json.dumps({"key": path.stem, **held})
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{_digest(body)}\n{body}")
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def read(path: Path, classes: Classes) -> ProgramFile | None:
    """The program; None where there is no file, or a damaged one. ``NotKept`` where there can be none."""
    try:
        digest, _, body = path.read_text().partition("\n")
        held = json.loads(body) if digest == _digest(body) else {}
    except (OSError, ValueError):
        return None
    if held.get("key") != path.stem:
        return None
    if "program" not in held:
        raise NotKept
    program = export.deserialize(bytearray(base64.b64decode(held["program"])))
    return ProgramFile(program, _form(held["form"], classes), held["passed"], held["weak"])


def _form(data: Any, classes: Classes) -> Tree:
    return tree_from_json(data, ast.literal_eval, KnownClasses(classes))


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
