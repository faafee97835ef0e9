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
    """The function, of whose intermediate results reverse mode keeps only some, and computes the rest again (``jax.checkpoint``,
    ``torch.utils.checkpoint``).

    ``policy`` says what is kept beside the arguments: ``"nothing"``, the results of matrix products (``"dots"``), ``"everything"``, what a
    minimum cut finds to be the fewest bytes that need no matrix product again (``"min_cut"``: torch's own partitioner, and for JAX one
    over the function's program), or a collection of the names that the function has given by :func:`name`. TensorFlow keeps nothing
    with any but ``"everything"``.

    Raises:
        InvalidOption: another policy.

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
    """The same arrays, by a name that ``checkpoint(f, policy={name})`` keeps them by (``jax.ad_checkpoint.checkpoint_name``).

    Takes any structure of arrays, in a function of any framework. In a recorded function it is known to transforms of the function itself,
    and of its graphs for JAX from JAX.
    """
    named: T = map_structure(lambda item: item if (owner := owner_of(item)) is None else _named(owner, item, name), value)
    return named


def _named(owner: str, item: Any, name: str) -> Any:
    return backend_of(owner).derivatives().named(item, name)  # type: ignore[union-attr]
