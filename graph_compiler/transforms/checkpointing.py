"""``checkpoint``: less memory for the backward pass, and more computation."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidOption
from ..trees import flatten, unflatten
from .arguments import is_array
from .functions import Function, Transformed

POLICIES = ("nothing", "dots", "everything")


def checkpoint(function: Any, policy: str = "nothing") -> Transformed:
    """The function, of whose intermediate results reverse mode keeps only some, and computes the rest again (``jax.checkpoint``,
    ``torch.utils.checkpoint``, ``tf.recompute_grad``).

    ``policy`` says what is kept: ``"nothing"`` but the arguments, the results of matrix products (``"dots"``; TensorFlow keeps nothing
    then), or ``"everything"``.

    Raises:
        InvalidOption: another policy.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(transforms.checkpoint(lambda x: torch.sin(x) ** 2))(torch.tensor(0.0))
    tensor(0.)
    """
    if policy not in POLICIES:
        raise InvalidOption(f"policy= is {policy!r}, and has to be one of {', '.join(map(repr, POLICIES))}")

    def rule(found: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, tree = flatten((args, kwargs), is_array)
        result_tree: list[Any] = []

        def of_arrays(arrays: list[Any]) -> list[Any]:
            given, keywords = unflatten(tree, arrays)
            results, result_tree[:] = _with_tree(found.call(*given, **keywords))
            return list(map(found.derivatives.array, results))

        results = found.derivatives.rematerialised(of_arrays, policy)(list(map(found.derivatives.array, leaves)))
        return unflatten(result_tree[0], results)

    return Transformed(function, rule, "checkpoint")


def _with_tree(result: Any) -> tuple[list[Any], list[Any]]:
    leaves, tree = flatten(result, is_array)
    return leaves, [tree]
