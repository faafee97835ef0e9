"""What torch code refers to outside of its arguments: what belongs to a module, and memory whose writes nobody counts."""

from __future__ import annotations

import array
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.utils.hooks import RemovableHandle

from ....tracing import Reached, facts_outside
from ....tracing.environment.conjunction import EnvironmentGuard
from ....tracing.environment.versions import dicts_of_attribute
from ....tracing.reach.free_parts import FreeParts
from ....tracing.reach.outside import code_fact
from ....tracing.reach.self_contained import is_self_contained
from ....tracing.reach.walk import is_constant
from ..memory.memory import is_shared
from ..memory.snapshots import elements_of
from .parameters import Weights
from .reached_modules import POLICY, has_attributes

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def outside_of(objects: Iterable[Any], free: FreeParts, weights: Weights, is_input: Callable[[Any], bool]) -> list[EnvironmentGuard]:
    """What these callables refer to: closures, globals, attributes, hooks, the children of modules, and the tensors of modules that are
    none of ``weights``.

    ``is_input`` tells what a graph reads at each call, and may write to.
    """
    objects = list(itertools.filterfalse(is_constant, objects))
    if all(map(is_self_contained, objects)):
        return [*Hooks([]).facts(), *map(code_fact, objects)]
    reach = Reached(objects, replace(POLICY, parts=functools.partial(_parts, weights)))
    hooks = Hooks([module for module in reach.owners if isinstance(module, torch.nn.Module)])
    classes = {type(module) for module in reach.owners if isinstance(module, torch.nn.Module)}
    forwards = [fact for cls in classes if not _is_torchs(cls) for fact in _forward(cls)]

    def contents(item: Any) -> bytes | None:
        is_read = isinstance(item, torch.Tensor) and (is_input(item) or weights.name_of(item) is not None)
        return None if is_read else _contents(item)

    found = facts_outside(reach, lambda owner: _of_module(owner) if isinstance(owner, torch.nn.Module) else (), contents, free)
    return [*hooks.facts(), *forwards, *found]


def _is_torchs(cls: type) -> bool:
    return cls.__module__.startswith("torch.")


def _parts(weights: Weights, item: Any) -> list[Any]:
    if has_attributes(item):
        return [type(item)]
    if not isinstance(item, torch.nn.Module) or "_modules" not in vars(item):
        return []
    tensors = [item._parameters, item._buffers] if weights.path_of(item) is None else []  # those of weights are read anew at each call
    return [type(item).forward, *item._modules.values(), *tensors, *(hook for name in _HOOKS for hook in vars(item)[name].values())]


def _forward(cls: type[torch.nn.Module]) -> list[EnvironmentGuard]:
    fact = EnvironmentGuard("{}.forward is {}", (cls, cls.forward), f"forward of {cls.__name__}")
    return [fact._replace(of=held) for held in dicts_of_attribute(cls, "forward")] or [fact]


def _of_module(module: torch.nn.Module) -> Iterator[EnvironmentGuard]:
    own, name = vars(module), type(module).__name__
    if children := own["_modules"]:
        yield EnvironmentGuard("[*{}.values()] == {}", (children, [*children.values()]), f"a child of a {name}", children)
    elif own["_parameters"]:
        yield EnvironmentGuard("{}.__class__ is {}", (module, type(module)), f"the class of a {name}", class_of=module)
    if isinstance(module, (torch.nn.ParameterDict, torch.nn.ParameterList)):  # which forward goes through by methods of torch
        for held in (own, own["_parameters"]):
            yield EnvironmentGuard("[*{}] == {}", (held, [*held]), f"an item of a {name}", held)
    if "forward" not in own:
        yield EnvironmentGuard("'forward' not in {}", (own,), f"forward of a {name}", own)


def _contents(item: Any) -> bytes | None:
    """The elements of memory whose writes torch does not count."""
    if isinstance(item, np.ndarray):
        return item.tobytes()
    if isinstance(item, (bytearray, array.array)):
        return bytes(item)
    return elements_of(item) if isinstance(item, torch.Tensor) and is_shared(item) else None


_COUNTED = dicts_of_attribute(RemovableHandle, "next_id")


class Hooks:
    """The hooks of modules, and those of all modules. torch numbers every hook that is registered anywhere: where the number is as it was,
    only the modules that had hooks need to be looked at."""

    def __init__(self, owners: list[torch.nn.Module]) -> None:
        places = [vars(owner)[name] for owner in owners for name in _HOOKS if name in vars(owner)]
        self._places = [modules._global_forward_hooks, modules._global_forward_pre_hooks, *places]
        self._before = [list(hooks.values()) for hooks in self._places]
        self._filled = list(filter(operator.itemgetter(1), zip(self._places, self._before)))
        self._number = [RemovableHandle.next_id]

    def hold(self) -> bool:
        """Whether the same hooks are registered, though others were since."""
        if [list(hooks.values()) for hooks in self._places] != self._before:
            return False
        self._number[0] = RemovableHandle.next_id
        return True

    def facts(self) -> list[EnvironmentGuard]:
        """Checked before each call."""
        what = "a hook of a module"
        number = EnvironmentGuard("({}.next_id == {}[0] or {}())", (RemovableHandle, self._number, self.hold), what)
        numbers = [number._replace(of=held) for held in _COUNTED] or [number]
        return [*numbers, *(EnvironmentGuard("list({}.values()) == {}", pair, what) for pair in self._filled)]
