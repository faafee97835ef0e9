"""``checkpoint``: less memory for the backward pass, and more computation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ..errors import InvalidOption
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..trees import flatten, map_structure
from .flat import Flat, is_value
from .functions import Function, Transformed, owner_of

T = TypeVar("T")
POLICIES = ("nothing", "dots", "everything", "min_cut")


@public
def checkpoint(function: Any, policy: str | Iterable[str] = "nothing") -> Transformed:
    """Return a function whose backward pass stores only some intermediate results and computes the rest again.

    It is ``jax.checkpoint`` and ``torch.utils.checkpoint``. TensorFlow stores nothing under any policy except
    ``"everything"``.

    Args:
        function: Graph, ``functional`` of a graph, or function.
        policy: What is stored besides the arguments. ``"nothing"``; ``"dots"``, the results of matrix
            products; ``"everything"``; ``"min_cut"``, the fewest bytes from which the rest follows without a
            matrix product; or a collection of names given by :func:`name`.

    Raises:
        InvalidOption: Another policy.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(transforms.checkpoint(lambda x: torch.sin(x) ** 2))(torch.tensor(0.0))
    tensor(0.)
    >>> inner = lambda x: transforms.name(torch.sin(x), "sine") ** 2
    >>> transforms.grad(transforms.checkpoint(inner, policy={"sine"}))(torch.tensor(0.0))
    tensor(0.)
    """
    names = None if isinstance(policy, str) or not isinstance(policy, Iterable) else tuple(policy)
    if policy not in POLICIES if names is None else not all(isinstance(item, str) for item in names):
        raise InvalidOption(f"policy= is {policy!r}, and has to be one of {', '.join(map(repr, POLICIES))}, or a collection of names")

    def rule(found: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, tree = flatten((args, kwargs), is_value)
        flat = Flat(found, "checkpoint", tree)
        kept: Any = policy if names is None else names
        return flat.result(found.derivatives.rematerialised(flat, kept)(list(map(found.derivatives.array, leaves))))

    return Transformed(function, rule, "checkpoint")


def name(value: T, name: str) -> T:
    """Name arrays for ``checkpoint(f, policy={name})``, and return them unchanged
    (``jax.ad_checkpoint.checkpoint_name``).

    In a recorded function, transforms of the function itself know the name, and so do graphs of JAX functions
    for JAX.

    Args:
        value: Arrays in any structure, of any framework.
        name: The name.
    """
    named: T = map_structure(lambda item: item if (owner := owner_of(item)) is None else _named(owner, item, name), value)
    return named


def _named(owner: str, item: Any, name: str) -> Any:
    return backend_of(owner).derivatives().named(item, name)  # type: ignore[union-attr]
