"""Shape and dtype rules that many declarations share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, Size, apply, hint_of
from .registry import ArraySpec, Unknown, declare

Input = Any
"""An ArraySpec, or a number, which takes the dtype of the arrays that it is combined with."""


def broadcast_dims(left: Any, right: Any) -> Any:
    """Return the size that ``left`` and ``right`` broadcast to (array API "Broadcasting", step 3).

    Return ``Unknown`` if no expression gives it. Raise ``InvalidGraph`` if both are ints that do not
    match.
    """
    if left == right or (isinstance(right, int) and right == 1):
        return left
    if isinstance(left, int) and left == 1:
        return right
    if isinstance(left, int) and isinstance(right, int):
        raise InvalidGraph(f"sizes {left} and {right} cannot be broadcast against each other")
    # A known size other than 1 is the result: the other size equals it, or is 1.
    for dim in (left, right):
        if isinstance(dim, int):
            return dim
    # Either size may be 1 in another call, so the recorded size is only a hint.
    seen = _recorded_size(right) if _recorded_size(left) == 1 else _recorded_size(left)
    return Unknown(
        seen,
        _alternatives(left) + _alternatives(right)
        if seen > 1 and _recorded_size(left) == _recorded_size(right)
        else (),
    )


def _alternatives(dim: Any) -> tuple[Any, ...]:
    return dim.if_equal if isinstance(dim, Unknown) else (dim,)


def _recorded_size(dim: Any) -> int:
    return int(dim.hint if isinstance(dim, Unknown) else hint_of(dim))


def broadcast(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shape that all of ``shapes`` broadcast to.

    >>> broadcast((2, 1), (3,), ())
    (2, 3)
    """
    # Numbers and scalar arrays have the shape (), which does not change the result.
    shapes = tuple(filter(None, shapes))
    if len(shapes) == 1:
        return tuple(shapes[0])
    rank = max(map(len, shapes), default=0)
    result: tuple[Any, ...] = (1,) * rank
    for shape in shapes:
        padded = (1,) * (rank - len(shape)) + tuple(shape)
        result = tuple(broadcast_dims(a, b) for a, b in zip(result, padded))
    return result


def shape_of(operand: Input) -> tuple[Any, ...]:
    return operand.shape if isinstance(operand, ArraySpec) else ()


def dtype_of(*operands: Input) -> str:
    """Return the dtype that all arrays among ``operands`` share.

    Raise ``InvalidGraph`` if their dtypes differ, or if all operands are numbers.
    """
    found = {operand.dtype for operand in operands if isinstance(operand, ArraySpec)}
    if len(found) != 1:
        raise InvalidGraph(
            f"operands of one dtype are needed, got {sorted(found) or 'only numbers'}; "
            "lifting inserts astype where they differ"
        )
    return found.pop()


def elementwise(*operands: Input) -> ArraySpec:
    """Return the spec of an elementwise operation: the broadcast shape, and the dtype of the operands."""
    return ArraySpec(broadcast(*map(shape_of, operands)), dtype_of(*operands))


def predicate(*operands: Input) -> ArraySpec:
    """Return the spec of an elementwise predicate: the broadcast shape and bool.

    Raise ``InvalidGraph`` if the dtypes of the operands differ.
    """
    dtype_of(*operands)
    return ArraySpec(broadcast(*map(shape_of, operands)), "bool")


def normalise_axis(axis: int, rank: int) -> int:
    """Return ``axis`` counted from the front; raise ``InvalidGraph`` if it is out of range.

    >>> normalise_axis(-1, 3)
    2
    """
    # A scalar has axis 0, as in torch.
    if not -rank <= axis < max(rank, 1):
        raise InvalidGraph(f"axis {axis} is out of range for an array of {rank} axes")
    return axis % rank if rank else 0


def normalise_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return the axes in ``axis``, an int, a tuple or None for all, counted from the front.

    Raise ``InvalidGraph`` if one is out of range.
    """
    if axis is None:
        return tuple(range(rank))
    return tuple(normalise_axis(a, rank) for a in (axis if isinstance(axis, tuple) else (axis,)))


def reduced(
    x: ArraySpec, axis: int | tuple[int, ...] | None, keepdims: bool, dtype: str | None = None
) -> ArraySpec:
    gone = set(normalise_axes(axis, x.ndim))
    if keepdims:
        shape = tuple(1 if i in gone else dim for i, dim in enumerate(x.shape))
    else:
        shape = tuple(dim for i, dim in enumerate(x.shape) if i not in gone)
    return ArraySpec(shape, dtype or x.dtype)


def window_output(
    size: Dim, kernel: Dim, stride: Dim, padding: tuple[Any, Any], dilation: int, ceil_mode: bool = False
) -> Any:
    """Return how many windows of a convolution or pooling fit (torch.nn.MaxPool2d, "Shape").

    With ``ceil_mode`` a last window may extend beyond the end, if it starts inside the array or the
    padding before it.

    >>> window_output(7, 2, 2, (0, 0), 1), window_output(7, 2, 2, (0, 0), 1, ceil_mode=True)
    (3, 4)
    """
    reach = dilation * (kernel - 1)
    padded = size + padding[0]
    if ceil_mode:
        # The last window must start inside of the array or the padding before it, so at ``padded - 1`` at
        # most.
        return (padded - 1 + apply("min", 0, padding[1] + stride - 1 - reach)) // stride + 1
    covered = padded + padding[1] - reach - 1
    return covered + 1 if isinstance(stride, int) and stride == 1 else covered // stride + 1


def is_symbolic(*dims: Any) -> bool:
    """Return True if any of these sizes is known at run time only."""
    return any(isinstance(dim, Size) for dim in dims)


Rule = Callable[..., ArraySpec]


def declare_unary(section: str, rule: Callable[[Input], ArraySpec], meanings: Mapping[str, str]) -> None:
    """Declare an operation with one operand for each name in ``meanings``, whose value is its docstring."""
    for name, meaning in meanings.items():
        # Each operation needs a function of its own, because the docstring belongs to the function.
        def infer(x: Input, /) -> ArraySpec:
            return rule(x)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)


def declare_binary(
    section: str, rule: Callable[[Input, Input], ArraySpec], meanings: Mapping[str, str]
) -> None:
    """Declare an operation with two operands for each name in ``meanings``, whose value is its docstring."""
    for name, meaning in meanings.items():
        # Each operation needs a function of its own, because the docstring belongs to the function.
        def infer(x1: Input, x2: Input, /) -> ArraySpec:
            return rule(x1, x2)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)
