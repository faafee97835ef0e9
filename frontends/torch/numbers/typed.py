"""Trees of what is no array: numbers and generators that may be others at each call."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ....trees import Branch, Leaf, Tree, TypedLeaf
from ...open_numbers import DTYPES


def typed(tree: Tree, leaves: Iterator[object]) -> Tree:
    """The tree with the places of numbers and generators marked as such."""
    if isinstance(tree, Leaf):
        cls = type(next(leaves))
        return TypedLeaf(cls) if cls in DTYPES or cls is torch.Generator else tree
    if isinstance(tree, Branch):
        return Branch(tree.type, tree.keys, tuple(typed(child, leaves) for child in tree.children))
    return tree
