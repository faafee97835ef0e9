"""Prelude helpers in NumPy alone: source indices and weights of windows, pooling and resampling."""

from __future__ import annotations

import numpy as np


def column_places(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> tuple[np.ndarray, ...]:
    """Return for each axis the indices, in the padded array, of the elements that the windows cover.

    The array of axis ``i`` has the dimensions ``[*kernel, *windows]`` with the sizes of other axes replaced
    by 1.
    """
    rank = len(kernel)
    places = []
    for axis, (n, k, stride, (before, after), step) in enumerate(
        zip(size, kernel, strides, padding, dilation)
    ):
        windows = (n + before + after - step * (k - 1) - 1) // stride + 1
        place = np.arange(k)[:, None] * step + np.arange(windows) * stride
        places.append(
            place.reshape([k if i == axis else windows if i == rank + axis else 1 for i in range(2 * rank)])
        )
    return tuple(places)


def window_count(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int, ceil_mode: bool
) -> int:
    """Return the number of windows along an axis.

    With ``ceil_mode``, the last window may extend beyond the padded end, but starts before the padding there.
    """
    before, after = padding
    reach = dilation * (kernel - 1)
    covered = size + before - 1 + (min(0, after + stride - 1 - reach) if ceil_mode else after - reach)
    return covered // stride + 1


def padding_for_windows(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    ceil_mode: bool,
) -> list[tuple[int, int]]:
    """Return ``padding``, extended at the ends of the axes to cover the last windows if ``ceil_mode``."""
    if not ceil_mode:
        return list(padding)
    counts = [window_count(*of_axis, 1, True) for of_axis in zip(size, kernel, strides, padding)]
    return [
        (p[0], max(p[1], (c - 1) * s + k - n - p[0]))
        for n, k, s, p, c in zip(size, kernel, strides, padding, counts)
    ]


def window_places(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int, ceil_mode: bool
) -> tuple[np.ndarray, np.ndarray]:
    windows = window_count(size, kernel, stride, padding, dilation, ceil_mode)
    places = np.arange(windows)[:, None] * stride + np.arange(kernel) * dilation - padding[0]
    return np.clip(places, 0, size - 1), (places >= 0) & (places < size)


def adaptive_places(size: int, windows: int) -> tuple[np.ndarray, np.ndarray]:
    starts, ends = np.arange(windows) * size // windows, -(-np.arange(1, windows + 1) * size // windows)
    places = starts[:, None] + np.arange(max(ends - starts, default=1))
    return np.minimum(places, size - 1), places < ends[:, None]


def source_step(size: int, out: int, scale: float | None, align_corners: bool, real: type) -> np.floating:
    if align_corners:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1 / scale) if scale else real(size) / real(out)


def small_image(size: tuple[int, ...]) -> bool:
    return len(size) == 2 and sum(size) <= 128


def nearest_places(size: int, out: int, scale: float | None, exact: bool, small: bool) -> np.ndarray:
    """Return the source index of each output element of nearest-neighbour resampling.

    With ``exact``, this is the element under the centre of the output element, else that under its start.
    """
    positions = np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)
    if small and not exact and out in (size, 2 * size):
        return np.arange(out) * size // out
    return np.minimum(
        np.floor(positions * source_step(size, out, scale, False, np.float32)).astype(int), size - 1
    )


def cubic_weights(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Return the weights of the four neighbours of a point in cubic convolution with the parameter ``a``.

    The point is at the fraction ``t`` of the way from the second to the third neighbour.
    """

    def near(d: np.ndarray) -> np.ndarray:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: np.ndarray) -> np.ndarray:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def sample_taps(
    size: int, out: int, method: str, scale: float | None, align_corners: bool, real: type
) -> tuple[np.ndarray, np.ndarray]:
    """Return the source indices and the weights, both ``[out, taps]``, of resampling.

    ``size`` elements become ``out``. ``method`` is linear or cubic. ``scale`` is the scale factor, or None
    for the ratio of the sizes.
    """
    step = source_step(size, out, scale, align_corners, real)
    positions: np.ndarray = np.arange(out, dtype=real)
    positions = positions * step if align_corners else step * (positions + real(0.5)) - real(0.5)
    if method == "linear":
        positions = np.maximum(positions, real(0))
    base = np.minimum(np.floor(positions).astype(int), size - 1)
    t = np.clip(positions - base.astype(real), 0, 1)
    weights = [1 - t, t] if method == "linear" else cubic_weights(t)
    places = base[:, None] + (np.arange(2) if method == "linear" else np.arange(-1, 3))
    return np.clip(places, 0, size - 1), np.stack(weights, axis=-1).astype(real)


def antialias_filter(method: str, x: np.ndarray) -> np.ndarray:
    x = abs(x)
    if method == "linear":
        return np.maximum(1 - x, 0)
    if method == "lanczos":
        return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)
    a = -0.5
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def antialias_taps(
    size: int, out: int, method: str, scale: float | None, align_corners: bool, real: type
) -> tuple[np.ndarray, np.ndarray]:
    """Return the source indices and the weights, both ``[out, taps]``, of resampling with antialiasing.

    ``size`` elements become ``out``. ``method`` is linear, cubic or lanczos.
    """
    step = source_step(size, out, scale, align_corners, real)
    width = max(step, real(1))
    support = real({"linear": 1, "cubic": 2, "lanczos": 3}[method]) * width
    centres = step * (np.arange(out, dtype=real) + real(0.5))
    first = np.maximum((centres - support + real(0.5)).astype(int), 0)
    last = np.minimum((centres + support + real(0.5)).astype(int), size)
    places = first[:, None] + np.arange(max(last - first, default=1))
    weights = antialias_filter(method, (places - centres[:, None] + real(0.5)) / width)
    weights = np.where(places < last[:, None], weights, 0)
    return np.minimum(places, size - 1), (weights / weights.sum(1, keepdims=True)).astype(real)


def byte_weights(places: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, int]:
    """Convert ``weights`` to int32 fixed point, and return them with the number of fractional bits.

    The weights of neighbouring taps with the same index in ``places`` are added up.
    """
    weights = weights.copy()
    largest = weights[:, 0].max(initial=0)
    for tap in range(1, weights.shape[1]):
        same = places[:, tap] == places[:, tap - 1]
        weights[same, tap] += weights[same, tap - 1]
        weights[same, tap - 1] = 0
        largest = max(largest, weights[:, tap].max(initial=0))
    bits = 0
    # The weights have to fit into 16 bits.
    while bits < 22 and int(0.5 + largest * (1 << bits + 1)) < 1 << 15:
        bits += 1
    scaled = weights * (1 << bits)
    return np.trunc(scaled + np.where(scaled < 0, -0.5, 0.5)).astype(np.int32), bits
