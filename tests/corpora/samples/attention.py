"""Samples of attention, linear layers and embeddings."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import Array, ErrorSample, Sample, array, bools, ints

_attend = F.scaled_dot_product_attention


def _qkv(*batch: int, length: int = 4, keys: int | None = None, width: int = 8) -> tuple[Array, Array, Array]:
    keys = keys or length
    return array(*batch, length, width), array(*batch, keys, width), array(*batch, keys, width)


def _hidden_rows() -> torch.Tensor:
    """Return a mask whose second row masks everything."""
    return torch.tensor([[True, True, False, True], [False] * 4, [True] * 4, [False, False, False, True]])


_ATTENTION = [
    Sample(_attend, _qkv(2, 3), other=_qkv(1, 3, length=6)),
    Sample(_attend, _qkv(2), other=_qkv(4, length=3)),
    Sample(_attend, _qkv()),
    Sample(_attend, _qkv(2, 3, 2, length=3, keys=5)),
    Sample(_attend, (*_qkv(2, 3, keys=6), bools(4, 6)), other=(*_qkv(1, 3, length=2, keys=5), bools(2, 5))),
    Sample(_attend, (*_qkv(2, 3, keys=6), bools(2, 1, 4, 6)), other=(*_qkv(1, 3, keys=7), bools(1, 1, 4, 7))),
    Sample(_attend, (*_qkv(2, 3, keys=6), array(2, 3, 4, 6))),
    Sample(_attend, (*_qkv(2, 3), _hidden_rows()), name="sdpa-hidden-rows"),
    Sample(
        _attend, (array(2, 4, 0), array(2, 5, 0), array(2, 5, 3)), other=_qkv(2), name="sdpa-without-width"
    ),
    Sample(
        _attend,
        _qkv(2),
        other=(array(2, 4, 0), array(2, 5, 0), array(2, 5, 3)),
        name="sdpa-later-without-width",
    ),
    Sample(
        _attend,
        _qkv(2),
        other=(array(2, 4, 8), array(2, 0, 8), array(2, 0, 8)),
        name="sdpa-later-without-keys",
    ),
    Sample(
        _attend,
        (*_qkv(2, 3), torch.zeros(4, 4).masked_fill(~_hidden_rows(), -float("inf"))),
        name="sdpa-minus-infinity",
    ),
    Sample(_attend, _qkv(2, 3), {"is_causal": True}, other=_qkv(2, 3, length=7)),
    Sample(_attend, _qkv(2, 3, length=3, keys=5), {"is_causal": True}),
    Sample(_attend, _qkv(2, 3, length=5, keys=3), {"is_causal": True}),
    Sample(_attend, _qkv(2, 3), {"scale": 0.3}),
    Sample(_attend, (array(2, 6, 4, 8), array(2, 2, 5, 8), array(2, 2, 5, 8)), {"enable_gqa": True}),
    Sample(
        _attend,
        (array(2, 6, 4, 8), array(2, 2, 4, 8), array(2, 2, 4, 8)),
        {"enable_gqa": True, "is_causal": True},
    ),
    Sample(
        _attend,
        (array(2, 6, 4, 8), array(2, 2, 5, 8), array(2, 2, 5, 8), bools(2, 1, 4, 5)),
        {"enable_gqa": True},
    ),
    Sample(
        _attend,
        (array(2, 6, 4, 8), array(2, 2, 5, 8), array(2, 2, 5, 8), array(2, 6, 4, 5)),
        {"enable_gqa": True},
    ),
    Sample(
        _attend, (array(2, 6, 4, 8), array(2, 2, 5, 8), array(2, 2, 5, 8), bools(4, 5)), {"enable_gqa": True}
    ),
    Sample(
        _attend, (array(2, 6, 4, 8), array(2, 2, 5, 8), array(2, 3, 5, 8), bools(4, 5)), {"enable_gqa": True}
    ),
    Sample(_attend, (array(2, 3, 4, 8), array(2, 3, 5, 8), array(2, 3, 5, 6)), name="sdpa-other-width"),
    Sample(_attend, tuple(array(2, 3, 4, 8, dtype="bfloat16") for _ in range(3))),
    Sample(_attend, (array(1, 1, 0, 8), array(1, 1, 3, 8), array(1, 1, 3, 8)), name="sdpa-no-queries"),
]


def multi_head(
    query: Any,
    key: Any,
    value: Any,
    in_weight: Any,
    in_bias: Any,
    out_weight: Any,
    out_bias: Any,
    *,
    heads: int = 2,
    **options: Any,
) -> Any:
    """Call ``nn.functional.multi_head_attention_forward`` with its rarely used arguments as keywords."""
    rare = [
        options.pop(name, default)
        for name, default in (("bias_k", None), ("bias_v", None), ("add_zero_attn", False))
    ]
    return F.multi_head_attention_forward(
        query,
        key,
        value,
        query.shape[-1],
        heads,
        in_weight,
        in_bias,
        *rare,
        0.0,
        out_weight,
        out_bias,
        training=False,
        **options,
    )


_WEIGHTS = (array(24, 8), array(24), array(8, 8), array(8))
_SELF = (array(5, 3, 8), array(5, 3, 8), array(5, 3, 8), *_WEIGHTS)
_CROSS = (array(5, 3, 8), array(6, 3, 8), array(6, 3, 8), *_WEIGHTS)


def self_attention(x: Any, *weights: Any, **options: Any) -> Any:
    """Query, key and value are the same array, so that torch computes their projections as one product."""
    return multi_head(x, x, x, *weights, **options)


_MULTI_HEAD = [
    Sample(multi_head, _CROSS, other=(array(2, 4, 8), array(7, 4, 8), array(7, 4, 8), *_WEIGHTS)),
    Sample(multi_head, _CROSS, {"need_weights": False}),
    Sample(self_attention, (array(5, 3, 8), *_WEIGHTS), other=(array(4, 2, 8), *_WEIGHTS)),
    Sample(
        self_attention,
        (array(5, 8), *_WEIGHTS),
        other=(array(4, 8), *_WEIGHTS),
        name="self_attention-unbatched",
    ),
    Sample(
        self_attention,
        (array(5, 3, 8), *_WEIGHTS),
        {"need_weights": False, "attn_mask": torch.ones(5, 5).triu(1).bool(), "is_causal": True},
    ),
    Sample(
        self_attention,
        (array(5, 3, 8), *_WEIGHTS),
        {"need_weights": False, "attn_mask": torch.ones(5, 5).triu(1).bool()},
    ),
    Sample(
        self_attention,
        (array(5, 3, 8), *_WEIGHTS),
        {"attn_mask": torch.ones(5, 5).triu(1).bool(), "average_attn_weights": False},
    ),
    Sample(multi_head, _CROSS, {"attn_mask": torch.linspace(-1, 1, 30).reshape(5, 6)}),
    Sample(
        multi_head, _CROSS, {"attn_mask": torch.linspace(-1, 1, 180).reshape(6, 5, 6), "need_weights": False}
    ),
    Sample(
        multi_head, _CROSS, {"key_padding_mask": torch.arange(6).expand(3, 6) > torch.tensor([[2], [5], [3]])}
    ),
    Sample(
        multi_head,
        _CROSS,
        {
            "key_padding_mask": torch.arange(6).expand(3, 6) > torch.tensor([[2], [5], [3]]),
            "need_weights": False,
        },
    ),
    Sample(
        multi_head,
        _CROSS,
        {
            "key_padding_mask": torch.arange(6).expand(3, 6) > 3,
            "attn_mask": torch.ones(5, 6).triu(2).bool(),
            "need_weights": False,
        },
    ),
    Sample(multi_head, _SELF, {"add_zero_attn": True, "attn_mask": torch.ones(5, 5).triu(1).bool()}),
    Sample(
        multi_head,
        _SELF,
        {"bias_k": torch.ones(1, 1, 8), "bias_v": torch.zeros(1, 1, 8), "add_zero_attn": True},
    ),
    Sample(
        multi_head,
        (array(5, 3, 8), array(6, 3, 4), array(6, 3, 6), None, array(24), array(8, 8), array(8)),
        {
            "use_separate_proj_weight": True,
            "q_proj_weight": torch.eye(8),
            "k_proj_weight": torch.ones(8, 4) / 3,
            "v_proj_weight": torch.ones(8, 6) / 5,
        },
        name="multi_head-separate-weights",
    ),
]

_LINEAR = [
    Sample(F.linear, (array(3, 4), array(5, 4), array(5)), other=(array(7, 4), array(5, 4), array(5))),
    Sample(F.linear, (array(2, 3, 4), array(5, 4)), other=(array(1, 6, 4), array(5, 4))),
    Sample(F.linear, (array(4), array(5, 4), array(5))),
    Sample(F.linear, (array(3, 4), array(4))),
    Sample(F.linear, (array(0, 4), array(5, 4), array(5))),
    Sample(F.linear, (array(3, 4, dtype="bfloat16"), array(5, 4, dtype="bfloat16"))),
    Sample(
        F.bilinear,
        (array(3, 4), array(3, 5), array(6, 4, 5), array(6)),
        other=(array(2, 4), array(2, 5), array(6, 4, 5), array(6)),
    ),
    Sample(F.bilinear, (array(2, 3, 4), array(2, 3, 5), array(6, 4, 5))),
    Sample(
        F.bilinear,
        (ints(3, 4, dtype="int8"), ints(3, 5, dtype="int8"), ints(6, 4, 5, dtype="int8")),
        name="bilinear-int8",
    ),
    Sample(
        F.grouped_mm, (array(6, 16), array(3, 16, 8)), {"offs": torch.tensor([2, 2, 6], dtype=torch.int32)}
    ),
    Sample(F.grouped_mm, (array(3, 4, 16), array(3, 16, 8))),
    Sample(
        F.grouped_mm,
        (array(2, 4, 16), array(16, 8)),
        {"offs": torch.tensor([4, 8], dtype=torch.int32)},
        name="grouped_mm-columns",
    ),
]


def renormalised(function: Any, indices: Any, weight: Any, **options: Any) -> Any:
    """Return the result and the weight, which the call rescales in place."""
    weight = weight.clone()
    return function(indices, weight, **options), weight


_EMBEDDING = [
    Sample(
        F.embedding,
        (ints(3, 4, low=0, high=10), array(10, 6)),
        other=(ints(5, 2, low=0, high=10), array(10, 6)),
    ),
    Sample(F.embedding, (ints(low=0, high=10), array(10, 6))),
    Sample(F.embedding, (ints(3, low=0, high=10, dtype="int32"), array(10, 6)), {"padding_idx": 0}),
    Sample(F.embedding, (ints(0, low=0, high=10), array(10, 6)), name="embedding-empty"),
    Sample(torch.embedding, (array(10, 6), ints(3, 4, low=0, high=10))),
    Sample(
        torch.embedding,
        (array(10, 6), ints(3, 4, low=0, high=10), 1, True),
        name="embedding-flag-behind-padding",
    ),
    *(
        Sample(
            renormalised,
            (function, ints(3, 2, low=0, high=5), array(8, 6)),
            options,
            other=(function, ints(2, 4, low=2, high=5), array(5, 3)),
        )
        for function, options in (
            (F.embedding, {"max_norm": 1.5}),
            (F.embedding_bag, {"max_norm": 2.0, "norm_type": 1.0, "mode": "sum"}),
        )
    ),
    *(
        Sample(
            # Almost everything in a row is dropped.
            lambda places, weight: F.embedding(places, weight * 1e5, max_norm=0.5),
            (ints(3, 2, low=0, high=5), array(8, 6, dtype=dtype)),
            other=(ints(2, 4, low=2, high=5), array(5, 3, dtype=dtype)),
            name=f"embedding of long rows-{dtype}",
        )
        for dtype in ("float32", "bfloat16")
    ),
    *(
        Sample(
            lambda places, weight, options=options: F.embedding(
                places, weight.masked_fill(weight > 0.5, math.inf), **options
            ),
            (ints(3, 2, low=0, high=5), array(8, 6)),
            other=(ints(2, 4, low=2, high=5), array(5, 3)),
            name=f"embedding of infinite elements-{name}",
        )
        for name, options in (
            ("max_norm", {"max_norm": math.inf}),
            ("scale_grad_by_freq", {"scale_grad_by_freq": True}),
        )
    ),
    Sample(F.one_hot, (ints(3, 4, low=0, high=5), 5), other=(ints(2, 7, low=0, high=5), 5)),
    Sample(F.one_hot, (ints(low=0, high=5),), {"num_classes": 6}),
    *(
        Sample(
            F.embedding_bag,
            (ints(4, 3, low=0, high=10), array(10, 6)),
            {"mode": mode},
            other=(ints(2, 5, low=0, high=10), array(10, 6)),
        )
        for mode in ("sum", "mean", "max")
    ),
    *(
        Sample(
            F.embedding_bag,
            (ints(7, low=0, high=10), array(10, 6), torch.tensor([0, 3, 3, 5])),
            {"mode": mode},
            name=f"embedding_bag-{mode}",
        )
        for mode in ("sum", "mean", "max")
    ),
    *(
        Sample(
            F.embedding_bag, (ints(4, 3, low=0, high=3), array(3, 6)), {"mode": mode, "padding_idx": padding}
        )
        for mode in ("sum", "mean", "max")
        for padding in (0, -1)
    ),
    Sample(
        F.embedding_bag,
        (ints(4, 3, low=0, high=10), array(10, 6)),
        {"mode": "sum", "per_sample_weights": torch.linspace(-1, 1, 12).reshape(4, 3)},
    ),
    Sample(
        F.embedding_bag,
        (ints(7, low=0, high=10), array(10, 6), torch.tensor([0, 3, 3, 7])),
        {"include_last_offset": True, "mode": "sum", "per_sample_weights": torch.linspace(-1, 1, 7)},
    ),
]

SAMPLES = [*_ATTENTION, *_MULTI_HEAD, *_LINEAR, *_EMBEDDING]

ERRORS: list[ErrorSample] = []
