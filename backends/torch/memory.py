"""Which torch tensors share memory."""

from __future__ import annotations

from ...ir.graph import Graph
from ...passes import copy_overwritten

# Operations whose row may give a view of the first tensor, or the tensor itself.
VIEWS = frozenset({
    "astype", "bitcast", "broadcast_to", "conj", "diagonal", "einsum", "getitem", "imag", "matrix_power", "pad", "permute_dims", "real",
    "refuse_gradient", "reshape", "sliding_window", "split", "stop_gradient", "unstack", "view_as_complex", "with_gradient",
})  # fmt: skip


def copy_aliased_outputs(graph: Graph) -> tuple[Graph, bool]:
    """What is written to arguments is whole until then. Results may share memory with arguments that nobody writes to, as those of torch
    itself do."""
    return copy_overwritten(graph, VIEWS)
