"""JAX kernels with products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def gemm(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    return alpha * a @ b + beta * c


def atax(a: Any, x: Any) -> Any:
    return (a @ x) @ a


def bicg(a: Any, p: Any, r: Any) -> Any:
    return r @ a, a @ p


def mvt(x1: Any, x2: Any, y1: Any, y2: Any, a: Any) -> Any:
    return x1 + a @ y1, x2 + y2 @ a


def gesummv(alpha: float, beta: float, a: Any, b: Any, x: Any) -> Any:
    return alpha * a @ x + beta * b @ x


def syrk(alpha: float, beta: float, c: Any, a: Any) -> Any:
    places = jnp.arange(a.shape[0])

    def row(entering: Any) -> Any:
        i, c_row, a_row = entering
        new, _ = lax.scan(
            lambda new, pair: (new + alpha * pair[0] * pair[1], None), beta * c_row, (a_row, a.T)
        )
        return jnp.where(places <= i, new, c_row)

    return lax.map(row, (places, c, a))


def trmm(alpha: float, a: Any, b: Any) -> Any:
    places = jnp.arange(b.shape[0])

    def row(i: Any, b: Any) -> Any:
        below = jnp.where(places > i, a[:, i], 0)
        return b.at[i].add(lax.map(lambda column: below @ column, b.T))

    return lax.fori_loop(0, b.shape[0], row, b) * alpha


def symm(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    places = jnp.arange(c.shape[0])

    def row(i: Any, c: Any) -> Any:
        before = jnp.where(places < i, a[i], 0)

        def column(entering: Any) -> Any:
            c_column, b_column = entering
            return c_column + alpha * b_column[i] * before, b_column @ before

        columns, part = lax.map(column, (c.T, b.T))
        return columns.T.at[i].add(alpha * b[i] * a[i, i] + alpha * part)

    return lax.fori_loop(0, c.shape[0], row, c * beta)


def doitgen(a: Any, c4: Any) -> Any:
    return a @ c4


def covariance(data: Any) -> Any:
    data, places = data - jnp.mean(data, axis=0), jnp.arange(data.shape[1])

    def column(i: Any, cov: Any) -> Any:
        row = jnp.where(places >= i, data[:, i] @ data / (data.shape[0] - 1.0), cov[i])
        return cov.at[i].set(row).at[:, i].set(row)

    return lax.fori_loop(0, data.shape[1], column, jnp.zeros((data.shape[1], data.shape[1]), data.dtype))


def correlation(data: Any) -> Any:
    spread, places = jnp.std(data, axis=0), jnp.arange(data.shape[1])
    data = (data - jnp.mean(data, axis=0)) / (data.shape[0] ** 0.5 * jnp.where(spread <= 0.1, 1.0, spread))

    def column(i: Any, corr: Any) -> Any:
        row = jnp.where(places > i, data[:, i] @ data, corr[i])
        return corr.at[i].set(row).at[:, i].set(row)

    return lax.fori_loop(0, data.shape[1] - 1, column, jnp.eye(data.shape[1], dtype=data.dtype))


def spmv(rows: Any, columns: Any, values: Any, x: Any) -> Any:
    return jnp.zeros_like(x).at[rows].add(values * x[columns])
