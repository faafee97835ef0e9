"""Kernels that are layers of networks, written in elementary operations."""

from __future__ import annotations

from typing import Any

import numpy as np


def softmax(x: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def conv2d(images: Any, weights: Any) -> Any:
    size, out = weights.shape[0], weights.shape[3]
    height, width = images.shape[1] - size + 1, images.shape[2] - size + 1
    result = np.empty((images.shape[0], height, width, out), dtype=images.dtype)
    for i in range(height):
        for j in range(width):
            window = images[:, i : i + size, j : j + size, :, np.newaxis]
            result[:, i, j, :] = np.sum(window * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return result


def pooled(x: Any) -> Any:
    result = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            result[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return result


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return softmax(x @ w3 + b3)


def lenet(images: Any, conv1: Any, conv2: Any, w1: Any, w2: Any) -> Any:
    x = pooled(np.maximum(conv2d(images, conv1), 0))
    x = pooled(np.maximum(conv2d(x, conv2), 0))
    x = np.reshape(x, (x.shape[0], -1))
    return np.maximum(x @ w1, 0) @ w2


def batch_norm(x: Any) -> Any:
    return (x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(np.std(x, axis=0, keepdims=True) + 1e-5)


def residual_block(x: Any, conv1: Any, conv2: Any, conv3: Any) -> Any:
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, conv1.shape[3]), dtype=x.dtype)
    padded[:, 1:-1, 1:-1, :] = conv2d(x, conv1)
    y = np.maximum(batch_norm(padded), 0)
    y = np.maximum(batch_norm(conv2d(y, conv2)), 0)
    return np.maximum(batch_norm(conv2d(y, conv3)) + x, 0)
