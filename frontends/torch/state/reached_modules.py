"""How a walk looks at torch's objects, and the modules that one finds behind functions, in containers and in objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch

from ....tracing import Reached
from ....tracing.reach.named_places import places_of
from ....tracing.reach.originals import original_of
from ....tracing.reach.walk import Policy
from ..basics.arguments import is_array

# Whose methods read what the user gave them, or sets between calls: the rate of an optimiser, say.
_WHOLE = (torch.distributions.Distribution, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)
_CALLED = frozenset({"backward", "jvp", "setup_context", "vjp", "vmap"})  # beside forward, by torch.autograd.Function
_HIDDEN = frozenset(vars(torch.nn.Module()))  # parameters, buffers and training flags are read where they matter


def has_attributes(item: Any) -> bool:
    """Whether somebody has put attributes of their own on a tensor."""
    return isinstance(item, torch.Tensor) and bool(vars(item))


def _is_leaf(item: Any) -> bool:
    return is_array(item) and not has_attributes(item) or isinstance(item, (torch.jit.ScriptModule, torch.Generator))


POLICY = Policy(_is_leaf, hidden=_HIDDEN, whole=_WHOLE, called=_CALLED)


def reached_modules(objects: Iterable[Any]) -> Iterator[tuple[str, torch.nn.Module]]:
    """The modules that these callables and objects refer to, at any depth, with the names of the variables, attributes or keys that hold
    them. Modules are not looked into: what is theirs is what torch says, ``named_parameters``.

    >>> [name for name, _ in reached_modules([[{"policy": torch.nn.Linear(2, 1)}]])]
    ['policy']
    """
    found: dict[int, torch.nn.Module] = {}

    def is_leaf(item: Any) -> bool:
        if isinstance(item, torch.nn.Module):
            found.setdefault(id(item), item)
        return id(item) in found or _is_leaf(item)

    places = places_of(Reached(objects, replace(POLICY, is_leaf=is_leaf)))
    names = {id(original_of(item)): name for name, item, _ in reversed(places)}
    yield from ((names.get(key) or type(module).__name__.lower(), module) for key, module in found.items())
