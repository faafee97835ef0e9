"""Attention."""

from __future__ import annotations

from ..registry import ArraySpec, declare
from ..rules import broadcast, dtype_of

_SECTION = "attention"


@declare(_SECTION)
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
    """``softmax(query @ key.T * scale + mask) @ value`` over arrays [..., tokens, features].

    ``mask`` is added to the scores, or, if bool, keeps those where it is True; a row without any kept score gives 0.
    ``is_causal`` keeps scores whose column is at most their row. ``scale`` is 1 / sqrt(features) if None.
    ``enable_gqa`` lets groups of consecutive query heads (axis -3) share a head of key and value.
    With a ``random_key`` (and no groups), a share ``dropout_rate`` of the weights is dropped before they meet the values.
    """
    if enable_gqa:
        batch = (*broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]), query.shape[-3])
    else:
        batch = broadcast(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    return ArraySpec((*batch, query.shape[-2], value.shape[-1]), dtype_of(query, key, value))
