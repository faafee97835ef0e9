"""Writing of loaded weights and trained values into the original model, after all were checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..contracts import Target
from ..errors import InvalidFile, InvalidOption, NotTraced, WeightsMismatch
from ..ops.dtypes import NARROWED, dtype_name
from .foreign_state import numpy_values
from .options import path_of, short_repr
from .saving.pieces import ENCODED
from .saving.stored_arrays import HashedFile, StoredArray, shaped_arrays

if TYPE_CHECKING:
    from .recorded_graph import RecordedGraph

_DTYPES = {code: dtype for dtype, code in ENCODED.items() if not dtype.startswith("complex")}
# Prefix of the dtypes of random keys.
_KEY = "key<"


# ---------------------------------------------------------------------------------------------- loading
def load_weights(graph: RecordedGraph, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    if not isinstance(source, (str, os.PathLike, Mapping)):
        raise InvalidOption(
            f"source is {short_repr(source)}, and has to be a safetensors file, a folder of them, or a dict "
            "of arrays by name"
        )
    owners = _fillables(graph)
    given = dict(source) if isinstance(source, Mapping) else dict(_in_files(path_of("source", source)))
    expected = {name: one for one in owners for name in one.names()}
    other_names = {name: known for one in owners for name, known in one.other_names().items()}
    named = {
        name if name in expected else other_names.get(name, name): array for name, array in given.items()
    }
    named = {**_recompute(expected, named), **named}
    if problems := [*_wrong_weight_names(expected, named), *_wrong_weights(expected, named)]:
        raise WeightsMismatch(
            f"{graph.name}: these are not the weights of the model; nothing was changed.\n  "
            + "\n  ".join(problems)
        )
    for name, array in named.items():
        # All names, shapes and dtypes were checked before, so that a wrong one changes nothing.
        expected[name].fill(name, array)


def _fillables(graph: RecordedGraph) -> list[Any]:
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


def _wrong_weight_names(expected: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
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


def _wrong_weights(expected: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
    for name, array in named.items():
        if name not in expected:
            continue
        held = expected[name].array_of(name)
        if not hasattr(array, "shape"):
            yield f"{name} is no array but of type {type(array).__name__}"
        elif (got := _weight_spec(array)) != (wanted := _weight_spec(held)):
            yield f"{name} is {got}, and the model has {wanted}"


def _weight_spec(array: Any) -> str:
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


# ---------------------------------------------------------------------------------------- trained values
def to_source(graph: RecordedGraph, values: Any) -> None:
    owners, target = _weights_by_name(graph), graph._pipeline.target.target
    held = {name: weights.live([name])()[name] for name, weights in owners.items()}
    given = _to_target(_named_values(graph, values), target)
    for name in [
        name for name, array in held.items() if dtype_name(array).startswith(_KEY) and name not in graph.state
    ]:
        # Calls never write to such a key, and other frameworks store it as integers.
        del held[name]
        given.pop(name, None)
    if problems := [*_wrong_names(held, given), *_wrong_values(held, given)]:
        raise WeightsMismatch(
            f"{graph.name}: these are not the parameters of the graph; nothing was changed.\n  "
            + "\n  ".join(problems)
        )
    # All values are read before the first write, so that one that cannot be read changes nothing.
    elements = {name: numpy_values(target, array) for name, array in given.items()}
    for name in held:
        owners[name].set_elements(name, elements[name], False)


def _weights_by_name(graph: RecordedGraph) -> dict[str, Any]:
    if not graph.variants:
        raise NotTraced(
            f"{graph.name}: nothing is recorded yet; call the graph once, or pass args=, before to_source"
        )
    if not graph._pipeline.has_original:
        raise NotTraced(
            f"{graph.name} was loaded from a file: there is no original whose variables could change. Save "
            "what is held instead"
        )
    return {
        name: variant.recording.weights
        for variant in graph.variants
        if variant.recording
        for name in variant.parameters()
    }


def _named_values(graph: RecordedGraph, values: Any) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "arrays_by_name"):
        return dict(values.arrays_by_name())
    raise InvalidOption(
        f"{graph.name}: to_source takes a module that as_module gave, or a dict of arrays by the names in "
        f"graph.parameters, not a {type(values).__name__}"
    )


def _to_target(given: Mapping[str, Any], target: Target) -> dict[str, Any]:
    made = {
        name: array if isinstance(array, target.array_types) else target.convert(array)
        for name, array in given.items()
    }
    return {name: given[name] if array is None else array for name, array in made.items()}


def _wrong_names(held: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"missing: {name}" for name in held if name not in given)
    yield from (f"unexpected: {name}" for name in given if name not in held)


def _wrong_values(held: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    for name in held.keys() & given.keys():
        if not hasattr(given[name], "shape"):
            yield f"{name} is no array but of type {type(given[name]).__name__}"
        elif _value_spec(given[name]) not in (
            wanted := _value_spec(held[name]),
            _value_spec(held[name], narrowed=True),
        ):
            yield f"{name} is {_value_spec(given[name])}, and the original has {wanted}"


def _value_spec(array: Any, narrowed: bool = False) -> str:
    dtype = dtype_name(array)
    return f"{NARROWED.get(dtype, dtype) if narrowed else dtype}{list(array.shape)}"
