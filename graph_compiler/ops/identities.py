"""When an operation changes nothing, so that no node is needed: one row an operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from .dtypes import is_floating, is_integer


class Made(Protocol):
    """What an identity asks of the node that made an operand."""

    @property
    def op(self) -> str:
        """Its operation."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Its operands."""

    @property
    def params(self) -> dict[str, Any]:
        """Its parameters."""


def _is_written(made: Made | None, value: Any, key: Any) -> bool:
    """Whether the array that was ``made`` comes of the same write: ``y[key] += z`` is a write of its own, and
    assigned to ``y[key]``.
    """
    return made is not None and made.op == "setitem" and made.inputs[1] is value and made.params["key"] == key


def _is_neutral(number: float, *, of_floats: bool = True) -> Callable[[Any, Any], bool]:
    """Whether the second operand is this number, which leaves each element of the first to the bit, and its
    data type too.

    Complex numbers are left alone, for ``inf * (1 + 0j)`` has a part that is no number.
    """

    def holds(x: Any, y: Any) -> bool:
        if type(y) not in (int, float) or y != number or math.copysign(1, y) < 0 or not hasattr(x, "dtype"):
            return False
        return of_floats if is_floating(x.dtype) else type(y) is int and is_integer(x.dtype)

    return holds


# op -> whether it gives back its first input as it is. Inputs are values or numbers.
_IDENTITIES: dict[str, Callable[..., bool]] = {
    "astype": lambda x, dtype: x.dtype == dtype,
    "reshape": lambda x, shape: x.shape == shape,
    "permute_dims": lambda x, axes: axes == tuple(range(x.ndim)),
    "broadcast_to": lambda x, shape: x.shape == shape,
    "concat": lambda *arrays, axis: len(arrays) == 1,
    "getitem": lambda x, key: all(item == (None, None, 1) for item in key),
    "add": _is_neutral(0, of_floats=False),  # -0.0 + 0 is 0.0
    "subtract": _is_neutral(0),
    "multiply": _is_neutral(1),
    "divide": lambda x, y: is_floating(getattr(x, "dtype", "")) and _is_neutral(1)(x, y),
    "pow": _is_neutral(1),
    "flip": lambda x, axis: axis == (),
    "pad": lambda x, padding, **_: all(amount == 0 for pair in padding for amount in pair),
    "tile": lambda x, repetitions: len(repetitions) <= x.ndim and all(count == 1 for count in repetitions),
}


# op -> what makes the truth value that changes no other: masks are often put together from one that keeps all
_NEUTRAL_TRUTHS = {"logical_and": "ones", "bitwise_and": "ones", "logical_or": "zeros", "bitwise_or": "zeros"}


def identity_of(
    name: str, inputs: tuple[Any, ...], params: dict[str, Any], maker: Callable[[Any], Made | None]
) -> Any:
    """The input that the operation would give back unchanged (the first, or either of two truth values),
    otherwise None.

    ``maker`` tells which node made an input; None where it comes from outside or is no array.
    """
    if name in _NEUTRAL_TRUTHS:
        return _beside(_NEUTRAL_TRUTHS[name], maker, *inputs)
    if name == "setitem":
        return inputs[0] if _is_written(maker(inputs[0]), inputs[1], params["key"]) else None
    unchanged = _IDENTITIES.get(name)
    return inputs[0] if unchanged is not None and unchanged(*inputs, **params) else None


def _beside(op: str, maker: Callable[[Any], Made | None], x: Any, y: Any) -> Any:
    """The array of truth values that stands beside a single one made by ``op``, which any shape takes as it
    is.
    """
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
