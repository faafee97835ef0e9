"""``checkpoint``: less memory for the backward pass, and more computation."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidOption
from ..trees import flatten
from .flat import Flat, is_value
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
        leaves, tree = flatten((args, kwargs), is_value)
        flat = Flat(found, "checkpoint", tree)
        return flat.result(found.derivatives.rematerialised(flat, policy)(list(map(found.derivatives.array, leaves))))

    return Transformed(function, rule, "checkpoint")
