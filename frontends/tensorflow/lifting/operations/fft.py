"""Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from ....slicing import holds
from ..table import TensorFlowBuilder, numbers, rows


def _fourier(kind: str, rank: int) -> Callable[..., Any]:
    """Over the last axes."""
    return lambda b, input, **_: getattr(b, f"{kind}n")(input, axes=tuple(range(input.ndim - rank, input.ndim)))


def _real_fourier(kind: str, rank: int) -> Callable[..., Any]:
    """Over the last axes, cut or padded with zeros to these lengths."""

    def row(b: TensorFlowBuilder, input: Any, fft_length: Any, **_: Any) -> Any:
        lengths = numbers(fft_length, "the length of a transform")
        axes = tuple(range(input.ndim - rank, input.ndim))
        kept = tuple(length // 2 + 1 if axis == axes[-1] and kind == "irfft" else length for axis, length in zip(axes, lengths))
        for axis, length in zip(axes, kept):
            input = _resized(b, input, axis, length)
        return getattr(b, f"{kind}n")(input, s=lengths if kind == "irfft" else None, axes=axes)

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


@rows.row("AudioSpectrogram")
def audio_spectrogram(b: TensorFlowBuilder, input: Any, *, window_size: int, stride: int, magnitude_squared: bool = False, **_: Any) -> Any:
    """The magnitudes of the Fourier transforms of windows, padded to a power of two: ``[channel, window, frequency]``."""
    if not holds(b, window_size, input.shape[0]):
        raise NotImplementedError("a spectrogram of fewer samples than a window has")
    length, count = 1 << (window_size - 1).bit_length(), (input.shape[0] - window_size) // stride + 1
    starts = b.reshape(b.multiply(b.arange(stop=count, dtype="int32"), stride), shape=(count, 1))
    windows = b.take(b.permute_dims(input, axes=(1, 0)), b.add(starts, b.arange(stop=window_size, dtype="int32")), axis=1)
    shape = tuple(0.5 - 0.5 * math.cos(2.0 * math.pi * place / window_size) for place in range(window_size))
    found = b.abs(b.rfft(b.multiply(windows, b.array(shape, "float32")), n=length, axis=2))
    return b.square(found) if magnitude_squared else found
