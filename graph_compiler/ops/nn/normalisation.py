"""Normalisation layers: ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` over different axes.

Half precision is computed in float32 and returned in the dtype of ``x``; weights may have another dtype
than ``x``.
"""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import product
from ..registry import ArraySpec, declare, decomposition
from ..rules import is_symbolic, normalise_axes, normalise_axis

_SECTION = "normalisation"


@declare(_SECTION)
def batch_norm(
    x: ArraySpec,
    mean: ArraySpec,
    variance: ArraySpec,
    weight: ArraySpec | None = None,
    bias: ArraySpec | None = None,
    /,
    *,
    epsilon: float,
    axis: int = 1,
) -> ArraySpec:
    """Normalise by a given ``mean`` and ``variance``, which are vectors over ``axis`` like weight and bias.

    In training, the caller passes the statistics of ``x`` itself (torch.nn.functional.batch_norm).
    """
    normalise_axis(axis, x.ndim)
    return ArraySpec(x.shape, x.dtype)


@declare(_SECTION)
def layer_norm(
    x: ArraySpec,
    weight: ArraySpec | None = None,
    bias: ArraySpec | None = None,
    /,
    *,
    axis: tuple[int, ...],
    epsilon: float,
) -> ArraySpec:
    """Normalise by mean and variance over ``axis``, the last axes (torch.nn.functional.layer_norm).

    Weight and bias have the shape of these axes.
    """
    _check_last(x, axis)
    return ArraySpec(x.shape, x.dtype)


@declare(_SECTION)
def rms_norm(
    x: ArraySpec, weight: ArraySpec | None = None, /, *, axis: tuple[int, ...], epsilon: float
) -> ArraySpec:
    """Compute ``x / sqrt(mean(x ** 2) + epsilon) * weight`` over ``axis``, the last axes.

    It corresponds to ``torch.nn.functional.rms_norm``.
    """
    _check_last(x, axis)
    return ArraySpec(x.shape, x.dtype)


@declare(_SECTION)
def group_norm(
    x: ArraySpec,
    weight: ArraySpec | None = None,
    bias: ArraySpec | None = None,
    /,
    *,
    groups: int,
    epsilon: float,
    axis: int = 1,
) -> ArraySpec:
    """Normalise over each of ``groups`` groups of channels (torch.nn.functional.group_norm).

    Mean and variance are taken over the channels of a group (``axis``) and all axes but the first.
    """
    channels = x.shape[normalise_axis(axis, x.ndim)]
    if not is_symbolic(channels, groups) and channels % groups:
        raise InvalidGraph(f"group_norm of {x}: {channels} channels cannot be parted into {groups} groups")
    return ArraySpec(x.shape, x.dtype)


@declare(_SECTION)
def instance_norm(
    x: ArraySpec,
    weight: ArraySpec | None = None,
    bias: ArraySpec | None = None,
    /,
    *,
    epsilon: float,
    axis: int = 1,
) -> ArraySpec:
    """Normalise over the spatial axes of each channel (torch.nn.functional.instance_norm).

    These are all axes but the first and ``axis``.
    """
    normalise_axis(axis, x.ndim)
    return ArraySpec(x.shape, x.dtype)


@declare(_SECTION)
def local_response_norm(x: ArraySpec, /, *, size: int, alpha: float, beta: float, k: float) -> ArraySpec:
    """Compute ``x / (k + alpha * mean of x ** 2 over size neighbouring channels) ** beta``.

    It corresponds to ``torch.nn.functional.local_response_norm``.
    """
    return ArraySpec(x.shape, x.dtype)


@declare(_SECTION)
def normalize(x: ArraySpec, /, *, ord: Any = 2.0, axis: tuple[int, ...], epsilon: float) -> ArraySpec:
    """Divide ``x`` by its ``ord``-norm, at least ``epsilon`` (torch.nn.functional.normalize)."""
    normalise_axes(axis, x.ndim)
    return ArraySpec(x.shape, x.dtype)


def _check_last(x: ArraySpec, axis: tuple[int, ...]) -> None:
    if axis != tuple(range(x.ndim - len(axis), x.ndim)):
        raise InvalidGraph(f"the normalised axes must be the last ones of {x}, not {axis}")


# ------------------------------------------------------------------------------ in smaller operations
def upcast_half(b: Any, x: Any) -> Any:
    return b.astype(x, dtype="float32") if x.dtype in ("float16", "bfloat16") else x


def _affine(b: Any, x: Any, weight: Any, bias: Any) -> Any:
    result = x if weight is None else b.multiply(x, b.astype(weight, dtype=x.dtype))
    return result if bias is None else b.add(result, b.astype(bias, dtype=x.dtype))


def _standardise(b: Any, x: Any, axis: tuple[int, ...], epsilon: float) -> Any:
    centred = b.subtract(x, b.mean(x, axis=axis, keepdims=True))
    variance = b.mean(b.multiply(centred, centred), axis=axis, keepdims=True)
    return b.divide(centred, b.sqrt(b.add(variance, epsilon)))


def _over_channels(b: Any, vector: Any, rank: int, axis: int = 1) -> Any:
    if vector is None:
        return None
    return b.reshape(vector, shape=tuple(vector.shape[0] if i == axis else 1 for i in range(rank)))


@decomposition("batch_norm")
def _batch_norm(
    b: Any,
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    epsilon: float,
    axis: int = 1,
) -> Any:
    original, x = x, upcast_half(b, x)
    mean, variance, weight, bias = (
        _over_channels(b, vector, x.ndim, axis) for vector in (mean, variance, weight, bias)
    )
    mean, variance = b.astype(mean, dtype=x.dtype), b.astype(variance, dtype=x.dtype)
    standard = b.divide(b.subtract(x, mean), b.sqrt(b.add(variance, epsilon)))
    return b.astype(_affine(b, standard, weight, bias), dtype=original.dtype)


@decomposition("layer_norm")
def _layer_norm(
    b: Any, x: Any, weight: Any = None, bias: Any = None, *, axis: tuple[int, ...], epsilon: float
) -> Any:
    return b.astype(
        _affine(b, _standardise(b, upcast_half(b, x), axis, epsilon), weight, bias), dtype=x.dtype
    )


@decomposition("rms_norm")
def _rms_norm(b: Any, x: Any, weight: Any = None, *, axis: tuple[int, ...], epsilon: float) -> Any:
    original, x = x, upcast_half(b, x)
    square = b.mean(b.multiply(x, x), axis=axis, keepdims=True)
    return b.astype(
        _affine(b, b.divide(x, b.sqrt(b.add(square, epsilon))), weight, None), dtype=original.dtype
    )


@decomposition("group_norm")
def _group_norm(
    b: Any, x: Any, weight: Any = None, bias: Any = None, *, groups: int, epsilon: float, axis: int = 1
) -> Any:
    parted = (*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    over = tuple(place for place in range(1, x.ndim + 1) if place != axis)
    result = b.reshape(
        _standardise(b, b.reshape(upcast_half(b, x), shape=parted), over, epsilon), shape=x.shape
    )
    weight, bias = (_over_channels(b, vector, x.ndim, axis) for vector in (weight, bias))
    return b.astype(_affine(b, result, weight, bias), dtype=x.dtype)


@decomposition("instance_norm")
def _instance_norm(
    b: Any, x: Any, weight: Any = None, bias: Any = None, *, epsilon: float, axis: int = 1
) -> Any:
    weight, bias = (_over_channels(b, vector, x.ndim, axis) for vector in (weight, bias))
    standard = _standardise(
        b, upcast_half(b, x), tuple(place for place in range(1, x.ndim) if place != axis), epsilon
    )
    return b.astype(_affine(b, standard, weight, bias), dtype=x.dtype)


@decomposition("local_response_norm")
def pooled_response_norm(b: Any, x: Any, *, size: int, alpha: float, beta: float, k: float) -> Any:
    """Compute ``local_response_norm`` by pooling over the channels; integers are allowed."""
    planes = b.reshape(b.multiply(x, x), shape=(x.shape[0], 1, x.shape[1], product(x.shape[2:])))
    pads = ((0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0))
    mean = b.avg_pool(b.pad(planes, padding=pads), kernel=(size, 1), strides=(1, 1), padding=((0, 0), (0, 0)))
    # The mean of integers is truncated, so the rest is computed in float32.
    real = x.dtype if x.dtype.startswith(("float", "bfloat")) else "float32"
    mean = b.astype(b.reshape(mean, shape=x.shape), dtype=real)
    return b.divide(b.astype(x, dtype=real), b.pow(b.add(b.multiply(mean, alpha), k), beta))
