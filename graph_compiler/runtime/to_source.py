"""Writing of trained values into the original model's variables: either all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..contracts import Target
from ..errors import InvalidOption, NotTraced, WeightsMismatch
from ..ops.dtypes import NARROWED, dtype_name
from .foreign_state import numpy_values

if TYPE_CHECKING:
    from .recorded_graph import RecordedGraph

# Prefix of the dtypes of random keys.
_KEY = "key<"


def to_source(graph: RecordedGraph, values: Any) -> None:
    owners, target = _owners(graph), graph._pipeline.target.target
    held = {name: weights.live([name])()[name] for name, weights in owners.items()}
    given = _to_target(_by_name(graph, values), target)
    for name in [
        name for name, array in held.items() if dtype_name(array).startswith(_KEY) and name not in graph.state
    ]:
        # Calls never write to such a key, and other frameworks store it as integers.
        del held[name]
        given.pop(name, None)
    if problems := [*_names_wrong(held, given), *_arrays_wrong(held, given)]:
        raise WeightsMismatch(
            f"{graph.name}: these are not the parameters of the graph; nothing was changed.\n  "
            + "\n  ".join(problems)
        )
    # All values are read before the first write, so that an error changes nothing.
    elements = {name: numpy_values(target, array) for name, array in given.items()}
    for name in held:
        owners[name].set_elements(name, elements[name], False)


def _owners(graph: RecordedGraph) -> dict[str, Any]:
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


def _by_name(graph: RecordedGraph, values: Any) -> dict[str, Any]:
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


def _names_wrong(held: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"missing: {name}" for name in held if name not in given)
    yield from (f"unexpected: {name}" for name in given if name not in held)


def _arrays_wrong(held: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    for name in held.keys() & given.keys():
        if not hasattr(given[name], "shape"):
            yield f"{name} is no array but of type {type(given[name]).__name__}"
        elif _spec(given[name]) not in (wanted := _spec(held[name]), _spec(held[name], narrowed=True)):
            yield f"{name} is {_spec(given[name])}, and the original has {wanted}"


def _spec(array: Any, narrowed: bool = False) -> str:
    dtype = dtype_name(array)
    return f"{NARROWED.get(dtype, dtype) if narrowed else dtype}{list(array.shape)}"
