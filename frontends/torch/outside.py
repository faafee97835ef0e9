"""What torch code refers to outside of its arguments: what belongs to a module, and memory whose writes nobody counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.utils.hooks import RemovableHandle

from ...tracing import Outside, Reach
from ...tracing.outside import Described, Free
from .arguments import is_array
from .memory import elements_of, is_shared

_INTERNAL = ("torch", "numpy", "jax", "jaxlib", "graph_compiler")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_HIDDEN = frozenset(vars(torch.nn.Module()))  # parameters, buffers and training flags are read where they matter


def outside_of(objects: Iterable[Any], free: Free) -> Outside:
    """What these callables refer to: closures, globals, attributes, hooks, the children of modules."""
    reach = Reach(objects, _INTERNAL, _is_leaf, _parts, _HIDDEN)
    hooks = Hooks([module for module in reach.owners if isinstance(module, torch.nn.Module)])
    return Outside(reach, lambda owner: _of_module(owner) if isinstance(owner, torch.nn.Module) else (), _contents, [hooks.fact()], free)


def _is_leaf(item: Any) -> bool:
    return is_array(item) or isinstance(item, (torch.jit.ScriptModule, torch.Generator))


def _parts(item: Any) -> list[Any]:
    if not isinstance(item, torch.nn.Module) or "_modules" not in vars(item):
        return []
    return [type(item).forward, *item._modules.values(), *(hook for name in _HOOKS for hook in vars(item)[name].values())]


def _of_module(module: torch.nn.Module) -> Iterator[Described]:
    own = vars(module)
    if own["_modules"]:
        yield f"a child of a {type(module).__name__}", ("[*{}.values()] == {}", (own["_modules"], [*own["_modules"].values()]))
    elif own["_parameters"]:
        yield f"the class of a {type(module).__name__}", ("{}.__class__ is {}", (module, type(module)))
    if "forward" not in own:
        yield f"forward of a {type(module).__name__}", ("'forward' not in {}", (own,))


def _contents(item: Any) -> bytes | None:
    """The elements of memory whose writes torch does not count."""
    if isinstance(item, np.ndarray):
        return item.tobytes()
    if isinstance(item, bytearray):
        return bytes(item)
    return elements_of(item) if isinstance(item, torch.Tensor) and is_shared(item) else None


class Hooks:
    """The hooks of modules, and those of all modules. torch numbers every hook that is registered anywhere: where the number is as it was,
    only the modules that had hooks need to be looked at."""

    def __init__(self, owners: list[torch.nn.Module]) -> None:
        places = [vars(owner)[name] for owner in owners for name in _HOOKS if name in vars(owner)]
        self._places = [modules._global_forward_hooks, modules._global_forward_pre_hooks, *places]
        self._before = [list(hooks.values()) for hooks in self._places]
        self._filled = [(hooks, before) for hooks, before in zip(self._places, self._before) if before]
        self._number = RemovableHandle.next_id

    def hold(self) -> bool:
        """Whether the same hooks are registered."""
        if RemovableHandle.next_id != self._number:
            if [list(hooks.values()) for hooks in self._places] != self._before:
                return False
            self._number = RemovableHandle.next_id
        return all(list(hooks.values()) == before for hooks, before in self._filled)

    def fact(self) -> Described:
        """Checked before each call."""
        return "a hook of a module", ("{}()", (self.hold,))
