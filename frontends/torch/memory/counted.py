"""Whether a call that failed has written to anything by then: torch counts the writes to a tensor, but for a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ....ir.graph import Graph
from ..basics.tensors import version
from ..basics.writing import written_arguments

_UNCOUNTED = frozenset({"data", "embedding", "embedding_bag"})  # memory under a count of its own; rows of weights that are shortened


def watching(graph: Graph) -> Callable[[Sequence[torch.Tensor]], Callable[[], bool]] | None:
    """Of tensors that calls of a recorded graph write to, gives a function that tells whether nobody has written since; None where not all
    count."""
    keys = {node.key for node in graph.nodes}
    return None if any(key in _UNCOUNTED or written_arguments(key) for key in keys) else _begun


def _begun(tensors: Sequence[torch.Tensor]) -> Callable[[], bool]:
    before = [version(tensor) for tensor in tensors]
    return lambda: -1 not in before and all(version(tensor) == count for tensor, count in zip(tensors, before))
