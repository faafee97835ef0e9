"""What a recording of torch relies on beside the arguments of a call and what the function refers to."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ....ir.aliases import Aliases
from ....ir.graph import Graph
from ....ops.registry import ArraySpec
from ....tracing.environment.conjunction import EnvironmentGuard
from ....tracing.state.memory_copies import WHOLE
from ..basics.dtypes import dtype_name
from ..compat import is_any_autocast_enabled
from ..memory.memory import has_memory, is_shared
from ..memory.snapshots import Snapshot
from ..memory.watching import layout_of, pieces_of
from ..memory.words import words_of
from .module_reads import reads_unseen
from .parameters import Weights


def environment_guards_of(weights: Weights, graph: Graph, asked: list[torch.nn.Module], only_without_grad: bool) -> list[EnvironmentGuard]:
    """Training flags of the modules that were ``asked``, captured tensors nobody has written to or replaced, the default dtype, and the
    grad mode where it matters."""
    facts = [] if weights.are_none and not (asked or graph.constants) else _of_tensors(weights, graph, asked)
    for ask, what in _SETTINGS:
        facts.append(EnvironmentGuard("{}() is {}", (ask, ask()), what, is_thread_mode=True))
    if only_without_grad:
        facts.append(EnvironmentGuard("not {}()", (torch.is_grad_enabled,), "no_grad, under which it was recorded,", is_thread_mode=True))
    return facts


def _of_tensors(weights: Weights, graph: Graph, asked: list[torch.nn.Module]) -> list[EnvironmentGuard]:
    flags = [*asked, *(module for module in weights.modules() if reads_unseen(module))]
    touched = Aliases(graph).touched  # by the graph itself, which reads them at each call
    captured = [(name, tensor) for name, (value, tensor) in graph.constants.items() if value not in touched]
    facts = [_mode(module) for module in flags]
    facts += [fact for name, tensor in captured for fact in _untouched(name, tensor)]
    facts += _only_asked(weights, graph)
    facts += [_unreplaced(name, tensor, *weights.holder_of(name)) for name, tensor in captured if weights.knows(name)]
    return facts + [
        EnvironmentGuard("{}[{}] is {}[{}]", (*one, *other), f"the weight {name}, which was tied to another,")
        for name, one, other in weights.ties
    ]


def _autocast() -> Any:
    """What autocast casts to; False where it is off."""
    if not is_any_autocast_enabled():
        return False
    return next((torch.get_autocast_dtype(kind) for kind in ("cuda", "cpu") if torch.is_autocast_enabled(kind)), True)


_SETTINGS = ((torch.get_default_dtype, "the default dtype"), (_autocast, "torch.autocast"))


def _mode(module: torch.nn.Module) -> EnvironmentGuard:
    own, what = vars(module), f"the training flag of a {type(module).__name__} (by train() or eval())"
    if "training" in own:
        return EnvironmentGuard("{}['training'] is {}", (own, own["training"]), what, own)
    return EnvironmentGuard("{}.training is {}", (module, module.training), what)


def _only_asked(weights: Weights, graph: Graph) -> list[EnvironmentGuard]:
    """The weights that the function asks for nothing but their sizes and types: those that a graph computes with are compared where it
    reads them."""
    used = {id(value) for node in graph.nodes for value in node.uses} | {id(item) for item in graph.outputs}
    names = [name for name, value in graph.parameters.items() if id(value) not in used]
    return [
        EnvironmentGuard(
            "{}()", (functools.partial(_is_like, *weights.holder_of(name), graph.parameters[name].spec),), f"the weight {name}"
        )
        for name in names
    ]


def _is_like(held: Any, key: str, spec: ArraySpec) -> bool:
    tensor = dict(held.items()).get(key)
    return isinstance(tensor, torch.Tensor) and (tuple(tensor.shape), dtype_name(tensor.dtype)) == (spec.hints, spec.dtype)


def _unreplaced(name: str, tensor: torch.Tensor, held: dict[str, torch.Tensor], key: str) -> EnvironmentGuard:
    return EnvironmentGuard("{}.get({}) is {}", (held, key, tensor), f"the captured tensor {name}", held)


def _untouched(name: str, tensor: torch.Tensor) -> list[EnvironmentGuard]:
    """Guards that a captured tensor has the same memory and contents: by its version counter, and by its bytes for uncounted writes."""
    what, words = f"the captured tensor {name}", words_of(tensor)
    noted = [EnvironmentGuard("{}({}) == {}", (layout_of, tensor, layout_of(tensor)), what, words=words)] if has_memory(tensor) else []
    if not tensor.is_inference():
        noted.append(EnvironmentGuard("{}._version == {}", (tensor, tensor._version), what, words=words))
    shared = is_shared(tensor)
    pieces = pieces_of(tensor, whole=shared)
    if pieces is not None:  # read after the address was compared
        return [*noted, EnvironmentGuard("{} == {}", (pieces.before, pieces.now), what)]
    is_small = has_memory(tensor) and tensor.numel() * tensor.itemsize <= WHOLE
    snapshot = [EnvironmentGuard("{}({})", (Snapshot(tensor).is_of, tensor), what)] if is_small or shared else []
    return [*noted, *snapshot]
