"""Linear layers, embeddings and attention."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import Dim
from ..registry import ArraySpec, declare, decomposition
from ..rules import broadcast, dtype_of, is_symbolic

_LINEAR = "linear layers"


@declare(_LINEAR)
def linear(x: ArraySpec, weight: ArraySpec, bias: ArraySpec | None = None, /) -> ArraySpec:
    """Compute ``x @ weight.T + bias`` with a weight [out, in].

    For a weight [in] the result lacks the last axis. ``bias`` may be omitted.
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
    """Sum ``x1[..., i] * weight[o, i, j] * x2[..., j]`` over i and j, and add bias[o]."""
    return ArraySpec(
        (*broadcast(x1.shape[:-1], x2.shape[:-1]), weight.shape[0]), dtype_of(x1, x2, weight, bias)
    )


@declare(_LINEAR)
def grouped_matmul(x: ArraySpec, weight: ArraySpec, offsets: ArraySpec, /) -> ArraySpec:
    """Multiply groups of rows of ``x`` [rows, in] by the matrices of ``weight`` [groups, in, out].

    Group ``g`` has the rows ``offsets[g - 1]:offsets[g]``, the first one those before ``offsets[0]``. Rows
    after the last offset become 0.
    """
    return ArraySpec((x.shape[0], weight.shape[2]), dtype_of(x, weight))


_EMBEDDING = "embedding"


@declare(_EMBEDDING)
def embedding(weight: ArraySpec, indices: ArraySpec, /, *, padding_idx: int | None = None) -> ArraySpec:
    """Take the rows ``indices`` of ``weight`` [rows, width].

    Indices lie in [0, rows): sources raise an error for others, and a target may return NaN. The row
    ``padding_idx`` is taken as any other, but gets no gradient.
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
    """Return 1 at position ``indices`` of a new last axis of size ``num_classes``, and 0 elsewhere."""
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

    ``mask`` is added to the scores. A mask of bools keeps the scores where it is True instead, and a row
    without any kept score is 0. ``is_causal`` keeps the scores whose column is at most their row.
    ``scale`` is 1 / sqrt(features) if it is None. With ``enable_gqa``, groups of consecutive query heads
    (axis -3) share a head of key and value. With a ``random_key`` (and no groups), a share
    ``dropout_rate`` of the weights is dropped before they are multiplied by the values.
    """
    # There are fewer heads of key and value than of query, so the axis of heads does not broadcast.
    if enable_gqa:
        batch = (*broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]), query.shape[-3])
    else:
        batch = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    return ArraySpec((*batch, query.shape[-2], value.shape[-1]), dtype_of(query, key, value))
