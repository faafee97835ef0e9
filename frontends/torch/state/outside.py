"""Guards on objects outside of the arguments: modules, hooks, and memory whose writes are not counted."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.utils.hooks import RemovableHandle

from ....ir.graph import Aliases, Graph
from ....ops.registry import ArraySpec
from ....recording import Reached, facts_outside
from ....recording.environment_guards import EnvironmentGuard, dicts_of_attribute
from ....recording.reachability.containers import FreeParts
from ....recording.reachability.libraries import is_self_contained
from ....recording.reachability.outside import code_guard
from ....recording.reachability.walk import is_constant
from ....recording.state.contents import WHOLE, buffer_bytes
from ..basics.tensors import dtype_name
from ..compat import AUTOCAST_DEVICES, is_any_autocast_enabled
from ..memory.copies import Snapshot, elements_of
from ..memory.memory import has_memory, is_shared
from ..memory.watching import layout_of, pieces_of, words_of
from .parameters import TorchWeights
from .reads import POLICY, has_attributes, reads_unseen


def environment_guards_of(
    weights: TorchWeights, graph: Graph, asked: list[torch.nn.Module], only_without_grad: bool
) -> list[EnvironmentGuard]:
    """Return guards on training flags, captured tensors, weights and settings of torch.

    ``asked`` are the modules whose training flag was read.
    """
    guards = [] if weights.are_none and not (asked or graph.constants) else _of_tensors(weights, graph, asked)
    for ask, what in _SETTINGS:
        guards.append(EnvironmentGuard("{}() == {}", (ask, ask()), what, is_thread_mode=True))
    if only_without_grad:
        guards.append(
            EnvironmentGuard(
                "not {}()",
                (torch.is_grad_enabled,),
                "no_grad, under which it was recorded,",
                is_thread_mode=True,
            )
        )
    return guards


def _of_tensors(weights: TorchWeights, graph: Graph, asked: list[torch.nn.Module]) -> list[EnvironmentGuard]:
    flags = [*asked, *(module for module in weights.modules if reads_unseen(module))]
    # These are inputs of other calls of the graph, which reads them each time.
    touched = Aliases(graph).touched
    captured = [(name, tensor) for name, (value, tensor) in graph.constants.items() if value not in touched]
    guards = [_mode(module) for module in flags]
    guards += [fact for name, tensor in captured for fact in _guards_of_captured(name, tensor)]
    guards += _guards_of_unused_weights(weights, graph)
    guards += [
        _unreplaced(name, tensor, *weights.holder_of(name))
        for name, tensor in captured
        if weights.knows(name)
    ]
    return guards + [
        EnvironmentGuard("{}[{}] is {}[{}]", (*one, *other), f"the weight {name}, which was tied to another,")
        for name, one, other in weights.places.ties
    ]


def _autocast() -> tuple[tuple[str, torch.dtype], ...]:
    if not is_any_autocast_enabled():
        return ()
    return tuple(
        (kind, torch.get_autocast_dtype(kind)) for kind in AUTOCAST_DEVICES if torch.is_autocast_enabled(kind)
    )


_SETTINGS = ((torch.get_default_dtype, "the default dtype"), (_autocast, "torch.autocast"))


def _mode(module: torch.nn.Module) -> EnvironmentGuard:
    own, what = vars(module), f"the training flag of a {type(module).__name__} (by train() or eval())"
    if "training" in own:
        return EnvironmentGuard("{}['training'] is {}", (own, own["training"]), what, own)
    return EnvironmentGuard("{}.training is {}", (module, module.training), what)


def _guards_of_unused_weights(weights: TorchWeights, graph: Graph) -> list[EnvironmentGuard]:
    """Return guards on the shape and dtype of weights whose elements the graph does not use."""
    used = {id(value) for node in graph.nodes for value in node.uses} | {id(item) for item in graph.outputs}
    names = [name for name, value in graph.parameters.items() if id(value) not in used]
    return [
        EnvironmentGuard(
            "{}()",
            (functools.partial(_is_like, *weights.holder_of(name), graph.parameters[name].spec),),
            f"the weight {name}",
        )
        for name in names
    ]


def _is_like(held: Any, key: str, spec: ArraySpec) -> bool:
    # Scripted modules hold their tensors in an object that has no ``get``.
    tensor = dict(held.items()).get(key)
    return isinstance(tensor, torch.Tensor) and (tuple(tensor.shape), dtype_name(tensor.dtype)) == (
        spec.hints,
        spec.dtype,
    )


def _unreplaced(name: str, tensor: torch.Tensor, held: dict[str, torch.Tensor], key: str) -> EnvironmentGuard:
    return EnvironmentGuard("{}.get({}) is {}", (held, key, tensor), f"the captured tensor {name}", held)


def _guards_of_captured(name: str, tensor: torch.Tensor) -> list[EnvironmentGuard]:
    """Return guards against writes to the captured ``tensor`` and changes of its layout."""
    what, words = f"the captured tensor {name}", words_of(tensor)
    noted = (
        [EnvironmentGuard("{}({}) == {}", (layout_of, tensor, layout_of(tensor)), what, words=words)]
        if has_memory(tensor)
        else []
    )
    if not tensor.is_inference():
        noted.append(EnvironmentGuard("{}._version == {}", (tensor, tensor._version), what, words=words))
    shared = is_shared(tensor)
    pieces = pieces_of(tensor, whole=shared)
    # The contents are read after the address was compared.
    if pieces is not None:
        return [*noted, EnvironmentGuard("{} == {}", (pieces.before, pieces.now), what)]
    # Inference tensors have no version that counts writes.
    is_copied = has_memory(tensor) and (tensor.numel() * tensor.itemsize <= WHOLE or tensor.is_inference())
    snapshot = (
        [EnvironmentGuard("{}({})", (Snapshot(tensor).is_of, tensor), what)] if is_copied or shared else []
    )
    return [*noted, *snapshot]


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def reference_guards(
    objects: Iterable[Any], free: FreeParts, weights: TorchWeights, is_input: Callable[[Any], bool]
) -> list[EnvironmentGuard]:
    """Return guards on what ``objects`` refer to: closures, globals, attributes, hooks, child modules."""
    objects = list(itertools.filterfalse(is_constant, objects))
    if all(map(is_self_contained, objects)):
        return [*ModuleHooks([]).guards(), *map(code_guard, objects)]
    reach = Reached(objects, replace(POLICY, parts=functools.partial(_parts, weights)))
    hooks = ModuleHooks([module for module in reach.owners if isinstance(module, torch.nn.Module)])
    classes = {type(module) for module in reach.owners if isinstance(module, torch.nn.Module)}
    forwards = [fact for cls in classes if not _is_torchs(cls) for fact in _forward(cls)]

    def contents(item: Any) -> bytes | None:
        is_read = isinstance(item, torch.Tensor) and (is_input(item) or weights.name_of(item) is not None)
        return None if is_read else _contents(item)

    found = facts_outside(
        reach, lambda owner: _of_module(owner) if isinstance(owner, torch.nn.Module) else (), contents, free
    )
    return [*hooks.guards(), *forwards, *found]


def _is_torchs(cls: type) -> bool:
    return cls.__module__.startswith("torch.")


def _parts(weights: TorchWeights, item: Any) -> list[Any]:
    if has_attributes(item):
        return [type(item)]
    if not isinstance(item, torch.nn.Module) or "_modules" not in vars(item):
        return []
    # Tensors of weights are read at each call.
    tensors = [item._parameters, item._buffers] if weights.modules.path_of(item) is None else []
    return [
        type(item).forward,
        *item._modules.values(),
        *tensors,
        *(hook for name in _HOOKS for hook in vars(item)[name].values()),
    ]


def _forward(cls: type[torch.nn.Module]) -> list[EnvironmentGuard]:
    fact = EnvironmentGuard("{}.forward is {}", (cls, cls.forward), f"forward of {cls.__name__}")
    return [fact._replace(of=held) for held in dicts_of_attribute(cls, "forward")] or [fact]


def _of_module(module: torch.nn.Module) -> Iterator[EnvironmentGuard]:
    own, name = vars(module), type(module).__name__
    if children := own["_modules"]:
        yield EnvironmentGuard(
            "[*{}.values()] == {}", (children, [*children.values()]), f"a child of a {name}", children
        )
    elif own["_parameters"]:
        yield EnvironmentGuard(
            "{}.__class__ is {}", (module, type(module)), f"the class of a {name}", class_of=module
        )
    # ``forward`` iterates over these by methods of torch.
    if isinstance(module, (torch.nn.ParameterDict, torch.nn.ParameterList)):
        for held in (own, own["_parameters"]):
            yield EnvironmentGuard("[*{}] == {}", (held, [*held]), f"an item of a {name}", held)
    if "forward" not in own:
        yield EnvironmentGuard("'forward' not in {}", (own,), f"forward of a {name}", own)


def _contents(item: Any) -> bytes | None:
    if isinstance(item, torch.Tensor):
        return elements_of(item) if is_shared(item) else None
    return buffer_bytes(item)


_COUNTED = dicts_of_attribute(RemovableHandle, "next_id")


class ModuleHooks:
    """Guards on the hooks of modules, and on global forward hooks.

    torch numbers hooks in the order in which they are registered. While the next number is unchanged, no hook
    was registered, so only dicts that had hooks need to be compared.
    """

    def __init__(self, owners: list[torch.nn.Module]) -> None:
        places = [vars(owner)[name] for owner in owners for name in _HOOKS if name in vars(owner)]
        self._places = [modules._global_forward_hooks, modules._global_forward_pre_hooks, *places]
        self._before = [list(hooks.values()) for hooks in self._places]
        # A hook that is removed does not change the number, so dicts that have hooks are compared in each
        # call.
        self._filled = list(filter(operator.itemgetter(1), zip(self._places, self._before)))
        self._number = [RemovableHandle.next_id]

    def hold(self) -> bool:
        """Return True if the same hooks are registered as when this object was created.

        In that case, also store torch's next hook number, so that the next check is quick.
        """
        if [list(hooks.values()) for hooks in self._places] != self._before:
            return False
        self._number[0] = RemovableHandle.next_id
        return True

    def guards(self) -> list[EnvironmentGuard]:
        what = "a hook of a module"
        number = EnvironmentGuard(
            "({}.next_id == {}[0] or {}())", (RemovableHandle, self._number, self.hold), what
        )
        numbers = [number._replace(of=held) for held in _COUNTED] or [number]
        return [*numbers, *(EnvironmentGuard("list({}.values()) == {}", pair, what) for pair in self._filled)]
