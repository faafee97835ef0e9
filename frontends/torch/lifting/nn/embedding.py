"""Embeddings of torch."""

from __future__ import annotations

from typing import Any

from .....ir import Guard
from .....sizes import product
from ..demands import assume
from ..distances import renorm
from ..table import TorchBuilder, rows
from .linear import optional


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
    """torch.nn.functional.embedding; with ``max_norm`` the rows that are taken are scaled down first, in the weight as well."""
    padding_idx = _padding_row(b, weight, padding_idx)
    weight = embedding_renorm(b, weight, input, max_norm, norm_type)
    return embedding(b, weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def _padding_row(b: TorchBuilder, weight: Any, place: int | None) -> int | None:
    """The row that means nothing, which is one of the table, counted from either end; given as counted from the first."""
    if place is None:
        return None
    assume(b, "ge", weight.shape[0], place + 1 if place >= 0 else -place)
    return place if place >= 0 else place + b.fix(weight.shape[0])


@rows.row("embedding")
def embedding(
    b: TorchBuilder, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """aten::embedding; all three options concern only gradients, and -1 is no row."""
    weight = _divided_by_frequency(b, weight, indices) if scale_grad_by_freq else weight
    return b.embedding(weight, indices, padding_idx=None if padding_idx < 0 else padding_idx)


def _divided_by_frequency(b: TorchBuilder, weight: Any, indices: Any) -> Any:
    """``weight``, whose rows get their gradients divided by how often ``indices`` name them."""
    named = b.reshape(indices, shape=(product(indices.shape),))
    counts = b.scatter_nd(b.zeros(shape=(weight.shape[0],), dtype="float32"), 1.0, named, axes=(0,), reduce="sum", include_self=True)
    counts = b.reshape(b.cast(b.maximum(counts, 1.0), weight.dtype), shape=(weight.shape[0], *(1,) * (weight.ndim - 1)))
    held = b.stop_gradient(weight)
    return b.add(held, b.divide(b.subtract(weight, held), counts))


@rows.row("embedding_renorm")
def embedding_renorm(b: TorchBuilder, weight: Any, indices: Any, max_norm: float | None, norm_type: float = 2.0) -> Any:
    """aten::embedding_renorm: rows that ``indices`` name, and whose norm is above ``max_norm``, scaled down to it; gradients pass as if
    they were not."""
    if max_norm is None:
        return weight
    named = b.reshape(indices, shape=(product(indices.shape),))
    is_named = b.scatter_nd(b.zeros(shape=(weight.shape[0],), dtype="bool"), True, named, axes=(0,), reduce=None, include_self=True)
    scaled = b.stop_gradient(renorm(b, weight, norm_type, 0, max_norm))
    is_named = b.reshape(is_named, shape=(weight.shape[0], *(1,) * (weight.ndim - 1)))
    passing = b.subtract(weight, b.stop_gradient(weight))  # 0, whose gradient is that of the weight
    return b.where(is_named, b.add(scaled, passing), weight)


@rows.row("one_hot")
def one_hot(b: TorchBuilder, input: Any, num_classes: Any = -1) -> Any:
    """torch.nn.functional.one_hot. Without ``num_classes`` the largest index decides: the graph holds while that stays the same."""
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
        return _equal_bags(b, input, weight, mode, per_sample_weights)
    if input.ndim == 2:
        count, length = input.shape
        offsets = b.multiply(b.arange(stop=count, dtype=input.dtype), length)
        input, per_sample_weights = (x if x is None else b.reshape(x, shape=(count * length,)) for x in (input, per_sample_weights))
    else:
        _expect_bags(b, offsets)
    inputs = optional(weight, input, b.cast(offsets, input.dtype), per_sample_weights)
    return b.embedding_bag(*inputs, mode=mode, include_last_offset=include_last_offset, padding_idx=padding_idx)


def _expect_bags(b: TorchBuilder, offsets: Any) -> None:
    """The first bag begins with the first index, and none before the one before it."""
    first, starts, ends = (b.getitem(offsets, key=(part,)) for part in ((None, 1, 1), (None, -1, 1), (1, None, 1)))
    b.expect(b.logical_and(b.all(b.equal(first, 0)), b.all(b.less_equal(starts, ends))), True)


def _equal_bags(b: TorchBuilder, indices: Any, weight: Any, mode: str, per_sample_weights: Any) -> Any:
    """Bags of one length: [bags, length] indices."""
    found = b.embedding(weight, indices)
    if per_sample_weights is not None:
        found = b.multiply(found, b.reshape(per_sample_weights, shape=(*indices.shape, 1)))
    if mode == "max":
        return b.max(found, axis=1, first=True)
    return (b.sum if mode == "sum" else b.mean)(found, axis=1)
