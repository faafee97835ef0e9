"""Fourier transforms over any axis, with any scale, and short-time transforms of signals."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .creation import size
from .indexing import moved_axis
from .manipulation import pad_with_elements


def fitted(x: tf.Tensor, n: Any) -> tf.Tensor:
    """``x`` cut or padded with zeros to ``n`` elements along its last axis."""
    if n is None:
        return x
    x = x[..., :n]
    return tf.pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, n - size(x, -1)]])


def as_complex(x: tf.Tensor) -> tf.Tensor:
    """``x`` as complex numbers of as many digits."""
    return x if x.dtype.is_complex else tf.cast(x, tf.complex128 if x.dtype == tf.float64 else tf.complex64)


def scaled(x: tf.Tensor, n: Any, norm: str, undivided: str) -> tf.Tensor:
    """``x`` divided as ``norm`` says; ``undivided`` is the name for no division."""
    if norm == undivided:
        return x
    count = tf.cast(n, x.dtype)
    return x / (tf.sqrt(count) if norm == "ortho" else count)


def fft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """The discrete Fourier transform along ``axis``."""
    x = fitted(moved_axis(as_complex(x), axis, -1), n)
    return moved_axis(scaled(tf.signal.fft(x), size(x, -1), norm, "backward"), -1, axis)


def ifft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """The inverse of ``fft``."""
    x = fitted(moved_axis(as_complex(x), axis, -1), n)
    count = tf.cast(size(x, -1), x.dtype)
    return moved_axis(scaled(tf.signal.ifft(x) * count, size(x, -1), norm, "forward"), -1, axis)


def rfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """The first half of the Fourier transform of real ``x``."""
    x = x if x.dtype in (tf.float32, tf.float64) else tf.cast(x, tf.float32)
    x = fitted(moved_axis(x, axis, -1), n)
    return moved_axis(scaled(tf.signal.rfft(x), size(x, -1), norm, "backward"), -1, axis)


def irfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """The inverse of ``rfft``."""
    x = moved_axis(as_complex(x), axis, -1)
    n = 2 * (size(x, -1) - 1) if n is None else n
    x = fitted(x, n // 2 + 1)
    result = tf.signal.irfft(x, [n])
    return moved_axis(scaled(result * tf.cast(n, result.dtype), n, norm, "forward"), -1, axis)


def hfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """The real Fourier transform of a signal of which ``x`` is the first half."""
    return irfft(tf.math.conj(x), n, axis, {"backward": "forward", "forward": "backward"}.get(norm, norm))


def ihfft(x: tf.Tensor, n: Any = None, axis: int = -1, norm: str = "backward") -> tf.Tensor:
    """The inverse of ``hfft``."""
    return tf.math.conj(rfft(x, n, axis, {"backward": "forward", "forward": "backward"}.get(norm, norm)))


def fftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """The discrete Fourier transform over ``axes``."""
    for place, axis in enumerate(axes):
        x = fft(x, None if s is None else s[place], axis, norm)
    return x


def ifftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """The inverse of ``fftn``."""
    for place, axis in enumerate(axes):
        x = ifft(x, None if s is None else s[place], axis, norm)
    return x


def rfftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """``rfft`` along the last of ``axes``, ``fft`` along the others."""
    x = rfft(x, None if s is None else s[-1], axes[-1], norm)
    return fftn(x, None if s is None else s[:-1], axes[:-1], norm)


def irfftn(x: tf.Tensor, s: Any = None, axes: tuple[int, ...] = (), norm: str = "backward") -> tf.Tensor:
    """The inverse of ``rfftn``."""
    x = ifftn(x, None if s is None else s[:-1], axes[:-1], norm)
    return irfft(x, None if s is None else s[-1], axes[-1], norm)


def fftfreq(n: Any, d: float, dtype: tf.DType) -> tf.Tensor:
    """The frequencies of the elements that ``fft`` gives."""
    counted = tf.range(n)
    counted = tf.where(counted < (n + 1) // 2, counted, counted - n)
    return tf.cast(tf.cast(counted, tf.float64) / (tf.cast(n, tf.float64) * d), dtype)


def rfftfreq(n: Any, d: float, dtype: tf.DType) -> tf.Tensor:
    """The frequencies of the elements that ``rfft`` gives."""
    return tf.cast(tf.cast(tf.range(n // 2 + 1), tf.float64) / (tf.cast(n, tf.float64) * d), dtype)


def centered_window(window: tf.Tensor | None, n_fft: int, dtype: tf.DType) -> tf.Tensor:
    """``window`` in the middle of ``n_fft`` zeros; ones where there is none."""
    if window is None:
        return tf.ones([n_fft], dtype)
    missing = n_fft - size(window, 0)
    return tf.pad(tf.cast(window, dtype), [[missing // 2, missing - missing // 2]])


def stft(
    x: tf.Tensor,
    window: tf.Tensor | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> tf.Tensor:
    """The Fourier transforms of the overlapping parts of ``x`` (last axis): frequencies x parts."""
    if center:
        widths = [(0, 0)] * (len(x.shape) - 1) + [(n_fft // 2, n_fft // 2)]
        if pad_mode == "constant":
            x = tf.pad(x, widths)
        else:
            x = pad_with_elements(x, widths, mode={"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode))
    starts = tf.range(0, size(x, -1) - n_fft + 1, hop_length)
    parts = tf.gather(x, starts[:, None] + tf.range(n_fft), axis=-1)
    if window is not None:
        wide = window.dtype if window.dtype.size > parts.dtype.size else parts.dtype  # half precision meets a window in single
        parts = tf.cast(parts, wide) * centered_window(window, n_fft, wide)
    return tf.linalg.matrix_transpose((rfft if onesided else fft)(parts, norm="ortho" if normalized else "backward"))


def istft(
    x: tf.Tensor,
    window: tf.Tensor | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: Any = None,
    as_complex: bool = False,
) -> tf.Tensor:
    """The signal that has these transforms: the parts are added and divided by the squares of the windows."""
    norm = "ortho" if normalized else "backward"
    spectrum = tf.linalg.matrix_transpose(x)
    parts = ifft(spectrum, n_fft, norm=norm) if as_complex else irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    weights = centered_window(window, n_fft, parts.dtype if window is None else window.dtype)
    signal = tf.signal.overlap_and_add(parts * tf.cast(weights, parts.dtype), hop_length)
    envelope = tf.signal.overlap_and_add(tf.broadcast_to(weights * weights, tf.shape(parts)[-2:]), hop_length)
    envelope = tf.cast(envelope, parts.dtype)
    start = n_fft // 2 if center else 0
    end = size(signal, -1) - start if length is None else start + length
    signal = signal[..., start:end] / envelope[start:end]
    return signal if length is None else fitted(signal, length)
