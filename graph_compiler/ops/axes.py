"""How the parameters of operations change when the axes of their arrays are permuted.

An *order* lists for each axis the axis of the operation's array: `(0, 2, 3, 1)` for images whose channels
were second and are last now. A row returns the parameters for arrays in that order and the order of the
result, or None if there are no such parameters. The table covers all operations, so it is made after they
are declared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .layouts import CHANNELS_FIRST, CHANNELS_LAST, to_last
from .registry import ArraySpec, all_ops
from .rules import normalise_axes, normalise_axis

Order = tuple[int, ...]
Params = dict[str, Any]
Moved = tuple[Params, Order]
WHOLE = (None, None, 1)


@dataclass(frozen=True)
class Row:
    """``moved(params, first array, order)``; ``carriers`` says which inputs have the axes: "broadcast", "all"
    or the "first".
    """

    moved: Callable[[Params, ArraySpec, Order], Moved | None]
    carriers: str = "first"


def _same(params: Params, x: ArraySpec, order: Order) -> Moved:
    return params, order


def _places(axis: Any, rank: int, order: Order) -> Any:
    """Where the axes stand in that order."""
    if isinstance(axis, tuple):
        return tuple(order.index(normalise_axis(one, rank)) for one in axis)
    return order.index(normalise_axis(axis, rank))


def _along(params: Params, x: ArraySpec, order: Order) -> Moved:
    return {**params, "axis": _places(params["axis"], x.ndim, order)}, order


def _kept(order: Order, gone: set[int]) -> Order:
    """The order of the axes that are left."""
    left = [axis for axis in order if axis not in gone]
    return tuple(sorted(left).index(axis) for axis in left)


def _reduced(params: Params, x: ArraySpec, order: Order) -> Moved:
    axis = params["axis"]
    moved = params if axis is None else {**params, "axis": _sorted(_places(axis, x.ndim, order))}
    return moved, order if params["keepdims"] else _kept(order, set(normalise_axes(axis, x.ndim)))


def _sorted(axis: Any) -> Any:
    return tuple(sorted(axis)) if isinstance(axis, tuple) else axis


def _found(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    """Positions in the flattened array depend on the order."""
    return None if params["axis"] is None else _reduced(params, x, order)


def _one_an_axis(name: str) -> Callable[[Params, ArraySpec, Order], Moved | None]:
    """A parameter with one item for each axis."""

    def moved(params: Params, x: ArraySpec, order: Order) -> Moved | None:
        items = params[name]
        return (
            ({**params, name: tuple(items[axis] for axis in order)}, order) if len(items) == x.ndim else None
        )

    return moved


def _indexed(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    if None in params["key"]:
        return None
    key = (*params["key"], *(WHOLE,) * (x.ndim - len(params["key"])))
    dropped = {axis for axis, item in enumerate(key) if not isinstance(item, tuple)}
    return {"key": tuple(key[axis] for axis in order)}, _kept(order, dropped)


def _reshaped(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    """Axes of space are joined or parted, or dropped where they are 1; batch and channels stay."""
    shape = params["shape"]
    if order != to_last(x.ndim) or len(shape) < 2 or tuple(shape[:2]) != tuple(x.shape[:2]):
        return None
    if len(shape) == 2:
        return (
            ({"shape": shape}, (0, 1))
            if all(isinstance(dim, int) and dim == 1 for dim in x.shape[2:])
            else None
        )
    return {"shape": (shape[0], *shape[2:], shape[1])}, to_last(len(shape))


def _laid_out(params: Params, x: ArraySpec, order: Order) -> Moved | None:
    """Operations that are told where the channels stand."""
    axes_of_space = len(next((params[name] for name in ("kernel", "size", "strides") if name in params), ()))
    if params["layout"] != CHANNELS_FIRST or order != to_last(x.ndim) or x.ndim != axes_of_space + 2:
        return None
    return {**params, "layout": CHANNELS_LAST}, order


_BY_ELEMENT = (
    "elementwise",
    "activations",
    "special",
)  # sections whose operations look at one element of each array at a time
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

ROWS: dict[str, Row] = {
    **dict.fromkeys((*ELEMENTWISE, "where", "astype", "copy"), Row(_same, "broadcast")),
    **dict.fromkeys(_REDUCTIONS, Row(_reduced)),
    **dict.fromkeys(("argmax", "argmin"), Row(_found)),
    **dict.fromkeys(_ALONG, Row(_along)),
    **dict.fromkeys(
        ("conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_avg_pool", "interpolate"), Row(_laid_out)
    ),
    "concat": Row(_along, "all"),
    "pad": Row(_one_an_axis("padding")),
    "tile": Row(_one_an_axis("repetitions")),
    "broadcast_to": Row(_one_an_axis("shape")),
    "getitem": Row(_indexed),
    "reshape": Row(_reshaped),
}
"""Operations that are not here have their arrays as they were written."""
