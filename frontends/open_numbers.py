"""Python numbers that may be others at each call: which there are, and their places in the structure of a call."""

from __future__ import annotations

from collections.abc import Container

from ..trees import Branch, Item, Path, Static, Tree

DTYPES: dict[type, str] = {int: "int64", float: "float64"}


def with_numbers(tree: Tree, places: Container[Path], path: Path = ()) -> Tree:
    """The tree with the numbers at these ``places`` marked as such, which were part of the structure."""
    if isinstance(tree, Static) and type(tree.value) in DTYPES and path in places:
        return Item(type(tree.value))
    if isinstance(tree, Branch):
        return Branch(
            tree.type, tree.keys, tuple(with_numbers(child, places, (*path, key)) for key, child in zip(tree.keys, tree.children))
        )
    return tree
