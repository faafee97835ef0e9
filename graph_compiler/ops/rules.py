"""Shape and dtype rules that many declarations share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, Size, apply, hint_of
from .layouts import CHANNELS_FIRST, CHANNELS_LAST, to_last
from .registry import ArraySpec, Unknown, all_ops, declare

Input = Any  # an ArraySpec, or a number that takes the dtype of the arrays beside it


def broadcast_dims(left: Any, right: Any) -> Any:
    """The dimension of two broadcast against each other (array API "Broadcasting", step 3)."""
    if left == right or (isinstance(right, int) and right == 1):
        return left
    if isinstance(left, int) and left == 1:
        return right
    if isinstance(left, int) and isinstance(right, int):
        raise InvalidGraph(f"sizes {left} and {right} cannot be broadcast against each other")
    for dim in (left, right):
        if isinstance(dim, int):
            return dim
    seen = _seen(right) if _seen(left) == 1 else _seen(left)
    return Unknown(seen, _sizes(left) + _sizes(right) if seen > 1 and _seen(left) == _seen(right) else ())


def _sizes(dim: Any) -> tuple[Any, ...]:
    return dim.if_equal if isinstance(dim, Unknown) else (dim,)


def _seen(dim: Any) -> int:
    return int(dim.hint if isinstance(dim, Unknown) else hint_of(dim))


def broadcast(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape that all of these broadcast to.

    >>> broadcast((2, 1), (3,), ())
    (2, 3)
    """
    shapes = tuple(filter(None, shapes))  # of numbers, and of arrays without axes, is nothing to be seen
    if len(shapes) == 1:
        return tuple(shapes[0])
    rank = max(map(len, shapes), default=0)
    result: tuple[Any, ...] = (1,) * rank
    for shape in shapes:
        padded = (1,) * (rank - len(shape)) + tuple(shape)
        result = tuple(broadcast_dims(a, b) for a, b in zip(result, padded))
    return result


def shape_of(operand: Input) -> tuple[Any, ...]:
    """The shape of an array, ``()`` of a number."""
    return operand.shape if isinstance(operand, ArraySpec) else ()


def dtype_of(*operands: Input) -> str:
    """The one dtype of all arrays among the operands; lifting makes them equal beforehand."""
    found = {operand.dtype for operand in operands if isinstance(operand, ArraySpec)}
    if len(found) != 1:
        raise InvalidGraph(
            f"operands of one dtype are needed, got {sorted(found) or 'only numbers'}; lifting inserts astype where they differ"
        )
    return found.pop()


def elementwise(*operands: Input) -> ArraySpec:
    """Broadcast shape, the operands' dtype."""
    return ArraySpec(broadcast(*map(shape_of, operands)), dtype_of(*operands))


def predicate(*operands: Input) -> ArraySpec:
    """Broadcast shape, bool."""
    dtype_of(*operands)
    return ArraySpec(broadcast(*map(shape_of, operands)), "bool")


def normalise_axis(axis: int, rank: int) -> int:
    """``axis`` counted from the front.

    >>> normalise_axis(-1, 3)
    2
    """
    if not -rank <= axis < max(rank, 1):
        raise InvalidGraph(f"axis {axis} is out of range for an array of {rank} axes")
    return axis % rank if rank else 0


def normalise_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """All axes counted from the front; ``None`` is all of them."""
    if axis is None:
        return tuple(range(rank))
    return tuple(normalise_axis(a, rank) for a in (axis if isinstance(axis, tuple) else (axis,)))


def reduced(
    x: ArraySpec, axis: int | tuple[int, ...] | None, keepdims: bool, dtype: str | None = None
) -> ArraySpec:
    """The spec after reducing over ``axis``."""
    gone = set(normalise_axes(axis, x.ndim))
    if keepdims:
        shape = tuple(1 if i in gone else dim for i, dim in enumerate(x.shape))
    else:
        shape = tuple(dim for i, dim in enumerate(x.shape) if i not in gone)
    return ArraySpec(shape, dtype or x.dtype)


def window_output(
    size: Dim, kernel: Dim, stride: Dim, padding: tuple[Any, Any], dilation: int, ceil_mode: bool = False
) -> Any:
    """How many windows of a convolution or pooling fit (torch.nn.MaxPool2d, "Shape").

    With ``ceil_mode`` a last window may reach beyond the end, if it starts inside of the array or of its
    padding before.

    >>> window_output(7, 2, 2, (0, 0), 1), window_output(7, 2, 2, (0, 0), 1, ceil_mode=True)
    (3, 4)
    """
    reach = dilation * (kernel - 1)
    padded = size + padding[0]
    if ceil_mode:
        return (padded - 1 + apply("min", 0, padding[1] + stride - 1 - reach)) // stride + 1
    covered = padded + padding[1] - reach - 1
    return covered + 1 if isinstance(stride, int) and stride == 1 else covered // stride + 1


def is_symbolic(*dims: Any) -> bool:
    """Whether any of these dimensions is known only at run time."""
    return any(isinstance(dim, Size) for dim in dims)


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
    "softmax", "log_softmax", "glu", "normalize", "batch_norm", "group_norm", "instance_norm", "flip", "roll", "split",
    "cumulative_sum", "cumulative_prod", "cummax", "cummin", "logcumsumexp",
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


Rule = Callable[..., ArraySpec]


def declare_unary(section: str, rule: Callable[[Input], ArraySpec], meanings: Mapping[str, str]) -> None:
    """Declares one operation of one array for each ``name: meaning``."""
    for name, meaning in meanings.items():

        def infer(x: Input, /) -> ArraySpec:
            return rule(x)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)


def declare_binary(
    section: str, rule: Callable[[Input, Input], ArraySpec], meanings: Mapping[str, str]
) -> None:
    """Declares one operation of two operands for each ``name: meaning``."""
    for name, meaning in meanings.items():

        def infer(x1: Input, x2: Input, /) -> ArraySpec:
            return rule(x1, x2)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)
