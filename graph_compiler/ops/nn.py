"""Neural-network operations: activations, linear layers, embeddings, attention, losses and normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, product
from .registry import ArraySpec, check_axis, declare, decomposition
from .rules import (
    broadcast,
    declare_unary,
    dtype_of,
    elementwise,
    is_symbolic,
    normalise_axes,
    normalise_axis,
)

# ------------------------------------------------------------------------------------------------ activations

_ACTIVATIONS = "activations"


def _same(x: ArraySpec, **_: Any) -> ArraySpec:
    return ArraySpec(x.shape, x.dtype)


declare_unary(
    _ACTIVATIONS,
    elementwise,
    {
        "relu": "``max(x, 0)``; no gradient at 0.",
        "relu6": "``min(max(x, 0), 6)``; no gradient at 0 and 6.",
        "hard_sigmoid": "``relu6(x + 3) / 6``; no gradient at -3 and 3.",
        "hard_swish": "``x * relu6(x + 3) / 6``.",
        "selu": (
            "Scaled ``elu`` of self-normalising networks (Klambauer et al. 2017); the derivative at 0 is the "
            "left one."
        ),
        "silu": "``x * sigmoid(x)``, also called swish.",
        "mish": "``x * tanh(softplus(x))``.",
        "soft_sign": "``x / (1 + abs(x))``.",
        "log_sigmoid": "``log(sigmoid(x))``, without overflow.",
    },
)


@declare(_ACTIVATIONS)
def hard_tanh(x: ArraySpec, /, *, minimum: float = -1.0, maximum: float = 1.0) -> ArraySpec:
    """Clip ``x`` to [minimum, maximum]. The gradient is 0 where ``x`` equals a bound."""
    return _same(x)


@declare(_ACTIVATIONS)
def leaky_relu(x: ArraySpec, /, *, negative_slope: float = 0.01, right: bool = False) -> ArraySpec:
    """Return ``x`` where it is positive and ``negative_slope * x`` elsewhere.

    The derivative at 0 is ``negative_slope``, or 1 with ``right``.
    """
    return _same(x)


@declare(_ACTIVATIONS)
def prelu(x: ArraySpec, slope: ArraySpec, /) -> ArraySpec:
    """Return ``x`` where it is positive and ``slope * x`` elsewhere; ``slope`` broadcasts.

    The derivative at 0 is ``slope``.
    """
    return elementwise(x, slope)


@declare(_ACTIVATIONS)
def elu(x: ArraySpec, /, *, alpha: float = 1.0) -> ArraySpec:
    """Return ``x`` where it is positive and ``alpha * expm1(x)`` elsewhere."""
    return _same(x)


@declare(_ACTIVATIONS)
def celu(x: ArraySpec, /, *, alpha: float = 1.0) -> ArraySpec:
    """Return ``x`` where it is positive and ``alpha * expm1(x / alpha)`` elsewhere."""
    return _same(x)


@declare(_ACTIVATIONS)
def gelu(x: ArraySpec, /, *, approximate: bool = False) -> ArraySpec:
    """Compute ``x * Phi(x)``, where ``Phi`` is the standard normal distribution function.

    ``approximate`` selects the tanh approximation.
    """
    return _same(x)


@declare(_ACTIVATIONS)
def softplus(x: ArraySpec, /, *, beta: float = 1.0, threshold: float = 20.0) -> ArraySpec:
    """Compute ``log1p(exp(beta * x)) / beta``, or ``x`` itself where ``beta * x`` is above ``threshold``."""
    return _same(x)


@declare(_ACTIVATIONS)
def soft_shrink(x: ArraySpec, /, *, threshold: float = 0.5) -> ArraySpec:
    """Move ``x`` towards 0 by ``threshold``, and to 0 where ``abs(x) <= threshold``."""
    return _same(x)


@declare(_ACTIVATIONS)
def hard_shrink(x: ArraySpec, /, *, threshold: float = 0.5) -> ArraySpec:
    """Return ``x``, or 0 where ``abs(x) <= threshold``."""
    return _same(x)


@declare(_ACTIVATIONS)
def threshold(x: ArraySpec, /, *, threshold: Any, value: Any) -> ArraySpec:
    """Return ``value`` where ``x <= threshold`` and ``x`` elsewhere."""
    return _same(x)


@declare(_ACTIVATIONS)
def glu(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Multiply the first half along ``axis``, of even size, by the sigmoid of the second half."""
    axis = normalise_axis(axis, x.ndim)
    return ArraySpec((*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :]), x.dtype)


@declare(_ACTIVATIONS)
def softmax(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Compute ``exp(x) / sum(exp(x))`` along ``axis`` without overflow.

    The result is NaN where all elements along ``axis`` are -inf.
    """
    return _same(x)


@declare(_ACTIVATIONS)
def log_softmax(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Compute ``log(softmax(x))`` along ``axis`` without overflow."""
    return _same(x)


# ---------------------------------------------------------------------------------- activation decompositions
def _decompose(**functions: Callable[..., Any]) -> None:
    for name, function in functions.items():
        decomposition(name)(function)


def _softmax(b: Any, x: Any, *, axis: int) -> Any:
    # No exponent is above 0, so nothing overflows.
    weights = b.exp(b.subtract(x, b.max(x, axis=axis, keepdims=True)))
    return b.divide(weights, b.sum(weights, axis=axis, keepdims=True))


def _log_softmax(b: Any, x: Any, *, axis: int) -> Any:
    shifted = b.subtract(x, b.max(x, axis=axis, keepdims=True))
    return b.subtract(shifted, b.log(b.sum(b.exp(shifted), axis=axis, keepdims=True)))


def _leaky_relu(b: Any, x: Any, *, negative_slope: float, right: bool) -> Any:
    is_above = b.greater_equal(x, 0) if right else b.greater(x, 0)
    return b.where(is_above, x, b.multiply(x, negative_slope))


def _hard_tanh(b: Any, x: Any, *, minimum: float, maximum: float) -> Any:
    # A clip would let the gradient through at the bounds.
    return b.where(b.less_equal(x, minimum), minimum, b.where(b.greater_equal(x, maximum), maximum, x))


def _soft_shrink(b: Any, x: Any, *, threshold: float) -> Any:
    # Unlike a constant 0, the product keeps NaN.
    below = b.where(b.less(x, -threshold), b.add(x, threshold), b.multiply(x, 0.0))
    return b.where(b.greater(x, threshold), b.subtract(x, threshold), below)


_decompose(
    softmax=_softmax,
    log_softmax=_log_softmax,
    hard_tanh=_hard_tanh,
    soft_shrink=_soft_shrink,
    # Like this operation, ``hard_tanh`` has no gradient at its bounds.
    relu6=lambda b, x: b.hard_tanh(x, minimum=0.0, maximum=6.0),
    hard_sigmoid=lambda b, x: b.divide(b.relu6(b.add(x, 3.0)), 6.0),
    hard_swish=lambda b, x: b.divide(b.multiply(x, b.relu6(b.add(x, 3.0))), 6.0),
    leaky_relu=_leaky_relu,
    prelu=lambda b, x, slope: b.where(b.greater(x, 0), x, b.multiply(slope, x)),
    celu=lambda b, x, alpha: b.where(b.greater(x, 0), x, b.multiply(b.expm1(b.divide(x, alpha)), alpha)),
    mish=lambda b, x: b.multiply(x, b.tanh(b.softplus(x))),
    soft_sign=lambda b, x: b.divide(x, b.add(b.abs(x), 1.0)),
    # ``softplus`` does not overflow.
    log_sigmoid=lambda b, x: b.negative(b.softplus(b.negative(x))),
    # NaN fails the comparison, so it stays NaN.
    hard_shrink=lambda b, x, threshold: b.where(b.less_equal(b.abs(x), threshold), 0.0, x),
    threshold=lambda b, x, threshold, value: b.where(b.less_equal(x, threshold), value, x),
)


# -------------------------------------------------------------------- linear layers, embeddings and attention

_LINEAR = "linear layers"


@declare(_LINEAR)
def linear(x: ArraySpec, weight: ArraySpec, bias: ArraySpec | None = None, /) -> ArraySpec:
    """Compute ``x @ weight.T + bias`` with a weight [out, in]; ``bias`` may be omitted.

    The result has ``out`` elements along the last axis, and for a weight [in] no such axis.
    """
    inner = (x.shape[-1], weight.shape[-1])
    # Two expressions that differ may still have equal values, so only ints are compared.
    if inner[0] != inner[1] and not is_symbolic(*inner):
        raise InvalidGraph(f"linear of {x} with weight {weight}: {inner[0]} features meet {inner[1]}")
    shape = x.shape[:-1] + weight.shape[:-1]
    return ArraySpec(shape if bias is None else broadcast(shape, bias.shape), dtype_of(x, weight, bias))


@decomposition("linear")
def _linear(b: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    product = b.matmul(x, b.permute_dims(weight, axes=(1, 0)) if weight.ndim == 2 else weight)
    return product if bias is None else b.add(product, bias)


@declare(_LINEAR)
def bilinear(x1: ArraySpec, x2: ArraySpec, weight: ArraySpec, bias: ArraySpec | None = None, /) -> ArraySpec:
    """Sum ``x1[..., i] * weight[o, i, j] * x2[..., j]`` over i and j, and add ``bias[o]`` if it is given."""
    return ArraySpec(
        (*broadcast(x1.shape[:-1], x2.shape[:-1]), weight.shape[0]), dtype_of(x1, x2, weight, bias)
    )


@declare(_LINEAR)
def grouped_matmul(x: ArraySpec, weight: ArraySpec, offsets: ArraySpec, /) -> ArraySpec:
    """Multiply groups of rows of ``x`` [rows, in] by the matrices of ``weight`` [groups, in, out].

    Group ``g`` has the rows ``offsets[g - 1]:offsets[g]``, and group 0 those before ``offsets[0]``. Rows from
    the last offset on are 0 in the result.
    """
    return ArraySpec((x.shape[0], weight.shape[2]), dtype_of(x, weight))


_EMBEDDING = "embedding"


@declare(_EMBEDDING)
def embedding(weight: ArraySpec, indices: ArraySpec, /, *, padding_idx: int | None = None) -> ArraySpec:
    """Take the rows ``indices`` of ``weight`` [rows, width].

    Indices lie in [0, rows). The row ``padding_idx`` gets no gradient.
    """
    return ArraySpec(indices.shape + weight.shape[1:], weight.dtype)


@decomposition("embedding")
def _embedding(b: Any, weight: Any, indices: Any, *, padding_idx: int | None) -> Any:
    found = b.take(weight, indices, axis=0)
    if padding_idx is None:
        return found
    is_padding = b.reshape(b.equal(indices, padding_idx), shape=(*indices.shape, *(1,) * (weight.ndim - 1)))
    # Training must not move the row of the padding token.
    return b.where(is_padding, b.stop_gradient(found), found)


@declare(_EMBEDDING)
def one_hot(indices: ArraySpec, /, *, num_classes: Dim, dtype: str) -> ArraySpec:
    """Return 1 at positions ``indices`` along a new last axis of size ``num_classes``, and 0 elsewhere.

    For an index outside of [0, num_classes), all elements along that axis are 0.
    """
    return ArraySpec((*indices.shape, num_classes), dtype)


@declare(_EMBEDDING)
def embedding_bag(
    weight: ArraySpec,
    indices: ArraySpec,
    offsets: ArraySpec,
    per_sample_weights: ArraySpec | None = None,
    /,
    *,
    mode: str = "mean",
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> ArraySpec:
    """Compute the sum, mean or maximum (``mode``) of the rows of ``weight`` in each bag of indices.

    Bag ``i`` is ``indices[offsets[i]:offsets[i + 1]]``. The last bag ends at the last index; with
    ``include_last_offset``, it ends at the last offset. Rows are multiplied by ``per_sample_weights``
    first. Indices equal to ``padding_idx`` are skipped. An empty bag is 0.
    """
    bags = offsets.shape[0] - 1 if include_last_offset else offsets.shape[0]
    return ArraySpec((bags, weight.shape[1]), dtype_of(weight, per_sample_weights))


_ATTENTION = "attention"


@declare(_ATTENTION)
def scaled_dot_product_attention(
    query: ArraySpec,
    key: ArraySpec,
    value: ArraySpec,
    mask: ArraySpec | None = None,
    random_key: ArraySpec | None = None,
    /,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    dropout_rate: float = 0.0,
) -> ArraySpec:
    """Compute ``softmax(query @ key.T * scale + mask) @ value`` for arrays [..., tokens, features].

    A boolean ``mask`` is not added: it is True where a query (row) attends to a key (column). With
    ``is_causal``, a query attends only to keys whose index is at most its own. A query that attends to no key
    has weights of 0. ``scale`` is ``1 / sqrt(features)`` if it is None. With ``enable_gqa``, groups of
    consecutive query heads (axis -3) share a head of key and value. With a ``random_key`` (and without
    ``enable_gqa``), weights are dropped with probability ``dropout_rate``.
    """
    # There are fewer heads of key and value than of query, so the axis of heads does not broadcast.
    if enable_gqa:
        batch = (*broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]), query.shape[-3])
    else:
        batch = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    return ArraySpec((*batch, query.shape[-2], value.shape[-1]), dtype_of(query, key, value))


# ----------------------------------------------------------------------------------------------------- losses
# Losses that are operations of their own. Lifting writes other losses as short formulas.

_LOSSES = "losses"


def _by_reduction(shape: tuple[object, ...], dtype: str, reduction: str) -> ArraySpec:
    return ArraySpec(shape if reduction == "none" else (), dtype)


@declare(_LOSSES)
def nll_loss(
    log_probabilities: ArraySpec,
    target: ArraySpec,
    weight: ArraySpec | None = None,
    /,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> ArraySpec:
    """Compute the negative log-likelihood of class indices: ``-weight[target] * log_probabilities[target]``.

    Classes are on axis 1, or on axis 0 of a vector. Without ``weight``, all weights are 1. The loss of
    targets equal to ``ignore_index`` is 0. ``reduction`` is "none", "sum" or "mean"; "mean" divides by the
    summed weights of the targets that are not ignored.
    """
    return _by_reduction(target.shape, dtype_of(log_probabilities, weight), reduction)


@declare(_LOSSES)
def cross_entropy(
    logits: ArraySpec,
    target: ArraySpec,
    weight: ArraySpec | None = None,
    /,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> ArraySpec:
    """Compute the cross entropy of ``softmax(logits)`` and class indices; options as in ``nll_loss``.

    ``label_smoothing`` is the share of the target probability that is distributed equally over all classes.
    """
    return _by_reduction(target.shape, dtype_of(logits, weight), reduction)


@declare(_LOSSES)
def binary_cross_entropy(probability: ArraySpec, target: ArraySpec, /) -> ArraySpec:
    """Compute ``-(target * log(probability) + (1 - target) * log(1 - probability))``.

    Each logarithm is at least -100.
    """
    return elementwise(probability, target)


@declare(_LOSSES)
def ctc_loss(
    log_probabilities: ArraySpec,
    targets: ArraySpec,
    input_lengths: ArraySpec,
    target_lengths: ArraySpec,
    /,
    *,
    blank: int = 0,
) -> ArraySpec:
    """Compute the connectionist temporal classification loss, ``-log p(targets)`` of each sequence.

    It is inf if no alignment fits. ``log_probabilities`` is [time, batch, classes]; ``targets`` is [batch,
    length]. Elements beyond ``input_lengths`` and ``target_lengths`` are padding. ``blank`` is the class of
    the blank label. The result has one loss per sequence.
    """
    return ArraySpec((log_probabilities.shape[1],), log_probabilities.dtype)


# ---------------------------------------------------------------------------------------------- normalisation
# Most of these compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias``, over different axes. Their
# decompositions compute half precision in float32 and return the dtype of ``x``. Weights may have another
# dtype.

_NORMALISATION = "normalisation"


@declare(_NORMALISATION)
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
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias``, with vectors along ``axis``.

    The vectors are ``mean``, ``variance``, ``weight`` and ``bias``; the last two may be None. In training,
    the caller passes the statistics of ``x`` itself (torch.nn.functional.batch_norm).
    """
    check_axis(axis, x.ndim)
    return ArraySpec(x.shape, x.dtype)


@declare(_NORMALISATION)
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

    The result is ``(x - mean) / sqrt(variance + epsilon) * weight + bias``. ``weight`` and ``bias`` have the
    shape of these axes, or are None. Raise ``InvalidGraph`` unless ``axis`` holds the last axes, in order.
    """
    _check_last(x, axis)
    return ArraySpec(x.shape, x.dtype)


@declare(_NORMALISATION)
def rms_norm(
    x: ArraySpec, weight: ArraySpec | None = None, /, *, axis: tuple[int, ...], epsilon: float
) -> ArraySpec:
    """Compute ``x / sqrt(mean(x ** 2) + epsilon) * weight``, with the mean over ``axis``, the last axes.

    It corresponds to ``torch.nn.functional.rms_norm``. ``weight`` has the shape of these axes, or is None.
    Raise ``InvalidGraph`` unless ``axis`` holds the last axes, in order.
    """
    _check_last(x, axis)
    return ArraySpec(x.shape, x.dtype)


@declare(_NORMALISATION)
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
    """Normalise over each of ``groups`` groups of consecutive channels (torch.nn.functional.group_norm).

    Channels are on ``axis``. Mean and variance are taken over the channels of a group and over all other axes
    but the first. ``weight`` and ``bias`` have an element for each channel, or are None.
    """
    check_axis(axis, x.ndim)
    channels = x.shape[axis]
    if not is_symbolic(channels, groups) and channels % groups:
        raise InvalidGraph(f"group_norm of {x}: {channels} channels cannot be parted into {groups} groups")
    return ArraySpec(x.shape, x.dtype)


@declare(_NORMALISATION)
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

    These are all axes but the first and ``axis``, on which the channels are. ``weight`` and ``bias`` have an
    element for each channel, or are None.
    """
    check_axis(axis, x.ndim)
    return ArraySpec(x.shape, x.dtype)


@declare(_NORMALISATION)
def local_response_norm(x: ArraySpec, /, *, size: int, alpha: float, beta: float, k: float) -> ArraySpec:
    """Compute ``x / (k + alpha * mean of x ** 2 over size neighbouring channels) ** beta``.

    Channels are on axis 1. Each mean is over ``size // 2`` channels before, the channel itself, and
    ``(size - 1) // 2`` after it; beyond the first and last channel, ``x`` counts as 0. It corresponds to
    ``torch.nn.functional.local_response_norm``.
    """
    return ArraySpec(x.shape, x.dtype)


@declare(_NORMALISATION)
def normalize(x: ArraySpec, /, *, ord: Any = 2.0, axis: tuple[int, ...], epsilon: float) -> ArraySpec:
    """Divide ``x`` by its ``ord``-norm over ``axis``, or by ``epsilon`` if that is larger.

    It corresponds to ``torch.nn.functional.normalize``.
    """
    normalise_axes(axis, x.ndim)
    return ArraySpec(x.shape, x.dtype)


def _check_last(x: ArraySpec, axis: tuple[int, ...]) -> None:
    if axis != tuple(range(x.ndim - len(axis), x.ndim)):
        raise InvalidGraph(f"the normalised axes must be the last ones of {x}, not {axis}")


# ------------------------------------------------------------------------------- normalisation decompositions
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
    """Compute ``local_response_norm`` by average pooling over the channels.

    For integers the pooled mean is truncated to an integer, and the result is float32.
    """
    planes = b.reshape(b.multiply(x, x), shape=(x.shape[0], 1, x.shape[1], product(x.shape[2:])))
    pads = ((0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0))
    mean = b.avg_pool(b.pad(planes, padding=pads), kernel=(size, 1), strides=(1, 1), padding=((0, 0), (0, 0)))
    # The mean of integers is truncated, so the rest is computed in float32.
    real = x.dtype if x.dtype.startswith(("float", "bfloat")) else "float32"
    mean = b.astype(b.reshape(mean, shape=x.shape), dtype=real)
    return b.divide(b.astype(x, dtype=real), b.pow(b.add(b.multiply(mean, alpha), k), beta))
