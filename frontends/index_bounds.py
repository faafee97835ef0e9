"""Which elements the integer arrays among the inputs may have, where a call picks or writes by them: torch, NumPy and TensorFlow refuse
others, targets clamp or give NaN.

Only arrays that come in as they are used are looked at: for those it costs no waiting for a result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..ir.node import Node, Value
from ..sizes import apply, product
from .building import RaisingBuilder

_SCATTERS = ("ScatterNd", *(f"TensorScatter{kind}" for kind in ("Update", "Add", "Sub", "Min", "Max")))
_OF_VECTORS, _BY_VECTORS = frozenset({"GatherNd", *_SCATTERS}), frozenset({"gather_nd", "scatter_nd"})
OF_TENSORFLOW = frozenset({"Gather", "GatherV2", "StridedSlice", "TensorStridedSliceUpdate", *_OF_VECTORS})
_FROM_THE_FRONT = frozenset(
    {
        *(OF_TENSORFLOW - {"StridedSlice", "TensorStridedSliceUpdate"}),
        *("gather", "index_select", "index_select_copy", "scatter", "scatter_add", "scatter_reduce"),
        *("index_add", "index_copy", "index_reduce", "multi_margin_loss", "take_along_dim"),
    }
)  # calls that take no negative indices; of others that pick along axes, some do
_FIRST = {"lu_unpack": 1, "lu_solve": 1}  # operations whose numbers do not begin with 0
MOST = 2**62
_PARTS = frozenset({"getitem"})
_SAME_ELEMENTS = frozenset({"reshape", "permute_dims", "expand_dims", "squeeze", "broadcast_to", "copy"})

Picked = Iterator[tuple[Value, Any, int | None]]


def _along_axis(node: Node) -> Picked:
    yield node.inputs[1], node.inputs[0].shape[node.params["axis"]], None


def _along_axes(node: Node) -> Picked:
    indices = node.inputs[1:] if node.op == "gather_nd" else node.inputs[2:]
    yield from ((index, node.inputs[0].shape[axis], None) for index, axis in zip(indices, node.params["axes"], strict=True))


def _rows_of_table(node: Node) -> Picked:
    yield node.inputs[1], node.inputs[0].shape[0], None


def _classes(node: Node) -> Picked:
    yield node.inputs[0], node.params["num_classes"], None


def _targets(node: Node) -> Picked:
    scores = node.inputs[0]
    yield node.inputs[1], scores.shape[min(1, scores.ndim - 1)], node.params["ignore_index"]


def _offsets(node: Node) -> Picked:
    yield from _rows_of_table(node)
    yield node.inputs[2], node.inputs[1].shape[0] + 1, None


def _counted(node: Node) -> Picked:
    yield node.inputs[0], MOST, None


def _repeated(node: Node) -> Picked:
    if len(node.inputs) > 1:
        yield node.inputs[1], MOST, None


def _lengths(node: Node) -> Picked:
    scores, targets, steps, lengths = node.inputs
    yield steps, scores.shape[0] + 1, None
    yield lengths, targets.shape[1] + 1, None


def _swapped_rows(node: Node) -> Picked:
    yield node.inputs[1], node.inputs[0].shape[-2] + 1, None


def _unpooled(node: Node) -> Picked:
    yield node.inputs[1], product(node.params["size"]), None


_ALONG_AXES = frozenset({"take", "take_along_axis", "scatter", "gather_nd", "scatter_nd"})
# operation -> (indices, how many there are to choose from, one number that is allowed besides)
PICKING: dict[str, Callable[[Node], Picked]] = {
    "take": _along_axis,
    "take_along_axis": _along_axis,
    "scatter": _along_axis,
    "gather_nd": _along_axes,
    "scatter_nd": _along_axes,
    "embedding": _rows_of_table,
    "embedding_bag": _offsets,
    "bincount": _counted,
    "repeat": _repeated,
    "ctc_loss": _lengths,
    "one_hot": _classes,
    "nll_loss": _targets,
    "cross_entropy": _targets,
    "max_unpool": _unpooled,
    "lu_unpack": _swapped_rows,
    "lu_solve": _swapped_rows,
}


def _of_vectors(node: Node) -> Picked:
    """Index vectors, of whose numbers each is a part: one that is as large as the largest axis lies outside of all."""
    indices = node.inputs[1:] if node.op == "gather_nd" else node.inputs[2:]
    sizes = [node.inputs[0].shape[axis] for axis in node.params["axes"]]
    yield indices[0], functools.reduce(functools.partial(apply, "max"), sizes), None


def note_bounds(b: RaisingBuilder, key: str, made: Iterable[Node]) -> None:
    """The graph holds only where the inputs that the operations ``made`` of one call pick by lie inside."""
    for node in made:
        picked = _of_vectors if key in _OF_VECTORS and node.op in _BY_VECTORS else PICKING.get(node.op)
        for indices, size, besides in picked(node) if picked is not None else ():
            if (given := _as_given(b, indices, key)) is not None:
                first = -size if node.op in _ALONG_AXES and key not in _FROM_THE_FRONT else _FIRST.get(node.op, 0)
                b.bound(given, first, size, besides)


def _as_given(b: RaisingBuilder, value: Any, key: str) -> Value | None:
    """The input whose elements these are, all of them and nothing else; of index vectors, a part of them."""
    while isinstance(value, Value) and value not in b.graph.inputs:
        node = b.maker(value)
        if node is None or not (node.op in _SAME_ELEMENTS or _widens(node) or node.op in _PARTS and key in _OF_VECTORS):
            return None
        value = node.inputs[0]
    return value if isinstance(value, Value) and "int" in value.dtype else None


def _widens(node: Node) -> bool:
    return node.op == "astype" and node.params["dtype"] == "int64"
