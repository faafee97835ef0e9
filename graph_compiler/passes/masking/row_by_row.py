"""Operations that compute each row of their result from the same row of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...ir.node import Node, Value
from ...ops.axes import FULL_SLICE, ROWS
from ...ops.rules import normalise_axes

Axes = Mapping[Value, int]
Rule = Callable[[Node, Axes], bool]


def _always(node: Node, axes: Axes) -> bool:
    return True


def _over_other_axes(node: Node, axes: Axes) -> bool:
    """Return True if ``node`` works along no axis of rows. ``axes`` has that axis for operands with rows."""
    carriers = [item for item in node.inputs if isinstance(item, Value)]
    return all(
        axes.get(item) not in normalise_axes(node.params["axis"], item.ndim)
        for item in carriers
        if item in axes
    )


def _all_have_rows(node: Node, axes: Axes) -> bool:
    return all(item in axes for item in node.inputs)


def _contracts_other_axes(node: Node, axes: Axes) -> bool:
    first, second = node.inputs
    return not (axes.get(first) == first.ndim - 1 or axes.get(second) == max(second.ndim - 2, 0))


def _linear(node: Node, axes: Axes) -> bool:
    x, *weights = node.inputs
    return bool(axes.get(x) != x.ndim - 1) and not any(
        weight in axes for weight in weights if isinstance(weight, Value)
    )


def _keeps_leading_axes(node: Node, axes: Axes) -> bool:
    (x,), axis = node.inputs, axes.get(node.inputs[0])
    return axis is None or tuple(x.shape[: axis + 1]) == tuple(node.params["shape"][: axis + 1])


def _keeps_row_axis(node: Node, axes: Axes) -> bool:
    axis = axes.get(node.inputs[0])
    items = [item for item in node.params["key"] if item is not None]
    return axis is None or axis >= len(items) or items[axis] == FULL_SLICE


def _has_rows_in_indices(node: Node, axes: Axes) -> bool:
    return node.inputs[0] not in axes


ELEMENTWISE = {name for name, row in ROWS.items() if row.carriers == "broadcast"}
BY_ROW: dict[str, Rule] = {
    **dict.fromkeys(
        (*ELEMENTWISE, "permute_dims", "broadcast_to", "zeros", "ones", "full", "one_hot"),
        _always,
    ),
    **dict.fromkeys(
        ("softmax", "log_softmax", "sum", "mean", "var", "std", "max", "min", "all", "any", "prod"),
        _over_other_axes,
    ),
    **dict.fromkeys(
        ("argmax", "argmin", "layer_norm", "rms_norm", "normalize", "glu", "split"),
        _over_other_axes,
    ),
    **dict.fromkeys(("gather_nd", "embedding", "take"), _has_rows_in_indices),
    "stack": _all_have_rows,
    "concat": lambda node, axes: _all_have_rows(node, axes) and _over_other_axes(node, axes),
    "matmul": _contracts_other_axes,
    "linear": _linear,
    "reshape": _keeps_leading_axes,
    "getitem": _keeps_row_axis,
}
