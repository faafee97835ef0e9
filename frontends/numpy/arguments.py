"""What a call of a numpy function is given: arrays, scalars, generators, and Python numbers that may be others at each call."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from ...sizes import Size, Symbol
from ...trees import Branch, Leaf, Path, Tree, TypedLeaf, flatten, leaves_at, plain_classes
from ..open_numbers import DTYPES, with_numbers
from .draws import GENERATORS
from .sizes import symbolic


def is_array(item: Any) -> bool:
    """Whether this is an array or scalar of numpy, or an array of another framework."""
    if isinstance(item, (np.ndarray, np.generic)):
        return True
    return not isinstance(item, type) and hasattr(item, "dtype") and hasattr(item, "shape") and hasattr(item, "__array__")


def as_array(item: Any) -> Any:
    """An array of any framework as one of numpy that can be written to, sharing its memory where it can; scalars, generators and numbers
    as they are."""
    if isinstance(item, (np.ndarray, np.generic, *GENERATORS, *DTYPES)):
        return item
    array = np.asarray(item.detach().cpu() if hasattr(item, "detach") else item)
    return array if array.flags.writeable else array.copy()


def given(args: tuple[Any, ...], kwargs: dict[str, Any], open_numbers: Container[Path]) -> tuple[list[Any], Tree]:
    """What the inputs of a call are, and where they stand."""
    leaves, tree = flatten((args, kwargs), lambda item: is_array(item) or isinstance(item, GENERATORS))
    tree = with_numbers(typed(plain_classes(tree), iter(leaves)), open_numbers)
    return leaves_at(tree, (args, kwargs)), tree


def typed(tree: Tree, leaves: Iterator[Any]) -> Tree:
    """The tree with the classes of scalars, numbers and generators at their places; an array without axes counts as its scalar."""
    if isinstance(tree, Leaf):
        leaf = next(leaves)
        if isinstance(leaf, (np.generic, *GENERATORS, *DTYPES)):
            return TypedLeaf(type(leaf))
        is_scalar = isinstance(leaf, np.ndarray) and leaf.ndim == 0 and leaf.dtype.kind in "biufc"
        return TypedLeaf(leaf.dtype.type) if is_scalar else tree
    return Branch(tree.type, tree.keys, tuple(typed(child, leaves) for child in tree.children)) if isinstance(tree, Branch) else tree


class Inputs:
    """What stands for the inputs of a recording, in order; an array that is given twice is one."""

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self.known: dict[int, Any] = {}  # by the identity of an array
        self.made: list[Any] = []  # None for a number

    def enter(self, name: str, item: Any) -> Any:
        """What stands for an array, scalar, generator or number that becomes an input."""
        if type(item) in DTYPES:
            self.made.append(None)
            value = self._capture.add_number(name, DTYPES[type(item)])
            return symbolic(self._capture, Size.of(Symbol(value, 0, item, "item")))
        array = as_array(item)
        made = self._capture.add_generator(name, array) if isinstance(array, GENERATORS) else self._capture.add_input(name, array)
        self.made.append(self.known.setdefault(id(item), made))
        return self.made[-1]
