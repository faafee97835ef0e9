"""Short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np


def centered_window(window: np.ndarray | None, n_fft: int) -> np.ndarray | float:
    """``window`` in the middle of ``n_fft`` zeros; 1 where there is none."""
    if window is None:
        return 1.0
    before = (n_fft - len(window)) // 2
    return np.pad(window, (before, n_fft - len(window) - before))


def stft(
    x: np.ndarray,
    window: np.ndarray | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> np.ndarray:
    """The Fourier transforms of the overlapping parts of ``x`` (last axis): frequencies x parts."""
    if center:
        mode: Any = {"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode)
        widths = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        x = np.pad(x, widths, mode=mode)
    starts = np.arange(0, x.shape[-1] - n_fft + 1, hop_length)
    parts = x[..., starts[:, None] + np.arange(n_fft)] * centered_window(window, n_fft)
    spectrum = (np.fft.rfft if onesided else np.fft.fft)(parts, norm="ortho" if normalized else "backward")
    return np.swapaxes(spectrum, -1, -2)


def istft(
    x: np.ndarray,
    window: np.ndarray | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    as_complex: bool = False,
) -> np.ndarray:
    """The signal that has these transforms: the parts are added and divided by the squares of the windows."""
    norm: Any = "ortho" if normalized else "backward"
    spectrum = np.swapaxes(x, -1, -2)
    parts = np.fft.ifft(spectrum, n_fft, norm=norm) if as_complex else np.fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    weights = np.broadcast_to(centered_window(window, n_fft), n_fft)
    size = hop_length * (x.shape[-1] - 1) + n_fft
    signal, envelope = np.zeros((*x.shape[:-2], size), parts.dtype), np.zeros(size, weights.dtype)
    for part in range(x.shape[-1]):
        place = slice(part * hop_length, part * hop_length + n_fft)
        signal[..., place] += (parts[..., part, :] * weights).astype(parts.dtype)
        envelope[place] += weights**2
    start = n_fft // 2 if center else 0
    end = size - start if length is None else start + length
    signal = (signal[..., start:end] / envelope[start:end]).astype(parts.dtype)
    return np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, max(end - size, 0))])
