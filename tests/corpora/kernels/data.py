"""Kernels on signals, tables and prices."""

from __future__ import annotations

from typing import Any

import numpy as np


def azimuthal_integration(data: Any, radius: Any, bins: int) -> Any:
    counts = np.histogram(radius, bins)[0]
    sums = np.histogram(radius, bins, weights=data)[0]
    return sums / np.maximum(counts, 1)


def go_fast(a: Any) -> Any:
    """Add the sum of tanh of the diagonal to a matrix, an example of Numba's documentation."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def checksum(codes: Any, table: Any) -> Any:
    state = np.uint32(0xFFFFFFFF)
    for code in codes:
        state = table[(state ^ code) & np.uint32(255)] ^ (state >> np.uint32(8))
    return state ^ np.uint32(0xFFFFFFFF)


def compute(a: Any, b: Any, low: int, high: int, scale: int) -> Any:
    return np.clip(a, low, high) * scale + b * (scale + 2) - 5


def black_scholes(price: Any, strike: Any, years: Any, rate: float, volatility: float) -> Any:
    def normal(d: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
        series = k * (
            0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = 0.39894228 * np.exp(-0.5 * d * d) * series
        return np.where(d > 0, 1.0 - tail, tail)

    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call = price * normal(d1) - discounted * normal(d1 - spread)
    return call, call - price + discounted


def kmeans(points: Any, centres: Any, steps: int) -> Any:
    centres = centres.copy()
    nearest = np.zeros(points.shape[0], dtype=np.int64)
    for _ in range(steps):
        apart = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = np.argmin(apart, axis=1)
        for k in range(centres.shape[0]):
            mine = (nearest == k).astype(points.dtype)
            centres[k] = (mine[:, None] * points).sum(axis=0) / np.maximum(mine.sum(), 1)
    return centres, nearest


def fft_convolution(signal: Any, kernel: Any) -> Any:
    n = signal.shape[0] + kernel.shape[0] - 1
    return np.fft.irfft(np.fft.rfft(signal, n) * np.fft.rfft(kernel, n), n)


def moving_filter(signal: Any, rate: float) -> Any:
    kept = np.empty_like(signal)
    state = signal[0]
    for t in range(signal.shape[0]):
        state = rate * signal[t] + (1.0 - rate) * state
        kept[t] = state
    return kept
