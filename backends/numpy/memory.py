"""Which numpy arrays share memory."""

from __future__ import annotations

from ...ir.graph import Graph
from ...passes import copy_overwritten
from ...passes.copy_aliased_outputs import copy_aliased_outputs as _copy_aliased_outputs

# Operations whose row may give a view of the first array, or the array itself.
VIEWS = frozenset({
    "adaptive_max_pool", "avg_pool", "bitcast", "channel_shuffle", "diff", "einsum", "flip", "getitem", "im2col", "imag", "interpolate",
    "matrix_power", "max_pool", "pad", "permute_dims", "pixel_shuffle", "pixel_unshuffle", "real", "reshape", "split", "stop_gradient",
    "unstack", "view_as_complex", "with_gradient", "refuse_gradient",
})  # fmt: skip
# Views that numpy does not allow to be written to.
READ_ONLY = frozenset({"broadcast_to", "diagonal", "sliding_window"})


def copy_aliased_outputs(graph: Graph) -> tuple[Graph, bool]:
    """Results as arrays of their own: no memory shared with arguments, weights or one another, no numpy scalars; and what is written to
    arguments is whole until then."""
    graph, separated = copy_overwritten(graph, VIEWS | READ_ONLY)
    graph, copied = _copy_aliased_outputs(graph, VIEWS, READ_ONLY, scalars=True)
    return graph, separated or copied
