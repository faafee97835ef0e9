"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

from operator import attrgetter, itemgetter

import torch

from ...ir.graph import Graph
from ...tracing import Surroundings
from .parameters import Weights

_training, _version = itemgetter("training"), attrgetter("_version")


def surroundings_of(weights: Weights, graph: Graph, only_without_grad: bool) -> Surroundings:
    """Training flags of the modules, captured tensors nobody has written to or replaced, and the grad mode where it matters."""
    # Checked before every call, with cold caches as often as not: comparisons of whole lists, filled by C code.
    attributes = [vars(module) for module in weights.modules()]
    flags = list(map(_training, attributes))
    names, captured = list(graph.constants), [tensor for _, tensor in graph.constants.values() if not tensor.is_inference()]
    versions = list(map(_version, captured))
    holders = [(*weights.holder_of(name), tensor) for name, (_, tensor) in graph.constants.items() if weights.knows(name)]

    def in_place() -> bool:
        return not holders or all(held.get(key) is tensor for held, key, tensor in holders)

    def holds() -> bool:
        return (
            list(map(_training, attributes)) == flags
            and list(map(_version, captured)) == versions
            and in_place()
            and not (only_without_grad and torch.is_grad_enabled())
        )

    def reason() -> str:
        if list(map(_training, attributes)) != flags:
            return "train() or eval() was called on a module since"
        if only_without_grad and torch.is_grad_enabled():
            return "it was recorded under no_grad"
        return f"captured tensors were changed or replaced since (of {', '.join(names)})"

    return Surroundings(holds, reason)
