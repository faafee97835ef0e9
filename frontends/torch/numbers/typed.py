"""Trees of what is no array: numbers and generators that may be others at each call."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import torch

from ....trees import Branch, Item, Leaf, Path, Static, Tree

DTYPES: dict[type, str] = {int: "int64", float: "float64"}


def typed(tree: Tree, leaves: Iterator[Any]) -> Tree:
    """The tree with the places of numbers and generators marked as such."""
    if isinstance(tree, Leaf):
        cls = type(next(leaves))
        return Item(cls) if cls in DTYPES or cls is torch.Generator else tree
    if isinstance(tree, Branch):
        return Branch(tree.type, tree.keys, tuple(typed(child, leaves) for child in tree.children))
    return tree


def with_numbers(tree: Tree, places: Container[Path], path: Path = ()) -> Tree:
    """The tree with the numbers at these ``places`` marked as such, which were part of the structure."""
    if isinstance(tree, Static) and type(tree.value) in DTYPES and path in places:
        return Item(type(tree.value))
    if isinstance(tree, Branch):
        return Branch(
            tree.type, tree.keys, tuple(with_numbers(child, places, (*path, key)) for key, child in zip(tree.keys, tree.children))
        )
    return tree
