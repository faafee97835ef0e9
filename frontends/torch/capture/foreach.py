"""``torch._foreach_*``, which optimisers and ``clip_grad_norm_`` call: one call for each tensor of the lists, as every framework has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..basics.names import name_of, row_key
from .running import Running

_PREFIX = "_foreach_"


def _scaled(name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(torch.Tensor, name)
    return lambda tensor, one, other, value=1: method(tensor, one, other, value=value)


# What has another name for one tensor, or takes its arguments in another way.
_ONE: dict[str, Callable[..., Any]] = {
    "norm": lambda tensor, ord=2, dtype=None: torch.linalg.vector_norm(tensor, ord, dtype=dtype),
    "maximum_": lambda tensor, other: tensor.clamp_(min=other),
    "minimum_": lambda tensor, other: tensor.clamp_(max=other),
    **{name: _scaled(name) for name in ("addcmul", "addcmul_", "addcdiv", "addcdiv_")},
}
NAMES = [name for name in dir(torch) if name.startswith(_PREFIX)]


def foreach(capture: Running, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results one by one, of a call that writes to its tensors these."""
    key = row_key(name_of(function))
    bare = key.removeprefix(_PREFIX)
    one = _ONE.get(bare) or getattr(torch, bare, None) or getattr(torch.Tensor, bare)
    given = (*args, *kwargs.values())
    count = next(len(item) for item in given if isinstance(item, (list, tuple)))
    with capture:
        found = [one(*(_part(item, i) for item in args), **{name: _part(item, i) for name, item in kwargs.items()}) for i in range(count)]
    return found if bare.endswith("_") else tuple(found)


def _part(item: Any, place: int) -> Any:
    return item[place] if isinstance(item, (list, tuple)) else item
