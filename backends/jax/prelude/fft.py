"""Short-time Fourier transforms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def centered_window(window: jax.Array | None, n_fft: int) -> jax.Array:
    """``window`` in the middle of ``n_fft`` zeros; ones where there is none."""
    if window is None:
        return jnp.ones(n_fft)
    before = (n_fft - len(window)) // 2
    return jnp.pad(window, (before, n_fft - len(window) - before))


def stft(
    x: jax.Array,
    window: jax.Array | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> jax.Array:
    """The Fourier transforms of the overlapping parts of ``x`` (last axis): frequencies x parts."""
    if center:
        widths = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        x = jnp.pad(x, widths, mode={"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode))
    starts = np.arange(0, x.shape[-1] - n_fft + 1, hop_length)
    parts = x[..., starts[:, None] + np.arange(n_fft)]
    if window is not None:
        parts = parts * centered_window(window, n_fft)
    spectrum = (jnp.fft.rfft if onesided else jnp.fft.fft)(parts, norm="ortho" if normalized else "backward")
    return jnp.swapaxes(spectrum, -1, -2)


def istft(
    x: jax.Array,
    window: jax.Array | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    as_complex: bool = False,
) -> jax.Array:
    """The signal that has these transforms: the parts are added and divided by the squares of the windows."""
    norm = "ortho" if normalized else "backward"
    spectrum = jnp.swapaxes(x, -1, -2)
    parts = jnp.fft.ifft(spectrum, n_fft, norm=norm) if as_complex else jnp.fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    weights = centered_window(window, n_fft)
    places = hop_length * np.arange(x.shape[-1])[:, None] + np.arange(n_fft)
    size = int(places[-1, -1]) + 1
    signal = jnp.zeros((*x.shape[:-2], size), parts.dtype).at[..., places].add((parts * weights).astype(parts.dtype))
    envelope = jnp.zeros(size, weights.dtype).at[places].add(jnp.broadcast_to(weights**2, places.shape))
    start = n_fft // 2 if center else 0
    end = size - start if length is None else start + length
    signal = (signal[..., start:end] / envelope[start:end]).astype(parts.dtype)
    return jnp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, max(end - size, 0))])
