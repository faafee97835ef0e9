"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

import torch

from ...ir.graph import Graph
from ...passes.aliases import Aliases
from ...tracing import Surroundings
from ...tracing.conjunction import Fact, conjunction
from .memory import elements_of, has_memory, is_shared
from .parameters import Weights
from .training import reads_unseen


def surroundings_of(weights: Weights, graph: Graph, asked: list[torch.nn.Module], only_without_grad: bool) -> Surroundings:
    """Training flags of the modules that were ``asked``, captured tensors nobody has written to or replaced, the default dtype, and the grad
    mode where it matters."""
    flags = [*asked, *(module for module in weights.modules() if reads_unseen(module))]
    written = Aliases(graph).written  # by the graph itself, which reads them at each call
    captured = [(name, tensor) for name, (value, tensor) in graph.constants.items() if value not in written]
    training = [_mode(module) for module in flags]
    facts = [fact for _, tensor in captured for fact in _untouched(tensor)]
    facts += [("{}.get({}) is {}", (*weights.holder_of(name), tensor)) for name, tensor in captured if weights.knows(name)]
    dtype = torch.get_default_dtype()
    facts.append(("{}() is {}", (torch.get_default_dtype, dtype)))
    facts.append(("{}() is {}", (torch._C._is_any_autocast_enabled, torch._C._is_any_autocast_enabled())))
    if only_without_grad:
        facts.append(("not {}()", (torch.is_grad_enabled,)))
    modes = conjunction(training)

    def reason() -> str:
        if not modes():
            return "train() or eval() was called on a module since"
        if torch.get_default_dtype() is not dtype:
            return f"it was recorded with {dtype} as the default dtype"
        if only_without_grad and torch.is_grad_enabled():
            return "it was recorded under no_grad"
        if torch._C._is_any_autocast_enabled():
            return "it was recorded outside of torch.autocast"
        return f"captured tensors were changed or replaced since (of {', '.join(graph.constants)})"

    return Surroundings(conjunction([*training, *facts]), reason)


def _mode(module: torch.nn.Module) -> Fact:
    own = vars(module)
    return ("{}['training'] is {}", (own, own["training"])) if "training" in own else ("{}.training is {}", (module, module.training))


def _untouched(tensor: torch.Tensor) -> list[Fact]:
    """Nobody has written to the tensor, nor put it upon other memory."""
    facts: list[Fact] = [] if tensor.is_inference() else [("{}._version == {}", (tensor, tensor._version))]
    if has_memory(tensor):
        facts.append(("{}.data_ptr() == {}", (tensor, tensor.data_ptr())))
    return [*facts, *([("{}({}) == {}", (elements_of, tensor, elements_of(tensor)))] if is_shared(tensor) else [])]
