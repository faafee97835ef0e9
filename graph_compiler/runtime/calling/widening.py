"""Arrays that a target without 64-bit types has narrowed, as the original is to get them: in the types that
were recorded in their places.
"""

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
    """The wide types of the arguments of recorded calls, by their places; none where the target has them, or
    where variants differ.
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


def widened(array: Any, wide: str | None, target: Target) -> Any:
    """An array of the target as one of numpy in a wide type, where it has the type that the target has for
    it; anything else as it is.
    """
    is_narrowed = (
        wide is not None and isinstance(array, target.array_types) and dtype_name(array) == NARROWED[wide]
    )
    return target.to_numpy(array).astype(wide) if is_narrowed and not target.is_traced(array) else array


def with_recorded_types(variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The call as it is recorded: JAX's int32 is int64 where that was recorded, which the original's
    framework tells apart.
    """
    types = recorded_types(variants)
    if not types:
        return args, kwargs
    target = variants[0].target
    leaves, tree = flatten((args, kwargs), lambda item: isinstance(item, target.array_types))
    made = [widened(leaf, types.get(path), target) for path, leaf in zip(paths(tree), leaves)]
    if all(one is other for one, other in zip(made, leaves)):
        return args, kwargs
    call: Call = unflatten(tree, made)
    return call
