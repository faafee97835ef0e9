"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ir import Value
from ..table import TensorFlowBuilder, numbers, rows


def _fourier(kind: str, rank: int) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
        return getattr(b, f"{kind}n")(input, axes=tuple(range(input.ndim - rank, input.ndim)))

    row.__doc__ = f"``{kind}`` over the last axes."
    return row


def _real_fourier(kind: str, rank: int) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, fft_length: Any, **_: Any) -> Any:
        lengths = numbers(fft_length, "the length of a transform")
        axes = tuple(range(input.ndim - rank, input.ndim))
        kept = tuple(length // 2 + 1 if axis == axes[-1] and kind == "irfft" else length for axis, length in zip(axes, lengths))
        for axis, length in zip(axes, kept):
            input = _resized(b, input, axis, length)
        return getattr(b, f"{kind}n")(input, s=lengths if kind == "irfft" else None, axes=axes)

    row.__doc__ = f"``{kind}`` over the last axes, cut or padded with zeros to these lengths."
    return row


def _resized(b: TensorFlowBuilder, x: Value, axis: int, length: Any) -> Any:
    if length == x.shape[axis]:
        return x
    return b.pad(x, padding=tuple((0, length - x.shape[axis]) if i == axis else (0, 0) for i in range(x.ndim)))


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    for _kind in ("fft", "ifft"):
        rows.row(f"{_kind.upper()}{_suffix}")(_fourier(_kind, _rank))
    for _kind in ("rfft", "irfft"):
        rows.row(f"{_kind.upper()}{_suffix}", static=("fft_length",))(_real_fourier(_kind, _rank))
