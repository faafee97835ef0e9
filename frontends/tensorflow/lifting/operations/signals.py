"""Rows of Fourier transforms, spectrograms and isotonic regression."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....ir import Value
from ....common.indexing import holds
from ..table import TensorFlowBuilder, numbers, rows


def _fourier(kind: str, rank: int) -> Callable[..., Any]:
    return lambda b, input, **_: getattr(b, f"{kind}n")(
        input, axes=tuple(range(input.ndim - rank, input.ndim))
    )


def _real_fourier(kind: str, rank: int) -> Callable[..., Any]:
    """Return a row for a real transform over the last ``rank`` axes.

    The input is truncated or zero-padded to the lengths of the transform first.
    """

    def row(b: TensorFlowBuilder, input: Any, fft_length: Any, **_: Any) -> Any:
        lengths = numbers(fft_length, "the length of a transform")
        axes = tuple(range(input.ndim - rank, input.ndim))
        kept = tuple(
            length // 2 + 1 if axis == axes[-1] and kind == "irfft" else length
            for axis, length in zip(axes, lengths)
        )
        for axis, length in zip(axes, kept):
            input = _resize(b, input, axis, length)
        return getattr(b, f"{kind}n")(input, s=lengths if kind == "irfft" else None, axes=axes)

    return row


def _resize(b: TensorFlowBuilder, x: Value, axis: int, length: Any) -> Any:
    if length == x.shape[axis]:
        return x
    return b.pad(
        x, padding=tuple((0, length - x.shape[axis]) if i == axis else (0, 0) for i in range(x.ndim))
    )


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    for _kind in ("fft", "ifft"):
        rows.row(f"{_kind.upper()}{_suffix}")(_fourier(_kind, _rank))
    for _kind in ("rfft", "irfft"):
        rows.row(f"{_kind.upper()}{_suffix}", static=("fft_length",))(_real_fourier(_kind, _rank))


@rows.row("AudioSpectrogram")
def audio_spectrogram(
    b: TensorFlowBuilder,
    input: Any,
    *,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    **_: Any,
) -> Any:
    """Lift ``AudioSpectrogram``: magnitudes of windowed transforms, ``[channel, window, frequency]``.

    Windows are padded to a power of two. Raise ``NotImplementedError`` for fewer samples than a window
    has.
    """
    if not holds(b, window_size, input.shape[0]):
        raise NotImplementedError("a spectrogram of fewer samples than a window has")
    length, count = 1 << (window_size - 1).bit_length(), (input.shape[0] - window_size) // stride + 1
    starts = b.reshape(b.multiply(b.arange(stop=count, dtype="int32"), stride), shape=(count, 1))
    windows = b.take(
        b.permute_dims(input, axes=(1, 0)), b.add(starts, b.arange(stop=window_size, dtype="int32")), axis=1
    )
    # TensorFlow's kernel uses the periodic form of the Hann window.
    shape = tuple(0.5 - 0.5 * math.cos(2.0 * math.pi * place / window_size) for place in range(window_size))
    found = b.abs(b.rfft(b.multiply(windows, b.array(shape, "float32")), n=length, axis=2))
    return b.square(found) if magnitude_squared else found


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def _bands(bins: int, rate: float, low: float, high: float, channels: int) -> Any:
    """Return the weight of each spectrogram bin in each mel band, ``[bin, band]``."""
    width = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + low / width), int(high / width)
    centers = _mel(low) + (_mel(high) - _mel(low)) / (channels + 1) * np.arange(1, channels + 2)
    found = np.zeros((bins, channels))
    for place in range(max(first, 0), min(last + 1, bins)):
        at = _mel(place * width)
        band = int(np.searchsorted(centers[:channels], at, side="left")) - 1
        below, above = centers[band] if band >= 0 else _mel(low), centers[band + 1]
        share = (above - at) / (above - below)
        for number, weight in ((band, share), (band + 1, 1.0 - share)):
            if 0 <= number < channels:
                found[place, number] += weight
    return found


def _cosines(count: int, wanted: int) -> Any:
    places = np.outer(np.arange(count) + 0.5, np.arange(wanted)) * (math.pi / count)
    return math.sqrt(2.0 / count) * np.cos(places)


def _table(array: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in array.tolist())


@rows.row("Mfcc", static=("sample_rate",))
def mfcc(
    b: TensorFlowBuilder, spectrogram: Any, sample_rate: Any, *, upper_frequency_limit: float = 4000.0,
    lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13,
    **_: Any,
) -> Any:  # fmt: skip
    """Lift ``Mfcc``, the discrete cosine transform of the logarithms of mel bands."""
    (rate,), bins = numbers(sample_rate, "the rate"), b.fix(spectrogram.shape[-1])
    bands = _bands(
        bins,
        float(b.fix_number(rate)),
        lower_frequency_limit,
        upper_frequency_limit,
        filterbank_channel_count,
    )
    levels = b.matmul(b.sqrt(spectrogram), b.asarray(data=_table(bands), dtype="float32"))
    # This lower bound of a level is TensorFlow's own.
    logs = b.log(b.maximum(levels, 1e-12))
    return b.matmul(
        logs,
        b.asarray(data=_table(_cosines(filterbank_channel_count, dct_coefficient_count)), dtype="float32"),
    )


@rows.row("IsotonicRegression")
def isotonic_regression(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    """Lift ``IsotonicRegression``: the nearest nonincreasing rows, and the level number of each element.

    Element ``i`` is the minimum over all starts up to ``i`` of the largest mean of a slice from that start
    to an end at or after ``i``.
    """
    count, dtype = input.shape[-1], b.result.dtype
    x = b.astype(input, dtype=dtype)
    place = b.arange(start=0, stop=count, step=1, dtype="int32")
    total = b.cumulative_sum(x, axis=x.ndim - 1)
    before = b.reshape(b.subtract(total, x), shape=(*x.shape, 1))
    length = b.astype(b.add(b.subtract(place, b.reshape(place, shape=(count, 1))), 1), dtype=dtype)
    means = b.divide(
        b.subtract(b.reshape(total, shape=(*x.shape[:-1], 1, count)), before), b.maximum(length, 1.0)
    )
    means = b.where(b.greater(length, 0.0), means, b.array(-math.inf, dtype))
    largest = b.flip(b.cummax(b.flip(means, axis=(x.ndim,)), axis=x.ndim)[0], axis=(x.ndim,))
    least = b.min(b.where(b.greater(length, 0.0), largest, b.array(math.inf, dtype)), axis=x.ndim - 1)
    return least, _levels(b, least)


def _levels(b: TensorFlowBuilder, x: Value) -> Value:
    """Return how many times ``x`` falls up to each element along the last axis."""
    none = ((0, 0),) * (x.ndim - 1)
    shifted = b.pad(x, padding=(*none, (1, 0)), value=math.inf)
    falls = b.less(x, b.getitem(shifted, key=(*(slice(None),) * (x.ndim - 1), slice(0, x.shape[-1]))))
    found: Value = b.subtract(
        b.cumulative_sum(b.astype(falls, dtype="int32"), axis=x.ndim - 1, dtype="int32"), 1
    )
    return found
