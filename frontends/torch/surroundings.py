"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

import torch

from ...ir.graph import Graph
from ...tracing import Surroundings
from .parameters import Weights
from .tensors import version


def surroundings_of(weights: Weights, graph: Graph, only_without_grad: bool) -> Surroundings:
    """Training flags of the modules, captured tensors nobody has written to or replaced, and the grad mode where it matters."""
    modules = weights.modules()
    flags = [module.training for module in modules]
    captured = [(tensor, version(tensor)) for _, tensor in graph.constants.values()]
    holders = [(*weights.holder_of(name), tensor) for name, (_, tensor) in graph.constants.items() if weights.knows(name)]

    def reason() -> str:
        if [module.training for module in modules] != flags:
            return "train() or eval() was called on a module since"
        if only_without_grad and torch.is_grad_enabled():
            return "it was recorded under no_grad"
        changed = [name for name, (_, tensor) in graph.constants.items() if version(tensor) != dict(captured_versions)[name]]
        return f"captured tensors were changed or replaced since: {', '.join(changed) or 'a buffer'}"

    captured_versions = [(name, version(tensor)) for name, (_, tensor) in graph.constants.items()]

    def holds() -> bool:
        return (
            [module.training for module in modules] == flags
            and all(tensor._version == version for tensor, version in captured)
            and all(held.get(key) is tensor for held, key, tensor in holders)
            and not (only_without_grad and torch.is_grad_enabled())
        )

    return Surroundings(holds, reason)
