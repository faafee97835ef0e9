"""Results of compiled functions, divided into arrays and static structure."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...trees import Tree, flatten, unflatten


def is_leaf(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray)) or hasattr(item, "aval") or type(item) is object


def weak(array: Any) -> Any:
    # JAX has no public function that makes a dtype weak.
    return jax.lax.convert_element_type_p.bind(array, new_dtype=array.dtype, weak_type=True, sharding=None)


class Packed:
    """Pytree of a result: arrays are leaves, everything else (numbers, strings, key order) is static.

    leaves: the arrays.
    form: the static part.
    """

    def __init__(self, leaves: Any, form: ResultStructure) -> None:
        self.leaves, self.form = leaves, form

    @classmethod
    def of(cls, result: Any) -> Packed:
        leaves, tree = flatten(result, is_leaf)
        return cls(leaves, ResultStructure(tree))

    def unpacked(self) -> Any:
        return unflatten(self.form.tree, self.leaves)


class ResultStructure:
    """Static part of a result, which ``jax.jit`` compares and hashes."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultStructure) and self.tree == other.tree

    def __hash__(self) -> int:
        # Trees may have members that are not hashable, so all structures have one hash, and `==` decides.
        return hash(ResultStructure)


jax.tree_util.register_pytree_node(
    Packed, lambda packed: (packed.leaves, packed.form), lambda form, leaves: Packed(leaves, form)
)
