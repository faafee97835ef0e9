"""Row-major order of arrays, where it decides whether a call returns a view or a copy.

``x.T.reshape(-1)`` is a copy, but a view if one axis has size 1. If such an order depends on sizes, and a
later write shows whether the call made a copy, guards fix all sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.graph import Aliases, Graph
from ...ir.node import Node, Value
from ...sizes import Size
from ...trees import iterate_structure
from ..common.copies import is_shown, joins_axes
from .calls import BY_STRIDES, row_key

# Calls whose result is row-major for any strides of their operands, unless they are given another order.
_ROW_MAJOR = frozenset({"reshape", "ravel", "ascontiguousarray", "ndarray.copy"})
# Views that are row-major if their operand is.
_KEEPS_ORDER = frozenset(
    {"reshape", "ravel", "ascontiguousarray", "asarray", "array", "squeeze", "expand_dims", "atleast_1d"}
)
# Calls that return their operand, or a view of all of it, only if it has the wanted order already.
_WHOLE = frozenset({"ravel", "ascontiguousarray", "asfortranarray", "asarray", "array"})
_OTHER_ORDERS = frozenset("FAK")


class RowMajorOrder:
    """Values of one recording that are not row-major at every size."""

    def __init__(self) -> None:
        self._not_row_major: set[Value] = set()

    def follow(self, node: Node, made: Sequence[Any]) -> None:
        """Note the order of the results of ``node``; ``made`` are the arrays behind them."""
        key, depends = _key(node), not self._not_row_major.isdisjoint(node.uses)
        for index, (array, value) in enumerate(zip(made, node.outputs)):
            if index in node.views:
                is_row_major = not depends and (key in _KEEPS_ORDER or _takes_rows(node))
            else:
                is_row_major = not depends or key in _ROW_MAJOR
            if not is_row_major or _other_order(node) or not array.flags.c_contiguous:
                self._not_row_major.add(value)

    def depend_on_sizes(self, graph: Graph) -> bool:
        """Return True if a write shows whether a call made a copy, which it does at some sizes only."""
        aliases = Aliases(graph)
        return bool(aliases.written) and any(
            self._may_return_either(node) and is_shown(graph, place, aliases)
            for place, node in enumerate(graph.nodes)
        )

    def _may_return_either(self, node: Node) -> bool:
        key = _key(node)
        if key not in BY_STRIDES or not node.outputs or not node.uses:
            return False
        if key not in _WHOLE and not joins_axes(node):
            return False
        if _other_order(node):
            return node.uses[0].spec.ndim > 1
        # Without an order, these calls return their operand whatever its order is.
        return key not in {"asarray", "array"} and node.uses[0] in self._not_row_major


def may_return_operand(key: str) -> bool:
    """Return True for a call that returns its operand itself at some sizes, and a copy at others."""
    return key in {"ascontiguousarray", "asfortranarray"}


def _key(node: Node) -> str:
    return "ndarray.copy" if node.op == "numpy.ndarray.copy" else row_key(node.op)


def _takes_rows(node: Node) -> bool:
    # ``x[i, j]`` and ``x[i, j:k]`` of leading axes are row-major if x is.
    if _key(node) != "__getitem__":
        return False
    *leading, last = node.inputs[1] if isinstance(node.inputs[1], tuple) else (node.inputs[1],)
    return all(isinstance(item, (int, Size)) for item in leading) and (
        last.step in (None, 1) if isinstance(last, slice) else isinstance(last, (int, Size))
    )


def _other_order(node: Node) -> bool:
    return row_key(node.op) == "asfortranarray" or any(
        isinstance(item, str) and item in _OTHER_ORDERS
        for item in iterate_structure((node.inputs, node.params))
    )
