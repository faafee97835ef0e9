"""Normalisation layers."""

from __future__ import annotations

import numpy as np

from .statistical import vector_norm


def over_channels(vector: np.ndarray, ndim: int, axis: int = 1) -> np.ndarray:
    """A vector shaped to be broadcast over ``axis`` of ``ndim``."""
    return vector.reshape([-1 if i == axis else 1 for i in range(ndim)])


def standardised(x: np.ndarray, axis: int | tuple[int, ...], epsilon: float) -> np.ndarray:
    """``(x - mean) / sqrt(variance + epsilon)`` over ``axis``."""
    count = x.size // max(np.sum(x, axis).size, 1)
    centred = x - np.sum(x, axis, keepdims=True) / count
    return centred / np.sqrt(np.sum(centred * centred, axis, keepdims=True) / count + epsilon)


def batch_norm(
    x: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> np.ndarray:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with vectors over ``axis``."""
    scale = 1 / np.sqrt(variance + epsilon)
    if weight is not None:
        scale = scale * weight
    result = (x - over_channels(mean, x.ndim, axis)) * over_channels(scale, x.ndim, axis)
    if bias is not None:
        result = result + over_channels(bias, x.ndim, axis)
    return result.astype(x.dtype, copy=False)


def layer_norm(
    x: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    axis: int | tuple[int, ...] = -1,
    epsilon: float,
) -> np.ndarray:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with mean and variance over ``axis``."""
    result = standardised(x, axis, epsilon)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.astype(x.dtype, copy=False)


def rms_norm(x: np.ndarray, weight: np.ndarray | None = None, *, axis: int | tuple[int, ...] = -1, epsilon: float) -> np.ndarray:
    """``x / sqrt(mean(x ** 2) + epsilon) * weight`` with the mean over ``axis``."""
    squares = np.sum(x * x, axis, keepdims=True)
    result = x / np.sqrt(squares * (squares.size / max(x.size, 1)) + epsilon)
    if weight is not None:
        result = result * weight
    return result.astype(x.dtype, copy=False)


def group_norm(
    x: np.ndarray, weight: np.ndarray | None = None, bias: np.ndarray | None = None, *, axis: int = 1, groups: int, epsilon: float
) -> np.ndarray:
    """Normalises each of ``groups`` groups of channels, which stand in ``axis``, with all axes but the first."""
    grouped = x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    result = standardised(grouped, tuple(place for place in range(1, grouped.ndim) if place != axis), epsilon).reshape(x.shape)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype, copy=False)


def instance_norm(
    x: np.ndarray, weight: np.ndarray | None = None, bias: np.ndarray | None = None, *, axis: int = 1, epsilon: float
) -> np.ndarray:
    """Normalises each channel of each sample over the axes of space."""
    result = standardised(x, tuple(place for place in range(1, x.ndim) if place != axis), epsilon)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype, copy=False)


def scaled_channels(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, axis: int) -> np.ndarray:
    """``x * weight + bias`` with vectors over ``axis``, each as far as there is one."""
    if weight is not None:
        x = x * over_channels(weight, x.ndim, axis)
    return x if bias is None else x + over_channels(bias, x.ndim, axis)


def local_response_norm(x: np.ndarray, *, size: int, alpha: float, beta: float, k: float) -> np.ndarray:
    """``x / (k + alpha * mean of x ** 2 over size neighbouring channels) ** beta``."""
    around = [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2)
    squares = np.pad(x * x, around)
    total = sum(squares[:, start : start + x.shape[1]] for start in range(size))
    return x / (k + total * (alpha / size)) ** beta


def normalize(x: np.ndarray, *, ord: float = 2, axis: int | tuple[int, ...], epsilon: float) -> np.ndarray:
    """``x / max(norm, epsilon)`` with the ``ord``-norm over ``axis``."""
    return x / np.maximum(vector_norm(x, ord=ord, axis=axis, keepdims=True), epsilon)
