"""Conditions under which an operation returns its input unchanged, so that no node is needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from .dtypes import is_floating, is_integer


class MakerNode(Protocol):
    """Protocol of the node that computed an operand."""

    @property
    def op(self) -> str: ...

    @property
    def inputs(self) -> tuple[Any, ...]: ...

    @property
    def params(self) -> dict[str, Any]: ...


def _repeats_write(made: MakerNode | None, value: Any, key: Any) -> bool:
    """Return True if ``made``, the node of the array, has written the same ``value`` to the same ``key``.

    ``y[key] += z`` writes to ``y[key]`` and then assigns the result to ``y[key]``, which repeats the
    write.
    """
    return made is not None and made.op == "setitem" and made.inputs[1] is value and made.params["key"] == key


def _is_neutral(number: float, *, of_floats: bool = True) -> Callable[[Any, Any], bool]:
    """Return a predicate for a second operand that leaves the first unchanged, to the bit and in dtype.

    Complex numbers are excluded, because ``inf * (1 + 0j)`` has a NaN part.
    """

    def holds(x: Any, y: Any) -> bool:
        # -0.0 equals 0, but subtracting it turns -0.0 into 0.0.
        if type(y) not in (int, float) or y != number or math.copysign(1, y) < 0 or not hasattr(x, "dtype"):
            return False
        return of_floats if is_floating(x.dtype) else type(y) is int and is_integer(x.dtype)

    return holds


# For each operation, a predicate that is true if it returns its first input unchanged.
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
    """Return the input that the operation would return unchanged, or None.

    ``maker`` returns the node that computed an input, or None if it comes from outside or is no array.
    """
    if name in _NEUTRAL_TRUTHS:
        return _other_operand(_NEUTRAL_TRUTHS[name], maker, *inputs)
    if name == "setitem":
        return inputs[0] if _repeats_write(maker(inputs[0]), inputs[1], params["key"]) else None
    unchanged = _IDENTITIES.get(name)
    return inputs[0] if unchanged is not None and unchanged(*inputs, **params) else None


def _other_operand(op: str, maker: Callable[[Any], MakerNode | None], x: Any, y: Any) -> Any:
    """Return the operand that is a bool array if the other one is a scalar made by ``op``, or None."""
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
