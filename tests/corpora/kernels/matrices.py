"""Kernels with products of matrices and vectors and statistics of columns, with explicit loops."""

from __future__ import annotations

from typing import Any

import numpy as np


def gemm(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    c[:] = alpha * a @ b + beta * c
    return c


def atax(a: Any, x: Any) -> Any:
    return (a @ x) @ a


def bicg(a: Any, p: Any, r: Any) -> Any:
    return r @ a, a @ p


def mvt(x1: Any, x2: Any, y1: Any, y2: Any, a: Any) -> Any:
    x1 += a @ y1
    x2 += y2 @ a
    return x1, x2


def gesummv(alpha: float, beta: float, a: Any, b: Any, x: Any) -> Any:
    return alpha * a @ x + beta * b @ x


def syrk(alpha: float, beta: float, c: Any, a: Any) -> Any:
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def trmm(alpha: float, a: Any, b: Any) -> Any:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    b *= alpha
    return b


def symm(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    part = np.empty((c.shape[1],), dtype=c.dtype)
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            part[j] = b[:i, j] @ a[i, :i]
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * part
    return c


def doitgen(a: Any, c4: Any) -> Any:
    r, q, p = a.shape
    a[:] = np.reshape(np.reshape(a, (r, q, 1, p)) @ c4, (r, q, p))
    return a


def covariance(data: Any) -> Any:
    data -= np.mean(data, axis=0)
    cov = np.zeros((data.shape[1], data.shape[1]), dtype=data.dtype)
    for i in range(data.shape[1]):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
    return cov


def correlation(data: Any) -> Any:
    spread = np.std(data, axis=0)
    spread[spread <= 0.1] = 1.0
    data -= np.mean(data, axis=0)
    data /= np.sqrt(data.shape[0]) * spread
    corr = np.eye(data.shape[1], dtype=data.dtype)
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def spmv(rows: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y, rows, values * x[columns])
    return y
