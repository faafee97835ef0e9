"""Python numbers that may be others at each call: which there are, and their places in the structure of a call."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ..trees import Branch, Path, Static, Tree, TypedLeaf

DTYPES: dict[type, str] = {int: "int64", float: "float64"}


def holds_numbers(held: Any, is_whole: bool) -> bool:
    """Whether the numbers in a place are inputs of the graph: not where they are items of a list among others.

    >>> holds_numbers([0.1, 2], True), holds_numbers(["adam", 2], True), holds_numbers(("adam", 2), False), holds_numbers(3, False)
    (True, False, True, True)
    """
    if isinstance(held, list):
        return all(type(item) in DTYPES for item in held)
    return not is_whole and (isinstance(held, tuple) or type(held) in DTYPES)


def with_numbers(tree: Tree, places: Container[Path], path: Path = ()) -> Tree:
    """The tree with the numbers at these ``places`` marked as such, which were part of the structure."""
    if isinstance(tree, Static) and type(tree.value) in DTYPES and path in places:
        return TypedLeaf(type(tree.value))
    if isinstance(tree, Branch):
        return Branch(
            tree.type, tree.keys, tuple(with_numbers(child, places, (*path, key)) for key, child in zip(tree.keys, tree.children))
        )
    return tree
