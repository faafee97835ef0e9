"""A call as a function of the arrays in its arguments, which gives the arrays in its result."""

from __future__ import annotations

from typing import Any

from ..contracts.derivatives import Arrays
from ..errors import CallMismatch
from ..trees import Tree, flatten, unflatten
from .functions import Function, where


class Flat:
    """Called with arrays; :meth:`result` then puts the result together from others in their place."""

    def __init__(self, function: Function, words: str, tree: Tree) -> None:
        self._function, self._words, self._tree = function, words, tree
        self._result: Tree | None = None

    def __call__(self, arrays: Arrays) -> Arrays:
        args, kwargs = unflatten(self._tree, arrays)
        leaves, self._result = flatten(self._function.run(*args, **kwargs), is_value)
        return native(self._function, self._words, leaves)

    def result(self, arrays: Arrays) -> Any:
        """What the function has returned, with these arrays."""
        assert self._result is not None
        return unflatten(self._result, arrays)


def native(function: Function, words: str, leaves: list[Any]) -> Arrays:
    """The arrays of a result as those of the framework. ``CallMismatch`` for one of another framework, which carries no derivative."""
    for leaf in leaves:
        if not function.derivatives.carries(leaf):
            found = f"{type(leaf).__module__.partition('.')[0]}.{type(leaf).__name__}"
            raise CallMismatch(
                f"{words} of {function.name}: it gives {found}, which has no derivative in the framework that it is transformed in; "
                f"compute in one framework{where(function.call)}"
            )
    return list(map(function.derivatives.array, leaves))


def is_array(item: Any) -> bool:
    """An array of any framework; no class."""
    return hasattr(item, "dtype") and hasattr(item, "shape") and not isinstance(item, type)


def is_value(item: Any) -> bool:
    """An array, or a number of Python that has derivatives."""
    return isinstance(item, (float, complex)) or is_array(item)
