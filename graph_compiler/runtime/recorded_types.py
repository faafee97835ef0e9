"""Recorded 64-bit dtypes of arguments, for the original's calls with arrays that a target has narrowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ops.dtypes import NARROWED
from ..trees import Path, flatten, paths, unflatten
from .calling.matcher import narrows
from .foreign_objects import Call, widen
from .variant import Variant


def recorded_types(variants: Sequence[Variant]) -> Mapping[Path, str]:
    """Return the recorded 64-bit dtypes of arguments by path, for a target without 64-bit dtypes.

    An argument is left out if variants recorded it with different dtypes. The result is empty if the
    target has 64-bit dtypes, or if there are no variants.
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


def with_recorded_types(variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the call with its narrowed arrays converted back to the recorded 64-bit dtypes.

    If no array is widened, return ``args`` and ``kwargs`` themselves.
    """
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
