"""``jax.jit`` for functions that return numbers and strings of Python beside arrays: these are part of the structure of the result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


class _Plain:
    """A leaf without arrays: a node of the tree, which ``jit`` gives back as it was when the function was traced."""

    def __init__(self, value: Any) -> None:
        self.value = value


jax.tree_util.register_pytree_node(_Plain, lambda plain: ((), plain), lambda plain, _: plain)


def jit_with_plain_results(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """``jax.jit(function, **options)``, but what is no array comes back as it is: a size as an ``int``, a key as a string.

    >>> jit_with_plain_results(lambda x: (x + 1, x.shape[0], "rows"), {})(jax.numpy.zeros(2))
    (Array([1., 1.], dtype=float32), 2, 'rows')
    """
    any_plain = False

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        nonlocal any_plain
        leaves, tree = jax.tree.flatten(function(*args, **kwargs))
        marked = [leaf if isinstance(leaf, (jax.Array, np.ndarray)) else _Plain(leaf) for leaf in leaves]
        any_plain |= any(isinstance(leaf, _Plain) for leaf in marked)
        return jax.tree.unflatten(tree, marked)

    compiled = jax.jit(traced, **options)

    def call(*args: Any) -> Any:
        result = compiled(*args)
        return jax.tree.map(_value, result, is_leaf=lambda item: isinstance(item, _Plain)) if any_plain else result

    return call


def _value(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, _Plain) else leaf
