"""How a guard that fails while a framework traces the call shows in its result."""

from __future__ import annotations

from collections.abc import Sequence

from ..trees import Tree, statics


def shows_as_nan(tree: Tree, floating: Sequence[bool]) -> bool:
    """Whether NaN in the floating arrays tells that a result is wrong: there are some, and no number beside them that a user could take for
    right.

    ``floating`` says of each array of the result whether it can hold NaN; Python's own numbers stand in the ``tree``.

    >>> from graph_compiler.trees import flatten
    >>> [shows_as_nan(flatten(result, lambda item: False)[1], [True]) for result in ((1.5j, 2), ("name", None))]
    [False, True]
    """
    return bool(floating) and all(floating) and not any(isinstance(item, (bool, int, float, complex)) for item in statics(tree))
