"""Layers that are one matrix product."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ..registry import ArraySpec, declare, decomposition
from ..rules import broadcast, dtype_of, is_symbolic

_SECTION = "linear layers"


@declare(_SECTION)
def linear(x: ArraySpec, weight: ArraySpec, bias: ArraySpec | None = None, /) -> ArraySpec:
    """``x @ weight.T + bias`` with weight [out, in]; a weight [in] gives the product without its last axis."""
    inner = (x.shape[-1], weight.shape[-1])
    if inner[0] != inner[1] and not is_symbolic(*inner):
        raise InvalidGraph(f"linear of {x} with weight {weight}: {inner[0]} features meet {inner[1]}")
    shape = x.shape[:-1] + weight.shape[:-1]
    return ArraySpec(shape if bias is None else broadcast(shape, bias.shape), dtype_of(x, weight, bias))


@decomposition("linear")
def _linear(b: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    product = b.matmul(x, b.permute_dims(weight, axes=(1, 0)) if weight.ndim == 2 else weight)
    return product if bias is None else b.add(product, bias)


@declare(_SECTION)
def bilinear(x1: ArraySpec, x2: ArraySpec, weight: ArraySpec, bias: ArraySpec | None = None, /) -> ArraySpec:
    """``x1[..., i] * weight[o, i, j] * x2[..., j]`` summed over i and j, plus bias[o]."""
    return ArraySpec((*broadcast(x1.shape[:-1], x2.shape[:-1]), weight.shape[0]), dtype_of(x1, x2, weight, bias))


@declare(_SECTION)
def grouped_matmul(x: ArraySpec, weight: ArraySpec, offsets: ArraySpec, /) -> ArraySpec:
    """Rows ``offsets[g - 1]:offsets[g]`` of x [rows, in] times matrix ``g`` of weight [groups, in, out]; rows after all of them give 0."""
    return ArraySpec((x.shape[0], weight.shape[2]), dtype_of(x, weight))
