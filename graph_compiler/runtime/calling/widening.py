"""Conversion of arrays that a target without 64-bit dtypes has narrowed, back to the recorded dtypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...ops.dtypes import NARROWED, dtype_name
from ...trees import Path, flatten, paths, unflatten
from .matcher import narrows

if TYPE_CHECKING:
    from ...contracts import Target
    from ..variant import Variant

Call = tuple[tuple[Any, ...], dict[str, Any]]


def recorded_types(variants: Sequence[Variant]) -> Mapping[Path, str]:
    """Return the recorded 64-bit dtypes of arguments by path.

    An argument is left out if variants recorded it with different dtypes. The result is empty if the
    target has 64-bit dtypes.
    """
    if not variants or not narrows(variants[0].target):
        return {}
    found: dict[Path, set[str]] = {}
    for variant in variants:
        for path, value in zip(paths(variant.graph.input_tree), variant.graph.inputs):
            found.setdefault(path, set()).add(value.dtype)
    return {
        path: next(iter(types))
        for path, types in found.items()
        if len(types) == 1 and types <= NARROWED.keys()
    }


def widen(array: Any, wide: str | None, target: Target) -> Any:
    """Convert an array of the target from the narrowed dtype of `wide` to a NumPy array of dtype `wide`.

    Return anything else, such as a traced array, or any `array` if `wide` is None, unchanged.
    """
    is_narrowed = (
        wide is not None and isinstance(array, target.array_types) and dtype_name(array) == NARROWED[wide]
    )
    return target.to_numpy(array).astype(wide) if is_narrowed and not target.is_traced(array) else array


def with_recorded_types(variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the call with narrowed arrays in their recorded 64-bit dtypes, which the original may read."""
    types = recorded_types(variants)
    if not types:
        return args, kwargs
    target = variants[0].target
    leaves, tree = flatten((args, kwargs), lambda item: isinstance(item, target.array_types))
    made = [widen(leaf, types.get(path), target) for path, leaf in zip(paths(tree), leaves)]
    # The user's own containers are passed on if no array in them is widened.
    if all(one is other for one, other in zip(made, leaves)):
        return args, kwargs
    call: Call = unflatten(tree, made)
    return call
