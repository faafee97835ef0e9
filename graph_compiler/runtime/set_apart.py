"""A call whose writes go to copies: the arrays that a flat function writes to stay as they are, and what it writes is state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .variant import Variant

Leading = tuple[Any, ...]


def set_apart(variant: Variant, leading: Leading, leaves: Leading) -> tuple[Leading, Leading, dict[Any, Any]]:
    """What the flat function of a variant takes, with copies of the arrays that it writes to, and these as state."""
    arrays = zip(variant.writes, variant.arrays_written(leading, leaves))
    written = [(name, array) for (kind, key), array in arrays if (name := _name(variant, kind, key)) is not None]
    copies = {id(array): variant.target.copy(array) for _, array in written}
    held = tuple({name: copies.get(id(array), array) for name, array in given.items()} for given in leading)
    return held, tuple(copies.get(id(leaf), leaf) for leaf in leaves), {name: copies[id(array)] for name, array in written}


def _name(variant: Variant, kind: str, key: Any) -> Any:
    """What an effect on an array would call it; None of arrays of places that are changed in other ways too, which may refer to it."""
    count = len(variant.graph.inputs_of_call)
    if kind != "inputs" or key < count:
        return key
    return None if variant.state is None or variant.state.replaced else variant.state.name_of(key - count)
