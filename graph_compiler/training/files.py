"""Training states as safetensors files, with everything but the arrays as JSON in the header."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

from ..contracts import Target
from ..contracts.training import Arrays, StepState, Training
from ..errors import InvalidFile, NotSerialisable
from ..ops.dtypes import dtype_name
from ..runtime.saving.pieces import safetensors_of
from ..runtime.saving.stored_arrays import DAMAGE, HashedFile, stored_arrays
from .plan import TrainingPlan

FORMAT, VERSION, KEY = "graph_compiler.training", 1, "graph_compiler"
_GROUPS = tuple(field.name for field in fields(StepState) if field.name not in ("optimizer", "rng"))


def save(plan: TrainingPlan, held: StepState, step: int, path: str | os.PathLike[str]) -> None:
    target: Target = plan.graph._pipeline.target.target
    arrays = _arrays(plan, held)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "model": plan.graph.name,
        "target": target.name,
        "optimizer": plan.optimizer_name,
        "step": step,
        "arrays": {name: _spec(array) for name, array in arrays.items()},
        "sha256": _digest(map(target.to_bytes, arrays.values())),
    }
    try:
        pieces = safetensors_of(arrays, target.to_bytes, {KEY: json.dumps(about, allow_nan=False)})
        _replace(Path(path), pieces)
    except InvalidFile as problem:
        raise NotSerialisable(str(problem)) from problem


def load(plan: TrainingPlan, like: StepState, path: str | os.PathLike[str]) -> tuple[StepState, int]:
    """Return the training state and the step that the file ``path`` stores.

    like: a state of the same ``plan``.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    target = plan.graph._pipeline.target.target
    try:
        with path.open("rb") as file:
            about = _about(path, file)
            _require_same(plan, like, about, path)
            arrays = _read_arrays(path, HashedFile(file), about, target)
    except InvalidFile:
        raise
    except DAMAGE as problem:
        raise InvalidFile(
            f"{path} is no saved state, or a damaged one: {type(problem).__name__}: {problem}"
        ) from problem
    return _restored_arrays(plan, like, arrays, path), about["step"]


# ------------------------------------------------------------------------------------- writing
def _arrays(plan: TrainingPlan, held: StepState) -> Arrays:
    engine = plan.engine
    found = {
        f"{group}/{name}": engine.storable(array)
        for group in _GROUPS
        for name, array in engine.values(getattr(held, group)).items()
    }
    found.update(
        (f"optimizer/{name}", array) for name, array in engine.optimizer_arrays(plan.make, held).items()
    )
    found.update((f"rng/{name}", array) for name, array in engine.rng_arrays(held.rng).items())
    return found


def _spec(array: Any) -> list[Any]:
    return [dtype_name(array), *map(int, array.shape)]


def _stored_spec(plan: TrainingPlan, array: Any) -> list[Any]:
    # No values are read: ``load(like=)`` accepts a state that a step has consumed.
    return plan.engine.stored_spec(array) or _spec(array)


def _digest(pieces: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    """Write ``pieces`` to a temporary file in the same folder, flush it to disk, and move it to ``path``."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to save {path.name} in")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            # The data must be on the disk before the rename, or a crash could leave an empty file.
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


# ------------------------------------------------------------------------------------- reading
def _about(path: Path, file: IO[bytes]) -> dict[str, Any]:
    """Return the JSON that ``save`` has put into the header of ``file``, and rewind ``file``."""
    length = int.from_bytes(file.read(8), "little")
    # Files are untrusted, so the length is checked before that many bytes are read.
    if length > path.stat().st_size:
        raise InvalidFile(f"{path} is no saved state, or a damaged one: it has no header")
    about: dict[str, Any] = json.loads(json.loads(file.read(length))["__metadata__"][KEY])
    if about["format"] != FORMAT or about["version"] != VERSION:
        found = f"{about['format']}, version {about['version']}"
        raise InvalidFile(
            f"{path} is of the format {found}, and {FORMAT}, version {VERSION}, can be read here"
        )
    if type(about["step"]) is not int or about["step"] < 0:
        raise InvalidFile(f"{path} says that it is of step {about['step']!r}")
    file.seek(0)
    return about


def _read_arrays(path: Path, file: HashedFile, about: Mapping[str, Any], target: Target) -> Arrays:
    specs, digest, arrays = about["arrays"], hashlib.sha256(), {}
    for name, _, stored in stored_arrays(file):
        digest.update(stored.data)
        dtype, *shape = specs[name]
        arrays[name] = target.from_bytes(stored, dtype, tuple(shape))
        if _spec(arrays[name]) != specs[name]:
            raise InvalidFile(
                f"{path} holds {name} as {dtype}, which {target.name} has as {_spec(arrays[name])[0]} as it "
                "is set up here"
            )
    if digest.hexdigest() != about["sha256"] or arrays.keys() != specs.keys():
        raise InvalidFile(f"{path} was altered or damaged since it was saved")
    return arrays


def _require_same(plan: TrainingPlan, like: StepState, about: Mapping[str, Any], path: Path) -> None:
    found = {"target": plan.graph._pipeline.target.name, "optimizer": plan.optimizer_name}
    wrong = [
        f"its {name} is {about[name]}, and that of the state {own}"
        for name, own in found.items()
        if about[name] != own
    ]
    wanted = {
        f"{group}/{name}": _stored_spec(plan, array)
        for group in _GROUPS
        for name, array in getattr(like, group).items()
    }
    given = {name: spec for name, spec in about["arrays"].items() if name.partition("/")[0] in _GROUPS}
    wrong += [f"missing: {name}" for name in wanted if name not in given]
    wrong += [f"unexpected: {name}" for name in given if name not in wanted]
    wrong += [
        f"{name} is {_describe(given[name])}, and that of the state {_describe(spec)}"
        for name, spec in wanted.items()
        if given.get(name, spec) != spec
    ]
    if wrong:
        raise InvalidFile(
            f"{path} holds another training than the state that it is loaded for:\n  " + "\n  ".join(wrong)
        )


def _describe(spec: list[Any]) -> str:
    return f"{spec[0]}{spec[1:]}"


def _restored_arrays(plan: TrainingPlan, like: StepState, arrays: Arrays, path: Path) -> StepState:
    engine = plan.engine
    groups: dict[str, Arrays] = {
        group: {
            name: _restore(engine, group, arrays[f"{group}/{name}"], array)
            for name, array in getattr(like, group).items()
        }
        for group in _GROUPS
    }
    rest = {kind: _group_of(arrays, kind) for kind in ("optimizer", "rng")}
    first = next(iter(engine.values(groups["trained"]).values()))
    try:
        held = StepState(**groups, rng=engine.with_rng_arrays(rest["rng"], first))
    except DAMAGE as problem:
        raise InvalidFile(
            f"{path} holds the state of no random generator: {type(problem).__name__}: {problem}"
        ) from problem
    try:
        held = StepState(
            **groups, rng=held.rng, optimizer=engine.with_optimizer_arrays(plan.make, held, rest["optimizer"])
        )
        made = {name: _spec(array) for name, array in engine.optimizer_arrays(plan.make, held).items()}
    except (KeyError, ValueError, TypeError) as problem:
        raise InvalidFile(
            f"{path} holds the state of another optimizer: {type(problem).__name__}: {problem}"
        ) from problem
    if made != {name: _spec(array) for name, array in rest["optimizer"].items()}:
        raise InvalidFile(f"{path} holds the state of another optimizer, or of one with other options")
    return held


def _restore(engine: Training, group: str, array: Any, like: Any) -> Any:
    return (engine.trainable if group == "trained" else engine.copied)(engine.restored(array, like))


def _group_of(arrays: Arrays, kind: str) -> Arrays:
    return {name.partition("/")[2]: array for name, array in arrays.items() if name.startswith(f"{kind}/")}
