"""Rules for running operations on arrays whose axes are permuted. ``ROWS`` is the table.

An *order* lists for each axis of the permuted array the axis of the original: ``(0, 2, 3, 1)`` for images
whose channels were second and are now last. A rule returns the parameters for arrays in that order and the
order of the result, or None if the operation has to run in the original order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .convolution import CHANNELS_FIRST, CHANNELS_LAST, to_first, to_last
from .registry import ArraySpec, all_ops
from .rules import normalise_axes, normalise_axis

Order = tuple[int, ...]
Params = dict[str, Any]
Moved = tuple[Params, Order]
FULL_SLICE = (None, None, 1)


@dataclass(frozen=True)
class AxisRule:
    """Rule for running an operation on arrays whose axes are permuted.

    moved: function of the parameters, the spec of the first array, and the order of the permuted axes. It
        returns the new parameters and the order of the result, or None if the axes cannot be permuted.
    carriers: the inputs whose axes are permuted: ``"first"`` for the first, ``"all"`` for all, and
        ``"broadcast"`` for all of an operation that broadcasts them.
    """

    moved: Callable[[Params, ArraySpec, Order], Moved | None]
    carriers: str = "first"


def _keep(params: Params, x: ArraySpec, order: Order) -> Moved:
    return params, order


def _axis_positions(axis: Any, rank: int, order: Order) -> Any:
    if isinstance(axis, tuple):
        return tuple(order.index(normalise_axis(one, rank)) for one in axis)
    return order.index(normalise_axis(axis, rank))


def _along(params: Params, x: ArraySpec, order: Order) -> Moved:
    return {**params, "axis": _axis_positions(params["axis"], x.ndim, order)}, order


def _remaining_order(order: Order, gone: set[int]) -> Order:
    left = [axis for axis in order if axis not in gone]
    return tuple(sorted(left).index(axis) for axis in left)


def _reduce(params: Params, x: ArraySpec, order: Order) -> Moved:
    axis = params["axis"]
    moved = params if axis is None else {**params, "axis": _sort_axes(_axis_positions(axis, x.ndim, order))}
    return moved, order if params["keepdims"] else _remaining_order(order, set(normalise_axes(axis, x.ndim)))


def _sort_axes(axis: Any) -> Any:
    return tuple(sorted(axis)) if isinstance(axis, tuple) else axis


def _reduce_to_index(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    # An index into the flattened array depends on the order of the axes.
    return None if params["axis"] is None else _reduce(params, x, order)


def _per_axis(name: str) -> Callable[[Params, ArraySpec, Order], Moved | None]:
    """Return a rule for an operation whose parameter ``name`` has one item per axis."""

    def moved(params: Params, x: ArraySpec, order: Order) -> Moved | None:
        items = params[name]
        return (
            ({**params, name: tuple(items[axis] for axis in order)}, order) if len(items) == x.ndim else None
        )

    return moved


def _index(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    # An inserted axis has no counterpart among the axes of the array, so the order does not place it.
    if None in params["key"]:
        return None
    key = (*params["key"], *(FULL_SLICE,) * (x.ndim - len(params["key"])))
    dropped = {axis for axis, item in enumerate(key) if not isinstance(item, tuple)}
    return {"key": tuple(key[axis] for axis in order)}, _remaining_order(order, dropped)


def _reshape(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    shape = tuple(params["shape"])
    for to, channels, space in ((to_last, 1, x.shape[2:]), (to_first, -1, x.shape[1:-1])):
        # The row-major order of elements differs between the layouts, so the result is the same only if batch
        # and channels stay as they are.
        is_kept = len(shape) > 1 and shape[0] == x.shape[0] and shape[channels] == x.shape[channels]
        if order != to(x.ndim) or not is_kept:
            continue
        if len(shape) > 2 or all(isinstance(size, int) and size == 1 for size in space):
            return {"shape": tuple(shape[axis] for axis in to(len(shape)))}, to(len(shape))
    return None


# For each layout the other one, and the permutation to it.
_OTHER_LAYOUT = {CHANNELS_FIRST: (CHANNELS_LAST, to_last), CHANNELS_LAST: (CHANNELS_FIRST, to_first)}


def _set_layout(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    axes_of_space = len(next((params[name] for name in ("kernel", "size", "strides") if name in params), ()))
    other, to = _OTHER_LAYOUT[params["layout"]]
    return (
        ({**params, "layout": other}, order) if order == to(x.ndim) and x.ndim == axes_of_space + 2 else None
    )


_BY_ELEMENT = ("elementwise", "activations", "special")
# These operations work along an axis, although their sections are elementwise.
_BUT_FOR = {"glu", "softmax", "log_softmax", "view_as_complex", "view_as_real"}
ELEMENTWISE = [name for name, op in all_ops().items() if op.section in _BY_ELEMENT and name not in _BUT_FOR]
_REDUCTIONS = (
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "max",
    "min",
    "all",
    "any",
    "count_nonzero",
    "logsumexp",
    "nansum",
    "nanmean",
)
_ALONG = (
    "softmax", "log_softmax", "glu", "normalize", "batch_norm", "group_norm", "instance_norm", "flip", "roll",
    "split", "cumulative_sum", "cumulative_prod", "cummax", "cummin", "logcumsumexp",
)  # fmt: skip

ROWS: dict[str, AxisRule] = {
    **dict.fromkeys((*ELEMENTWISE, "where", "astype", "copy"), AxisRule(_keep, "broadcast")),
    **dict.fromkeys(_REDUCTIONS, AxisRule(_reduce)),
    **dict.fromkeys(("argmax", "argmin"), AxisRule(_reduce_to_index)),
    **dict.fromkeys(_ALONG, AxisRule(_along)),
    **dict.fromkeys(
        ("conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_avg_pool", "interpolate"),
        AxisRule(_set_layout),
    ),
    "concat": AxisRule(_along, "all"),
    "pad": AxisRule(_per_axis("padding")),
    "tile": AxisRule(_per_axis("repetitions")),
    "broadcast_to": AxisRule(_per_axis("shape")),
    "getitem": AxisRule(_index),
    "reshape": AxisRule(_reshape),
}
"""Rules by operation. Operations without a row keep their axes in the original order."""
