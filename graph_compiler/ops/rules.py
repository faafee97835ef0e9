"""Shape and dtype rules that many declarations share, proofs about sizes, and identity operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from ..errors import InvalidGraph
from ..sizes import Apply, Dim, Size, Symbol, apply, hint_of, product
from .dtypes import is_floating, is_integer
from .registry import ArraySpec, Unknown, declare

# -------------------------------------------------------------------------------------------- proofs on sizes

# A function in an expression may have several bounds to try, so the search ends after this many replacements.
_ROUNDS = 4


def nonnegative(value: Any) -> bool:
    """Return True if ``value`` is provably at least 0 for all array sizes; False means "not proven".

    >>> from graph_compiler.sizes import Symbol
    >>> n = Size.of(Symbol("x", 0, hint=6))
    >>> nonnegative(n), nonnegative(n - 1), nonnegative(n - n // 2), nonnegative(n + 1 - n % 3)
    (True, False, True, True)
    """
    return _nonnegative(value, _ROUNDS)


def at_most(value: Any, bound: Any) -> bool:
    """Return True if ``value <= bound`` is provable for all array sizes; False means "not proven"."""
    return nonnegative(bound - value)


def _nonnegative(value: Any, rounds: int) -> bool:
    if not isinstance(value, Size):
        return bool(value >= 0)
    terms = list(value.terms())
    # The sign of a term is the sign of its coefficient only if all of its atoms are nonnegative.
    if not all(_atom_nonnegative(atom, rounds) for monomial, _ in terms for atom in monomial):
        return False
    if all(coefficient >= 0 for _, coefficient in terms):
        return True
    return rounds > 0 and any(_nonnegative(smaller, rounds - 1) for smaller in _smaller(value))


def _atom_nonnegative(atom: Any, rounds: int) -> bool:
    if isinstance(atom, Symbol):
        # A number that was read from an array may be negative.
        return atom.kind == "size"
    known = [_nonnegative(argument, rounds - 1) for argument in atom.arguments] if rounds > 0 else [False]
    if atom.function == "max":
        return any(known)
    return atom.function == "abs" or (atom.function in ("floordiv", "mod", "min") and all(known))


def _smaller(value: Size) -> Iterator[Any]:
    """Yield simpler expressions, such that ``value`` is nonnegative if one of them and its atoms are."""
    for monomial, coefficient in value.terms():
        for place, atom in enumerate(monomial):
            if isinstance(atom, Apply):
                rest = coefficient * product(_size(other) for i, other in enumerate(monomial) if i != place)
                yield from _relaxed(value, coefficient * product(map(_size, monomial)), rest, atom)


def _relaxed(value: Size, term: Any, rest: Any, atom: Apply) -> Iterator[Any]:
    subtracted = _leading(rest) < 0
    if (
        atom.function == "floordiv"
        and subtracted
        and isinstance(atom.arguments[1], int)
        and atom.arguments[1] > 0
    ):
        # `a // b <= a / b`, and multiplying by the positive `b` keeps the sign.
        yield (value - term) * atom.arguments[1] + rest * atom.arguments[0]
    elif atom.function == "mod" and subtracted:
        # `a % b <= a` for nonnegative `a`.
        yield value - term + rest * atom.arguments[0]
    elif (atom.function == "min" and subtracted) or (atom.function == "max" and not subtracted):
        # `min` is at most, and `max` at least, each of its arguments.
        yield from (value - term + rest * argument for argument in atom.arguments)


def _leading(rest: Any) -> int:
    return next(coefficient for _, coefficient in rest.terms()) if isinstance(rest, Size) else int(rest)


def _size(atom: Any) -> Size:
    return Size.of(atom)


def length(start: Any, stop: Any, step: Any, size: Any) -> Any:
    """Compute ``ceil((stop - start) / step)`` for a slice along an axis of ``size`` elements.

    None and negative ints are bounds as in Python. ``step`` is positive. Nothing is clamped: bounds may lie
    outside of the axis, and the result may be negative.

    >>> length(None, -1, 1, 6), length(1, None, 2, 6), length(-2, None, 1, 6)
    (5, 3, 2)
    """
    first, last = position(start, size, 0), position(stop, size, size)
    taken = last - first
    return taken if isinstance(step, int) and step == 1 else (taken + step - 1) // step


def position(bound: Any, size: Any, absent: Any) -> Any:
    """Return ``bound`` counted from the front of an axis of this ``size``, or ``absent`` if it is None.

    Only negative ints count from the end; a symbolic size is returned unchanged.
    """
    if bound is None:
        return absent
    return bound + size if isinstance(bound, int) and bound < 0 else bound


# ------------------------------------------------------------------------------------------------------ rules
Input = Any
"""An ArraySpec, or a number, which takes the dtype of the arrays that it is combined with."""


def broadcast_dims(left: Any, right: Any) -> Any:
    """Return the size that ``left`` and ``right`` broadcast to, or ``Unknown`` if it depends on the call.

    If one is symbolic and the other an int other than 1, return the int, which the symbolic size is assumed
    to fit. Raise ``InvalidGraph`` if both are ints that cannot be broadcast.
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
    either = _alternatives(left), _alternatives(right)
    is_one = all(either) and _recorded_size(left) == _recorded_size(right)
    return Unknown(seen, either[0] + either[1] if is_one else ())


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
    """Return the dtype that all arrays among ``operands`` share. Raise ``InvalidGraph`` if there is none."""
    found = {operand.dtype for operand in operands if isinstance(operand, ArraySpec)}
    if len(found) != 1:
        raise InvalidGraph(
            f"operands of one dtype are needed, got {sorted(found) or 'only numbers'}; "
            "lifting inserts astype where they differ"
        )
    return found.pop()


def elementwise(*operands: Input) -> ArraySpec:
    """Return the spec of an elementwise operation: the broadcast shape, and the dtype of the arrays."""
    return ArraySpec(broadcast(*map(shape_of, operands)), dtype_of(*operands))


def predicate(*operands: Input) -> ArraySpec:
    """Return the spec of an elementwise predicate: the broadcast shape and bool."""
    dtype_of(*operands)
    return ArraySpec(broadcast(*map(shape_of, operands)), "bool")


def normalise_axis(axis: int, rank: int) -> int:
    """Return ``axis`` counted from the front; raise ``InvalidGraph`` if it is out of range.

    For an array without axes, 0 is in range, as in torch.

    >>> normalise_axis(-1, 3)
    2
    """
    # A scalar has axis 0, as in torch.
    if not -rank <= axis < max(rank, 1):
        raise InvalidGraph(f"axis {axis} is out of range for an array of {rank} axes")
    return axis % rank if rank else 0


def normalise_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return ``axis`` (an int, a tuple, or None for all axes) as a tuple of axes counted from the front."""
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
    """Return the number of windows of a convolution or pooling along an axis (torch.nn.MaxPool2d, "Shape").

    The window must fit into the padded axis. ``padding`` holds the numbers of elements added before and after
    the axis. With ``ceil_mode`` the last window may extend beyond the padding.

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
    return any(isinstance(dim, Size) for dim in dims)


Rule = Callable[..., ArraySpec]


def declare_unary(section: str, rule: Callable[[Input], ArraySpec], meanings: Mapping[str, str]) -> None:
    """Declare an operation of one operand for each name in ``meanings``, which maps it to its docstring."""
    for name, meaning in meanings.items():
        # Each operation needs a function of its own, because the docstring belongs to the function.
        def infer(x: Input, /) -> ArraySpec:
            return rule(x)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)


def declare_binary(
    section: str, rule: Callable[[Input, Input], ArraySpec], meanings: Mapping[str, str]
) -> None:
    """Declare an operation of two operands for each name in ``meanings``, which maps it to its docstring."""
    for name, meaning in meanings.items():
        # Each operation needs a function of its own, because the docstring belongs to the function.
        def infer(x1: Input, x2: Input, /) -> ArraySpec:
            return rule(x1, x2)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)


# ---------------------------------------------------------------------------------------- identity operations


class MakerNode(Protocol):
    """Node that computed an operand, as :func:`identity_of` reads it."""

    @property
    def op(self) -> str: ...

    @property
    def inputs(self) -> tuple[Any, ...]: ...

    @property
    def params(self) -> dict[str, Any]: ...


def _repeats_write(made: MakerNode | None, value: Any, key: Any) -> bool:
    # ``y[key] += z`` writes to ``y[key]`` and then assigns the result to ``y[key]``, which repeats the write.
    return made is not None and made.op == "setitem" and made.inputs[1] is value and made.params["key"] == key


def _is_neutral(number: float, *, of_floats: bool = True) -> Callable[[Any, Any], bool]:
    # Complex arrays are never unchanged: ``inf * (1 + 0j)`` has a NaN part.
    def holds(x: Any, y: Any) -> bool:
        # -0.0 equals 0, but subtracting it turns -0.0 into 0.0.
        if type(y) not in (int, float) or y != number or math.copysign(1, y) < 0 or not hasattr(x, "dtype"):
            return False
        return of_floats if is_floating(x.dtype) else type(y) is int and is_integer(x.dtype)

    return holds


# For each operation, a predicate that is true only if it returns its first input unchanged.
_IDENTITIES: dict[str, Callable[..., bool]] = {
    "astype": lambda x, dtype: x.dtype == dtype,
    "reshape": lambda x, shape: x.shape == shape,
    "permute_dims": lambda x, axes: axes == tuple(range(x.ndim)),
    "broadcast_to": lambda x, shape: x.shape == shape,
    "concat": lambda *arrays, axis: len(arrays) == 1,
    "getitem": lambda x, key: all(item == (None, None, 1) for item in key),
    # For floats, adding 0 turns -0.0 into 0.0.
    "add": _is_neutral(0, of_floats=False),
    "subtract": _is_neutral(0),
    "multiply": _is_neutral(1),
    "divide": lambda x, y: is_floating(getattr(x, "dtype", "")) and _is_neutral(1)(x, y),
    "pow": _is_neutral(1),
    "flip": lambda x, axis: axis == (),
    "pad": lambda x, padding, **_: all(amount == 0 for pair in padding for amount in pair),
    "tile": lambda x, repetitions: len(repetitions) <= x.ndim and all(count == 1 for count in repetitions),
}


# For each operation, the one that makes its neutral element. Masks often start from such an array.
_NEUTRAL_TRUTHS = {"logical_and": "ones", "bitwise_and": "ones", "logical_or": "zeros", "bitwise_or": "zeros"}


def identity_of(
    name: str, inputs: tuple[Any, ...], params: dict[str, Any], maker: Callable[[Any], MakerNode | None]
) -> Any:
    """Return an array that equals the result of operation ``name``, or None if none is known.

    ``maker`` returns the node that computed an array, or None for an input.
    """
    if name in _NEUTRAL_TRUTHS:
        return _other_operand(_NEUTRAL_TRUTHS[name], maker, *inputs)
    if name == "setitem":
        return inputs[0] if _repeats_write(maker(inputs[0]), inputs[1], params["key"]) else None
    if name == "not_equal":
        return _truth_of(maker(inputs[0]), inputs[1])
    unchanged = _IDENTITIES.get(name)
    return inputs[0] if unchanged is not None and unchanged(*inputs, **params) else None


def _truth_of(made: MakerNode | None, number: Any) -> Any:
    is_zero = type(number) in (bool, int, float) and number == 0
    is_cast = is_zero and made is not None and made.op == "astype" and made.inputs[0].dtype == "bool"
    return made.inputs[0] if made is not None and is_cast else None


def _other_operand(op: str, maker: Callable[[Any], MakerNode | None], x: Any, y: Any) -> Any:
    for array, other in ((x, y), (y, x)):
        made = maker(other)
        if (
            made is not None
            and made.op == op
            and other.ndim == 0
            and other.dtype == "bool" == getattr(array, "dtype", None)
        ):
            return array
    return None
