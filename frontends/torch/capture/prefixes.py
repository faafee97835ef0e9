"""``torch.associative_scan`` at every size: all prefixes by doubling.

torch's own algorithm halves the array until one element is left, and asks at every level whether its length is odd: a recording of it would hold for one length.
After step ``k`` of this one each element is combined with the ``2**k - 1`` before it. Steps that reach beyond the beginning change nothing, so a recording holds
for all arrays that are no longer than it reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ....errors import TracingError
from ....sizes import hint_of
from ..numbers.sizes import expression_of


def prefixes(operator: Callable[..., Any], leaves: Sequence[Any], dim: int = 0, additional_inputs: Sequence[Any] = ()) -> list[Any]:
    """Takes the place of torch's ``generic_associative_scan``: ``operator(*before, *leaves, *additional_inputs)`` combines arrays along ``dim``, all at once."""
    count = leaves[0].shape[dim]
    steps = (2 * hint_of(expression_of(count)) - 1).bit_length()  # twice the length has room
    if count > 2**steps:  # a guard; never true of what is recorded
        raise TracingError(f"associative_scan over {count} elements takes more than {steps} steps")
    positions = torch.arange(count, device=leaves[0].device)
    for step in (2**number for number in range(steps)):
        reached = [_along(positions >= step, dim, leaf.ndim) for leaf in leaves]
        before = [_followed(mask, torch.roll(leaf, step, dim)) for mask, leaf in zip(reached, leaves)]
        after = [_followed(mask, leaf) for mask, leaf in zip(reached, leaves)]
        combined = pytree.tree_leaves(operator(*before, *after, *additional_inputs))
        leaves = [torch.where(mask, new, leaf) for mask, leaf, new in zip(reached, leaves, combined)]
    return list(leaves)


def _followed(mask: Any, leaf: Any) -> Any:
    """The same elements, with gradients where something comes of them: elsewhere strangers are combined, and 0 times an infinite slope is NaN."""
    return torch.where(mask, leaf, leaf.detach()) if leaf.is_floating_point() or leaf.is_complex() else leaf


def _along(mask: Any, dim: int, ndim: int) -> Any:
    return mask.reshape([-1 if axis == dim else 1 for axis in range(ndim)])
