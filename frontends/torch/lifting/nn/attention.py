"""Attention and embeddings."""

from __future__ import annotations

import math
from typing import Any

from .....ir import Guard
from .....sizes import hint_of, product
from ..linear_algebra import renorm
from ..table import TorchBuilder, assume, rows
from .activations import optional


@rows.row("nn.functional.embedding")
def functional_embedding(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    padding_idx = _padding_row(b, weight, padding_idx)
    weight = embedding_renorm(b, weight, input, max_norm, norm_type)
    return embedding(b, weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def _padding_row(b: TorchBuilder, weight: Any, place: int | None) -> int | None:
    if place is None:
        return None
    assume(b, "ge", weight.shape[0], place + 1 if place >= 0 else -place)
    return place if place >= 0 else place + b.fix(weight.shape[0])


@rows.row("embedding")
def embedding(
    b: TorchBuilder,
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    weight = _divided_by_frequency(b, weight, indices) if scale_grad_by_freq else weight
    return b.embedding(weight, indices, padding_idx=None if padding_idx < 0 else padding_idx)


def _divided_by_frequency(b: TorchBuilder, weight: Any, indices: Any) -> Any:
    # The gradient of each row is divided by its count in ``indices``.
    named = b.reshape(indices, shape=(product(indices.shape),))
    counts = b.scatter_nd(
        b.zeros(shape=(weight.shape[0],), dtype="float32"),
        1.0,
        named,
        axes=(0,),
        reduce="sum",
        include_self=True,
    )
    counts = b.reshape(
        b.cast(b.maximum(counts, 1.0), weight.dtype), shape=(weight.shape[0], *(1,) * (weight.ndim - 1))
    )
    held = b.stop_gradient(weight)
    divided = b.add(held, b.divide(b.subtract(weight, held), counts))
    # The difference of infinities is NaN, while an infinite weight stays as it is if it is divided.
    return b.where(b.isfinite(held), divided, b.divide(weight, counts))


@rows.row("embedding_renorm")
def embedding_renorm(
    b: TorchBuilder, weight: Any, indices: Any, max_norm: float | None, norm_type: float = 2.0
) -> Any:
    if max_norm is None:
        return weight
    named = b.reshape(indices, shape=(product(indices.shape),))
    is_named = b.scatter_nd(
        b.zeros(shape=(weight.shape[0],), dtype="bool"),
        True,
        named,
        axes=(0,),
        reduce=None,
        include_self=True,
    )
    scaled = b.stop_gradient(renorm(b, weight, norm_type, 0, max_norm))
    is_named = b.reshape(is_named, shape=(weight.shape[0], *(1,) * (weight.ndim - 1)))
    # This is 0, with the gradient of the weight.
    passing = b.subtract(weight, b.stop_gradient(weight))
    # ``passing`` of an infinite weight is NaN, so only what has changed is replaced.
    is_changed = b.logical_and(is_named, b.not_equal(scaled, b.stop_gradient(weight)))
    return b.where(is_changed, b.add(scaled, passing), weight)


@rows.row("one_hot")
def one_hot(b: TorchBuilder, input: Any, num_classes: Any = -1) -> Any:
    # Without a number of classes, the largest index must stay that of the recorded call.
    if isinstance(num_classes, int) and num_classes == -1:
        num_classes = b.recorded[0].shape[-1]
        b.graph.guards.append(Guard(b.equal(b.max(input), int(num_classes) - 1), True, b.origin))
    return b.one_hot(input, num_classes=num_classes, dtype="int64")


@rows.row("nn.functional.embedding_bag")
def embedding_bag(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    padding_idx = _padding_row(b, weight, padding_idx)
    weight = embedding_renorm(b, weight, input, max_norm, norm_type)
    weight = _divided_by_frequency(b, weight, input) if scale_grad_by_freq else weight
    if input.ndim == 2 and padding_idx is None:
        # Bags of equal length are an axis, which needs no offsets.
        return _equal_bags(b, input, weight, mode, per_sample_weights)
    if input.ndim == 2:
        count, length = input.shape
        offsets = b.multiply(b.arange(stop=count, dtype=input.dtype), length)
        input, per_sample_weights = (
            x if x is None else b.reshape(x, shape=(count * length,)) for x in (input, per_sample_weights)
        )
    else:
        _expect_bags(b, offsets)
    inputs = optional(weight, input, b.cast(offsets, input.dtype), per_sample_weights)
    return b.embedding_bag(
        *inputs, mode=mode, include_last_offset=include_last_offset, padding_idx=padding_idx
    )


def _expect_bags(b: TorchBuilder, offsets: Any) -> None:
    first, starts, ends = (
        b.getitem(offsets, key=(part,)) for part in ((None, 1, 1), (None, -1, 1), (1, None, 1))
    )
    b.expect(b.logical_and(b.all(b.equal(first, 0)), b.all(b.less_equal(starts, ends))), True)


def _equal_bags(b: TorchBuilder, indices: Any, weight: Any, mode: str, per_sample_weights: Any) -> Any:
    found = b.embedding(weight, indices)
    if per_sample_weights is not None:
        found = b.multiply(found, b.reshape(per_sample_weights, shape=(*indices.shape, 1)))
    if mode == "max":
        return b.max(found, axis=1, first=True)
    return (b.sum if mode == "sum" else b.mean)(found, axis=1)


@rows.row("scaled_dot_product_attention")
def scaled_dot_product_attention(
    b: TorchBuilder,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    mask = attn_mask if attn_mask is None or attn_mask.dtype == "bool" else b.cast(attn_mask, query.dtype)
    causal, scale = bool(is_causal), _scale(b, query.shape[-1], scale)
    # The canonical operation has one number of groups for keys and values.
    if enable_gqa and (dropout_p or key.shape[-3] != value.shape[-3]):
        key, value = (_head_for_each(b, x, query.shape[-3]) for x in (key, value))
        enable_gqa = False
    if not dropout_p:
        inputs = optional(query, key, value, mask)
        return b.scaled_dot_product_attention(*inputs, is_causal=causal, scale=scale, enable_gqa=enable_gqa)
    random_key = b.next_key()
    return b.scaled_dot_product_attention(
        query, key, value, mask, random_key, is_causal=causal, scale=scale, dropout_rate=float(dropout_p)
    )


def _scale(b: TorchBuilder, width: Any, scale: float | None) -> float | None:
    # The default is undefined for a width of 0, where all scores are 0, so any factor works.
    if scale is not None or hint_of(width) > 0:
        return scale
    b.fix(width)
    return 1.0


def _head_for_each(b: TorchBuilder, x: Any, heads: Any) -> Any:
    *batch, shared, tokens, width = x.shape
    one = b.reshape(x, shape=(*batch, shared, 1, tokens, width))
    return b.reshape(
        b.broadcast_to(one, shape=(*batch, shared, heads // shared, tokens, width)),
        shape=(*batch, heads, tokens, width),
    )


@rows.row("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention_for_cpu(
    b: TorchBuilder,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    output = scaled_dot_product_attention(b, query, key, value, attn_mask, dropout_p, is_causal, scale)
    axes = (*range(key.ndim - 2), key.ndim - 1, key.ndim - 2)
    factor = _scale(b, query.shape[-1], scale)
    # The kernel accumulates scores in this dtype, whatever that of the operands.
    query, key = (b.cast(x, b.recorded[1].dtype) for x in (query, key))
    scores = b.matmul(query, b.permute_dims(key, axes=axes))
    scores = (
        b.multiply(scores, factor)
        if factor is not None
        else b.divide(scores, b.sqrt(b.array(query.shape[-1], scores.dtype)))
    )
    if attn_mask is not None:
        scores = b.add(scores, b.cast(attn_mask, scores.dtype))
    if is_causal:
        kept = b.tril(b.ones(shape=scores.shape[-2:], dtype="bool"))
        scores = b.where(kept, scores, b.array(-math.inf, scores.dtype))
    return output, b.logsumexp(scores, axis=(scores.ndim - 1,))


# -------------------------------------------------------------------------------------- nn.MultiheadAttention
@rows.row("multi_head_attention_forward")
def multi_head_attention_forward(
    b: TorchBuilder,
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: Any,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    batched = query.ndim == 3
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    arrays = (query, key, value) if batched else _with_batch(b, query, key, value)
    q, k, v = _projected(b, arrays, weights, in_proj_bias)
    batch = q.shape[1]
    if bias_k is not None:
        k, v = _with_token(b, k, bias_k, batch), _with_token(b, v, bias_v, batch)
    q, k, v = (
        _heads(b, q, num_heads),
        _heads(b, k, num_heads, static_k, batch),
        _heads(b, v, num_heads, static_v, batch),
    )
    if add_zero_attn:
        k, v = (_longer(b, x, b.zeros(shape=(*x.shape[:2], 1, x.shape[3]), dtype=x.dtype), 2) for x in (k, v))
    # torch then ignores ``attn_mask``, which has to be causal.
    causal = is_causal and key_padding_mask is None and not need_weights
    hidden = (
        None if causal else _hidden(b, attn_mask, key_padding_mask, q, (bias_k is not None) + add_zero_attn)
    )
    rate = dropout_p if training else 0.0
    if need_weights:
        attended, shown = _with_weights(b, q, k, v, hidden, rate)
        shown = b.mean(shown, axis=1) if average_attn_weights else shown
    else:
        attended, shown = scaled_dot_product_attention(b, q, k, v, _kept(b, hidden), rate, causal), None
    output = b.linear(*optional(_merged(b, attended, q), out_proj_weight, out_proj_bias))
    return (output, shown) if batched else _without_batch(b, output, shown)


def _with_batch(b: TorchBuilder, *arrays: Any) -> tuple[Any, ...]:
    # Query, key and value that are one array stay one, because they are then projected by one product.
    made = {id(x): b.reshape(x, shape=(x.shape[0], 1, x.shape[1])) for x in arrays}
    return tuple(made[id(x)] for x in arrays)


def _without_batch(b: TorchBuilder, output: Any, weights: Any) -> tuple[Any, Any]:
    return (
        b.reshape(output, shape=(output.shape[0], output.shape[2])),
        None if weights is None else b.reshape(weights, shape=weights.shape[1:]),
    )


def _projected(b: TorchBuilder, arrays: tuple[Any, ...], weights: Any, bias: Any) -> tuple[Any, ...]:
    width = bias.shape[0] // 3 if bias is not None else None
    if not isinstance(weights, tuple):
        width = weights.shape[0] // 3
        if arrays[0] is arrays[1] is arrays[2]:
            packed = b.linear(*optional(arrays[0], weights, bias))
            return tuple(b.unstack(b.reshape(packed, shape=(*packed.shape[:2], 3, width)), axis=2, count=3))
        weights = b.unstack(b.reshape(weights, shape=(3, width, weights.shape[1])), axis=0, count=3)
    biases = (None,) * 3 if bias is None else b.unstack(b.reshape(bias, shape=(3, width)), axis=0, count=3)
    return tuple(
        b.linear(*optional(x, weight, part)) for x, weight, part in zip(arrays, weights, biases, strict=True)
    )


def _longer(b: TorchBuilder, x: Any, more: Any, axis: int) -> Any:
    return b.concat(x, more, axis=axis)


def _with_token(b: TorchBuilder, x: Any, bias: Any, batch: Any) -> Any:
    return _longer(b, x, b.broadcast_to(bias, shape=(1, batch, bias.shape[-1])), 0)


def _heads(b: TorchBuilder, x: Any, heads: int, static: Any = None, batch: Any = None) -> Any:
    """Return ``x``, or ``static`` if it is given, as [batch, heads, tokens, features of a head]."""
    if static is not None:
        return b.reshape(static, shape=(batch, heads, *static.shape[1:]))
    split = b.reshape(x, shape=(*x.shape[:2], heads, x.shape[2] // heads))
    return b.permute_dims(split, axes=(1, 2, 0, 3))


def _merged(b: TorchBuilder, attended: Any, q: Any) -> Any:
    batch, heads, tokens, width = q.shape
    return b.reshape(b.permute_dims(attended, axes=(2, 0, 1, 3)), shape=(tokens, batch, heads * width))


def _hidden(b: TorchBuilder, mask: Any, padding: Any, q: Any, columns: int) -> Any:
    """Combine ``mask`` and ``padding`` to one mask that broadcasts to the scores, or return None for neither.

    Boolean masks are True where attention is not allowed, and others are added to the scores.
    """
    batch, heads = q.shape[:2]
    masks = []
    if mask is not None:
        masks.append(mask if mask.ndim == 2 else b.reshape(mask, shape=(batch, heads, *mask.shape[1:])))
    if padding is not None:
        count = padding.shape[0] if padding.ndim == 2 else 1
        masks.append(b.reshape(padding, shape=(count, 1, 1, padding.shape[-1])))
    if any(item.dtype != "bool" for item in masks):
        masks = [_added(b, item, q.dtype) for item in masks]
    if not masks:
        return None
    merged = masks[0] if len(masks) == 1 else (b.logical_or if masks[0].dtype == "bool" else b.add)(*masks)
    if columns:
        merged = b.concat(
            merged, b.zeros(shape=(*merged.shape[:-1], columns), dtype=merged.dtype), axis=merged.ndim - 1
        )
    return merged


def _added(b: TorchBuilder, mask: Any, dtype: str) -> Any:
    return b.where(mask, b.array(float("-inf"), dtype), 0.0) if mask.dtype == "bool" else b.cast(mask, dtype)


def _kept(b: TorchBuilder, hidden: Any) -> Any:
    return b.logical_not(hidden) if hidden is not None and hidden.dtype == "bool" else hidden


def _with_weights(b: TorchBuilder, q: Any, k: Any, v: Any, hidden: Any, rate: float) -> tuple[Any, Any]:
    scores = b.matmul(b.multiply(q, q.shape[3] ** -0.5), b.permute_dims(k, axes=(0, 1, 3, 2)))
    if hidden is not None:
        scores = b.where(hidden, float("-inf"), scores) if hidden.dtype == "bool" else b.add(scores, hidden)
    weights = b.softmax(scores, axis=3)
    if rate > 0:
        weights = b.dropout(b.next_key(), weights, rate=rate)
    return b.matmul(weights, v), weights
