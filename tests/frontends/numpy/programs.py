"""Whole programs written in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .arrays import Array, d, f, i


@dataclass(frozen=True)
class Program:
    """A function, its arrays, and arrays of other sizes that the same graph must serve."""

    function: Callable[..., Any]
    arrays: tuple[Array, ...]
    others: tuple[Array, ...]


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attention(x: Any, wq: Any, wk: Any, wv: Any, heads: int = 2) -> Any:
    tokens, width = x.shape

    def split(y: Any) -> Any:
        return y.reshape(tokens, heads, width // heads).transpose(1, 0, 2)

    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width // heads)
    scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(tokens, width)


def mlp_loss(x: Any, labels: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    n = len(labels) if isinstance(labels, list) else labels.shape[0]
    hidden = np.maximum(x @ w1 + b1, 0)
    p = softmax(hidden @ w2 + b2)
    loss = -np.log(p[np.arange(n), labels]).mean()
    delta = p.copy()
    delta[np.arange(n), labels] -= 1
    delta /= n
    back = delta @ w2.T
    back[hidden <= 0] = 0
    return loss, {"w1": x.T @ back, "b1": back.sum(0), "w2": hidden.T @ delta, "b2": delta.sum(axis=0)}


def conv_by_windows(images: Any, kernels: Any, bias: Any) -> Any:
    """Compute a convolution, ReLU and max-pooling with ``sliding_window_view``."""
    windows = sliding_window_view(images, kernels.shape[2:], axis=(2, 3))
    out = np.einsum("nchwij,ocij->nohw", windows, kernels) + bias[:, None, None]
    out = np.maximum(out, 0)
    n, c, h, w = out.shape
    return out[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def conv_by_offsets(images: Any, kernels: Any) -> Any:
    n, _, h, w = images.shape
    o, _, kh, kw = kernels.shape
    padded = np.pad(images, ((0, 0), (0, 0), (kh // 2, kh // 2), (kw // 2, kw // 2)))
    out = np.zeros((n, o, h, w), dtype=images.dtype)
    for a in range(kh):
        for b in range(kw):
            out += np.einsum("nchw,oc->nohw", padded[:, :, a : a + h, b : b + w], kernels[:, :, a, b])
    return out


def fft_filter(signal: Any, cutoff: float = 0.2) -> Any:
    spectrum = np.fft.rfft(signal)
    spectrum[..., np.fft.rfftfreq(signal.shape[-1]) > cutoff] = 0
    return np.fft.irfft(spectrum, n=signal.shape[-1])


def least_squares(x: Any, y: Any) -> Any:
    a = np.column_stack([np.ones_like(x), x, x**2])
    by_lstsq = np.linalg.lstsq(a, y, rcond=None)[0]
    by_normal = np.linalg.solve(a.T @ a, a.T @ y)
    q, r = np.linalg.qr(a)
    rest = y - a @ by_lstsq
    return by_lstsq, by_normal, np.linalg.solve(r, q.T @ y), 1 - rest @ rest / ((y - y.mean()) ** 2).sum()


def k_means(points: Any, centres: Any, rounds: int = 3) -> Any:
    for _ in range(rounds):
        nearest = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(axis=1)
        members = nearest[:, None] == np.arange(centres.shape[0])
        counts = np.maximum(members.sum(axis=0), 1)
        centres = members.T.astype(points.dtype) @ points / counts[:, None]
    return centres, nearest


def n_body(positions: Any, velocities: Any, masses: Any, steps: int = 2, dt: float = 0.01) -> Any:
    """Return positions, velocities and the total energy after leapfrog steps, computed in place on copies."""
    positions, velocities = positions.copy(), velocities.copy()
    for _ in range(steps):
        apart = positions[None] - positions[:, None]
        distance = np.sqrt((apart**2).sum(-1) + 0.01)
        np.fill_diagonal(distance, 1.0)
        velocities += dt * (apart * (masses / distance**3)[..., None]).sum(axis=1)
        positions += dt * velocities
    kinetic = 0.5 * (masses * (velocities**2).sum(-1)).sum()
    i, j = np.triu_indices(masses.shape[0], 1)
    return (
        positions,
        velocities,
        kinetic - (masses[i] * masses[j] / np.linalg.norm(positions[i] - positions[j], axis=1)).sum(),
    )


def game_of_life(board: Any) -> Any:
    shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    around = sum(np.roll(board, shift, axis=(0, 1)) for shift in shifts)
    return ((around == 3) | (board.astype(bool) & (around == 2))).astype(board.dtype)


def standardise(table: Any) -> Any:
    z = (table - table.mean(axis=0)) / (table.std(axis=0) + 1e-8)
    z = np.clip(z, -2, 2)
    z[np.isnan(z)] = 0
    return z[np.argsort(z[:, 0], kind="stable")], np.percentile(z, [25, 50, 75], axis=0)


def layer_norm_gelu(x: Any, gain: Any, bias: Any) -> Any:
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias
    return 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))


def power_iteration(matrix: Any, steps: int = 20) -> Any:
    v = np.ones(matrix.shape[0])
    for _ in range(steps):
        v = matrix @ v
        v /= np.linalg.norm(v)
    return v @ matrix @ v


def mandelbrot(width: Any, rounds: int = 8) -> Any:
    c = np.linspace(-2, 1, width.shape[0])[None, :] + 1j * np.linspace(-1, 1, width.shape[0])[:, None]
    z, counts = np.zeros_like(c), np.zeros(c.shape, dtype=int)
    for _ in range(rounds):
        inside = abs(z) <= 2
        counts[inside] += 1
        z = np.where(inside, z * z + c, z)
    return counts


def edges(image: Any) -> Any:
    """Apply Sobel's operator, whose kernel is a constant that Python indexes."""
    kernel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
    padded = np.pad(image, 1, mode="edge")
    h, w = image.shape
    x = sum(kernel[a, b] * padded[a : a + h, b : b + w] for a in range(3) for b in range(3))
    y = sum(kernel.T[a, b] * padded[a : a + h, b : b + w] for a in range(3) for b in range(3))
    return np.hypot(x, y), np.arctan2(y, x)


def edit_distance(a: Any, b: Any) -> Any:
    before = np.arange(b.shape[0] + 1)
    for place in range(len(a)):
        now = np.empty_like(before)
        now[0] = place + 1
        for j in range(len(b)):
            now[j + 1] = np.minimum(np.minimum(before[j + 1], now[j]) + 1, before[j] + (a[place] != b[j]))
        before = now
    return before[-1]


def kalman(observed: Any, f: Any, h: Any, q: Any, r: Any) -> Any:
    x, p, found = np.zeros((f.shape[0], 1)), np.eye(f.shape[0]), []
    for z in observed:
        x, p = f @ x, f @ p @ f.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        x = x + gain @ (z.reshape(-1, 1) - h @ x)
        p = (np.eye(p.shape[0]) - gain @ h) @ p
        found.append(x.ravel())
    return np.array(found)


def running_statistics(x: Any) -> Any:
    total = np.cumsum(x)
    moving = np.convolve(x, np.ones(3) / 3, mode="valid")
    peak = np.maximum.accumulate(total)
    return total / np.arange(1, x.shape[0] + 1), moving, (total - peak).min()


def pointers(table: Any, after: Any) -> Any:
    """Read and write rows and elements at computed indices, through views too."""
    place, y = after[0], table.copy()
    for _ in range(3):
        place = after[place]
    row = y[place]
    row += 1
    y[after[1]][0] = 7
    y[-1 - after[2], 1] *= 2
    return y, row, table[place, [0, 1]], table[table[:, 0].argmax(), 1:], table[None, after[3] - 4, ...]


def by_array_api(x: Any) -> Any:
    xp = x.__array_namespace__(api_version="2022.12")
    total = xp.sum(x, axis=1)
    return total / total[0].__array_namespace__().max(xp.abs(x))


def turned(x: Any) -> Any:
    found, turn, total = np.zeros(x.shape[0], complex), 1 + 0j, 0j
    for place in range(x.shape[0]):
        found[place] = turn * x[place]
        total += turn + x[place] * 1j
        turn = turn * 1j
    return found, total * np.ones(2)


PROGRAMS: dict[str, Program] = {
    "attention": Program(
        attention, (d(5, 8), d(8, 8), d(8, 8), d(8, 8)), (d(7, 12), d(12, 12), d(12, 12), d(12, 12))
    ),
    "mlp": Program(
        mlp_loss,
        (f(6, 5), i(6, low=0, high=3), f(5, 8), f(8), f(8, 3), f(3)),
        (f(9, 4), i(9, low=0, high=5), f(4, 7), f(7), f(7, 5), f(5)),
    ),
    "convolution by windows": Program(
        conv_by_windows, (f(2, 3, 8, 9), f(4, 3, 3, 3), f(4)), (f(3, 2, 10, 7), f(5, 2, 3, 3), f(5))
    ),
    "convolution by offsets": Program(
        conv_by_offsets, (f(2, 3, 6, 7), f(4, 3, 3, 3)), (f(1, 2, 9, 5), f(3, 2, 3, 3))
    ),
    "FFT filter": Program(fft_filter, (d(3, 16),), (d(2, 21),)),
    "least squares": Program(least_squares, (d(12), d(12)), (d(20), d(20))),
    "k-means": Program(k_means, (f(20, 2), f(3, 2)), (f(31, 3), f(5, 3))),
    "n-body": Program(
        n_body, (d(4, 3), d(4, 3), d(4, kind="positive")), (d(6, 2), d(6, 2), d(6, kind="positive"))
    ),
    "game of life": Program(game_of_life, (i(6, 7, low=0, high=2),), (i(9, 5, low=0, high=2),)),
    "standardise": Program(standardise, (d(8, 3),), (d(13, 4),)),
    "layer norm": Program(layer_norm_gelu, (d(3, 8), d(8), d(8)), (d(5, 6), d(6), d(6))),
    "power iteration": Program(power_iteration, (d(4, 4, kind="definite"),), (d(6, 6, kind="definite"),)),
    "mandelbrot": Program(mandelbrot, (d(7),), (d(11),)),
    "edges": Program(edges, (d(5, 6),), (d(7, 4),)),
    "edit distance": Program(edit_distance, (i(3), i(4)), (i(3), i(4))),
    "Kalman filter": Program(
        kalman,
        (d(4, 1), d(2, 2), d(1, 2), d(2, 2, kind="definite"), d(1, 1, kind="definite")),
        (d(4, 1), d(3, 3), d(1, 3), d(3, 3, kind="definite"), d(1, 1, kind="definite")),
    ),
    "pointers": Program(pointers, (d(4, 3), i(4, low=0, high=4)), (d(6, 4), i(6, low=0, high=6))),
    "by the array API": Program(by_array_api, (d(4, 3),), (d(2, 5),)),
    "turned": Program(turned, (d(9),), (d(9),)),
    "running statistics": Program(running_statistics, (d(8),), (d(13),)),
}
