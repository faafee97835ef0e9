"""JAX kernels on signals, tables and prices."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def azimuthal_integration(data: Any, radius: Any, bins: int) -> Any:
    counts = jnp.histogram(radius, bins)[0]
    sums = jnp.histogram(radius, bins, weights=data)[0]
    return sums / jnp.maximum(counts, 1)


def go_fast(a: Any) -> Any:
    return a + jnp.sum(jnp.tanh(jnp.diag(a)))


def checksum(codes: Any, table: Any) -> Any:
    def step(state: Any, code: Any) -> Any:
        return table[(state ^ code) & 255] ^ (state >> 8), None

    return lax.scan(step, jnp.uint32(0xFFFFFFFF), codes)[0] ^ jnp.uint32(0xFFFFFFFF)


def compute(a: Any, b: Any, low: int, high: int, scale: int) -> Any:
    return jnp.clip(a, low, high) * scale + b * (scale + 2) - 5


def black_scholes(price: Any, strike: Any, years: Any, rate: float, volatility: float) -> Any:
    def normal(d: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * jnp.abs(d))
        series = k * (
            0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = 0.39894228 * jnp.exp(-0.5 * d * d) * series
        return jnp.where(d > 0, 1.0 - tail, tail)

    spread = volatility * jnp.sqrt(years)
    d1 = (jnp.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * jnp.exp(-rate * years)
    call = price * normal(d1) - discounted * normal(d1 - spread)
    return call, call - price + discounted


def kmeans(points: Any, centres: Any, steps: int) -> Any:
    places = jnp.arange(centres.shape[0])

    def step(_: Any, carried: Any) -> Any:
        centres, _ = carried
        nearest = jnp.argmin(((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2), axis=1)

        def centre(k: Any) -> Any:
            mine = (nearest == k).astype(points.dtype)
            return (mine[:, None] * points).sum(axis=0) / jnp.maximum(mine.sum(), 1)

        return lax.map(centre, places), nearest

    return lax.fori_loop(0, steps, step, (centres, jnp.zeros(points.shape[0], places.dtype)))


def fft_convolution(signal: Any, kernel: Any) -> Any:
    n = signal.shape[0] + kernel.shape[0] - 1
    return jnp.fft.irfft(jnp.fft.rfft(signal, n) * jnp.fft.rfft(kernel, n), n)


def moving_filter(signal: Any, rate: float) -> Any:
    def step(state: Any, sample: Any) -> Any:
        state = rate * sample + (1.0 - rate) * state
        return state, state

    return lax.scan(step, signal[0], signal)[1]
