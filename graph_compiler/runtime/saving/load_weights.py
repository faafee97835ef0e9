"""Loading of weights from files or arrays into a graph's modules: either all of them or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InvalidFile, InvalidOption, NotTraced, WeightsMismatch
from ...ops.dtypes import dtype_name
from ..options import path_of, short_repr
from .pieces import ENCODED
from .stored_arrays import HashedFile, StoredArray, shaped_arrays

if TYPE_CHECKING:
    from ..recorded_graph import RecordedGraph

_DTYPES = {code: dtype for dtype, code in ENCODED.items() if not dtype.startswith("complex")}


def load_weights(graph: RecordedGraph, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    if not isinstance(source, (str, os.PathLike, Mapping)):
        raise InvalidOption(
            f"source is {short_repr(source)}, and has to be a safetensors file, a folder of them, or a dict "
            "of arrays by name"
        )
    owners = _owners(graph)
    given = dict(source) if isinstance(source, Mapping) else dict(_in_files(path_of("source", source)))
    expected = {name: one for one in owners for name in one.names()}
    other_names = {name: known for one in owners for name, known in one.other_names().items()}
    named = {
        name if name in expected else other_names.get(name, name): array for name, array in given.items()
    }
    named = {**_recompute(expected, named), **named}
    if problems := [*_names_wrong(expected, named), *_arrays_wrong(expected, named)]:
        raise WeightsMismatch(
            f"{graph.name}: these are not the weights of the model; nothing was changed.\n  "
            + "\n  ".join(problems)
        )
    for name, array in named.items():
        # All arrays were checked before, so that an error changes nothing.
        expected[name].fill(name, array)


def _owners(graph: RecordedGraph) -> list[Any]:
    found = [
        variant.recording.weights.fillable for variant in graph.variants if variant.recording is not None
    ]
    if not graph.variants:
        raise NotTraced(
            f"{graph.name}: nothing is recorded yet; pass args= or kwargs=, or call the graph once, before "
            "load_weights"
        )
    if not graph._pipeline.has_original or None in found:
        raise NotTraced(f"{graph.name}: there is no model behind this graph that could be given weights")
    return found


def _recompute(expected: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays for the missing non-persistent buffers on ``meta`` that their modules can compute."""
    missing = [
        name
        for name, owner in expected.items()
        if name not in named and not owner.is_persistent(name) and owner.without_elements([name])
    ]
    owners = {id(owner): owner for owner in expected.values()}.values()
    return {
        name: array
        for owner in owners
        for name, array in owner.recomputed([one for one in missing if expected[one] is owner]).items()
    }


def _names_wrong(expected: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
    for name, owner in expected.items():
        if name not in named and owner.is_persistent(name):
            yield f"missing: {name}"
        elif name not in named and owner.without_elements([name]):
            yield (
                f"missing: {name}, a non-persistent buffer, which no checkpoint holds, and neither an "
                "initialiser (_init_weights, reset_parameters) nor a constructor whose arguments its module "
                "keeps can make it again; give it by its name, or build the model's buffers on the CPU"
            )
    yield from (f"unexpected: {name}" for name in named if name not in expected)


def _arrays_wrong(expected: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
    for name, array in named.items():
        if name not in expected:
            continue
        held = expected[name].array_of(name)
        if not hasattr(array, "shape"):
            yield f"{name} is no array but of type {type(array).__name__}"
        elif (got := _spec(array)) != (wanted := _spec(held)):
            yield f"{name} is {got}, and the model has {wanted}"


def _spec(array: Any) -> str:
    dtype = _DTYPES[array.encoded] if isinstance(array, StoredArray) else dtype_name(array)
    return f"{dtype}{list(array.shape)}"


# ---------------------------------------------------------------------------------------------- files
def _in_files(path: Path) -> Iterator[tuple[str, Any]]:
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise FileNotFoundError(
            f"there is no safetensors file {path}"
            if files
            else f"there is no safetensors file in the folder {path}"
        )
    for file in files:
        yield from _in_file(file)


def _in_file(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with path.open("rb", buffering=0) as file:
            yield from shaped_arrays(HashedFile(file))
    except (InvalidFile, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InvalidFile(
            f"{path} is no readable safetensors file: {problem!r}. What torch.save wrote, pass as "
            "torch.load(path, weights_only=True)"
        ) from problem
