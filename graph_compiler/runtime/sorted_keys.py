"""Calls inside of JAX's transformations, which hand dicts over with their keys sorted: in which order they were is lost there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..trees import Branch, Tree, build, is_container, items_of, iterate_structure

if TYPE_CHECKING:
    from .spelling import Call
    from .variant import Variant


def in_recorded_order(variants: Iterable[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Variant, Call]]:
    """Variants that were recorded with keys in another order, with the call as it was recorded; none where the target does not trace the
    call."""
    for variant in variants:
        if variant.target.sorts_keys and any(map(variant.target.is_traced, iterate_structure((args, kwargs)))):
            call = reordered(variant.graph.input_tree, (args, kwargs))
            if call is not None:
                yield variant, call


def reordered(tree: Tree, value: Any) -> Any:
    """``value`` with the keys of its dicts in the order of the tree's; None where they are in this order already, or are other keys.

    >>> from graph_compiler.trees import flatten
    >>> _, tree = flatten(({"w": 1.5, "b": 2.5},), lambda item: isinstance(item, float))
    >>> reordered(tree, ({"b": 0.0, "w": 1.0},)), reordered(tree, ({"w": 1.0, "b": 0.0},))
    (({'w': 1.0, 'b': 0.0},), None)
    """
    if not isinstance(tree, Branch) or not is_container(type(value)):
        return None
    held = dict(items_of(value))
    if held.keys() != set(tree.keys):
        return None
    found = {key: reordered(child, held[key]) for key, child in zip(tree.keys, tree.children)}
    is_sorted = type(value) is dict and list(held) != list(tree.keys)
    if not is_sorted and all(child is None for child in found.values()):
        return None
    return build(type(value), tree.keys, [held[key] if child is None else child for key, child in found.items()])
