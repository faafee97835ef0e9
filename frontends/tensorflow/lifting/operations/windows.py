"""Layouts and paddings of window operations, in TensorFlow's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .....ir import Value
from .....ops.layouts import CHANNELS_FIRST, CHANNELS_LAST, to_first, to_last
from .....sizes import apply
from ..table import TensorFlowBuilder


def is_first(data_format: str) -> bool:
    return data_format.startswith("NC") or data_format == "CHANNELS_FIRST"


def layout_of(data_format: str) -> str:
    return CHANNELS_FIRST if is_first(data_format) else CHANNELS_LAST


def of_space(data_format: str, given: Any, rank: int) -> tuple[int, ...]:
    numbers = tuple(int(item) for item in given) or (1,) * rank
    return numbers[2:] if is_first(data_format) else numbers[1:-1]


def beside_space(data_format: str, given: Any) -> tuple[int, int]:
    numbers = tuple(int(item) for item in given)
    return (numbers[0], numbers[1] if is_first(data_format) else numbers[-1])


def first(b: TensorFlowBuilder, x: Value, data_format: str) -> Value:
    return x if is_first(data_format) else b.permute_dims(x, axes=to_first(x.ndim))


def back(b: TensorFlowBuilder, x: Value, data_format: str) -> Value:
    return x if is_first(data_format) else b.permute_dims(x, axes=to_last(x.ndim))


def space_of(x: Value, data_format: str) -> tuple[Any, ...]:
    return tuple(x.shape[2:] if is_first(data_format) else x.shape[1:-1])


@dataclass(frozen=True)
class Padding:
    """Padding of windows.

    kind: SAME, VALID or EXPLICIT.
    explicit: for EXPLICIT, the padding before and after each axis of the array, as a flat tuple.
    data_format: the layout of the array.
    """

    kind: str
    explicit: tuple[int, ...]
    data_format: str

    def pairs(self, space: Any, kernel: Any, strides: Any, dilation: Any) -> tuple[tuple[Any, Any], ...]:
        """Return the padding before and after each spatial axis."""
        if self.kind == "SAME":
            return tuple(map(same, space, kernel, strides, dilation))
        if self.kind == "EXPLICIT":
            pairs = tuple(zip(self.explicit[::2], self.explicit[1::2]))
            return pairs[2:] if is_first(self.data_format) else pairs[1:-1]
        return tuple((0, 0) for _ in space)


def same(size: Any, kernel: Any, stride: int, dilation: int) -> tuple[Any, Any]:
    """Return the padding before and after an axis for which there are ``size / stride`` windows, rounded up.

    If the total is odd, one element more is added after than before.

    >>> same(7, 3, 2, 1), same(8, 3, 2, 1)
    ((1, 1), (0, 1))
    """
    reach = (kernel - 1) * dilation
    # With this stride the padding does not depend on the size, which may be symbolic.
    if stride == 1:
        return (reach // 2, reach - reach // 2)
    rest = size % stride
    if isinstance(rest, int):
        whole = apply("max", reach + 1 - (rest or stride), 0)
    else:
        # In this form the number of windows simplifies to the rounded-up quotient.
        whole = (size + stride - 1) // stride * stride - stride + reach + 1 - size
        whole = whole if isinstance(reach, int) and reach + 1 >= stride else apply("max", whole, 0)
    return (whole // 2, whole - whole // 2)
