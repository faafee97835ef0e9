"""Samples of attention, with masks of all kinds, scores, and dropout."""

from __future__ import annotations

from tests.frontends.keras.layer_sample import Array, listed, samples

from .core import BOTH

QUERY, VALUE, KEY = Array((2, 4, 8), (3, 5, 8)), Array((2, 6, 8), (3, 3, 8)), Array((2, 6, 8), (3, 3, 8))
OF_QUERY, OF_VALUE = Array((2, 4), (3, 5), dtype="bool"), Array((2, 6), (3, 3), dtype="bool")
WHICH = Array((2, 4, 6), (3, 5, 3), dtype="bool")
HEADS = {"num_heads": 2, "key_dim": 3}
GROUPED = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}

SAMPLES = [
    *samples("Attention", (QUERY, VALUE), {}, {"use_scale": True}, {"score_mode": "concat"}, call=listed),
    *samples("Attention", (QUERY, VALUE, KEY), {}, call=listed, return_attention_scores=True),
    *samples("Attention", (QUERY, VALUE), {}, call=listed, use_causal_mask=True),
    *samples(
        "Attention",
        (QUERY, VALUE, OF_QUERY, OF_VALUE),
        {},
        call=lambda layer, q, v, *mask: layer([q, v], mask=list(mask)),
    ),
    *samples("Attention", (QUERY, VALUE), {"dropout": 0.3, "seed": 2}, call=listed, training=BOTH),
    *samples("AdditiveAttention", (QUERY, VALUE), {}, {"use_scale": False}, call=listed),
    *samples(
        "AdditiveAttention",
        (QUERY, VALUE, KEY),
        {},
        call=listed,
        return_attention_scores=True,
        use_causal_mask=True,
    ),
    *samples(
        "AdditiveAttention",
        (QUERY, VALUE, OF_QUERY, OF_VALUE),
        {},
        call=lambda layer, q, v, *mask: layer([q, v], mask=list(mask)),
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE),
        HEADS,
        {**HEADS, "value_dim": 5, "use_bias": False},
        {**HEADS, "output_shape": 5},
        {**HEADS, "flash_attention": False},
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE),
        {**HEADS, "dtype": "mixed_bfloat16"},
        {**HEADS, "dtype": "float64"},
        {**HEADS, "use_gate": True},
        {**HEADS, "sliding_window": 2},
    ),
    *samples("MultiHeadAttention", (QUERY, VALUE, KEY), HEADS, return_attention_scores=True),
    *samples("MultiHeadAttention", (QUERY, QUERY), HEADS, use_causal_mask=True),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE, WHICH),
        HEADS,
        call=lambda layer, q, v, mask: layer(q, v, attention_mask=mask),
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE, OF_QUERY, OF_VALUE),
        HEADS,
        call=lambda layer, q, v, of_q, of_v: layer(q, v, query_mask=of_q, value_mask=of_v),
    ),
    *samples("MultiHeadAttention", (QUERY, VALUE), {**HEADS, "dropout": 0.3, "seed": 2}, training=BOTH),
    *samples(
        "MultiHeadAttention",
        (Array((2, 3, 4, 8), (3, 4, 3, 8)),) * 2,
        {**HEADS, "attention_axes": (2,)},
        {**HEADS, "attention_axes": (1, 2)},
    ),
    *samples(
        "GroupQueryAttention",
        (QUERY, VALUE),
        GROUPED,
        {**GROUPED, "use_bias": False},
        {**GROUPED, "flash_attention": False},
        {**GROUPED, "use_gate": True},
    ),
    *samples("GroupQueryAttention", (QUERY, QUERY), GROUPED, use_causal_mask=True),
    *samples("GroupQueryAttention", (QUERY, VALUE, KEY), GROUPED, return_attention_scores=True),
    *samples(
        "GroupQueryAttention",
        (QUERY, VALUE, WHICH),
        GROUPED,
        call=lambda layer, q, v, mask: layer(q, v, attention_mask=mask),
    ),
    *samples("GroupQueryAttention", (QUERY, VALUE), {**GROUPED, "dropout": 0.3, "seed": 2}, training=BOTH),
    *samples(
        "Attention",
        (QUERY, VALUE),
        {"dtype": "mixed_bfloat16"},
        {"dtype": "float64", "score_mode": "concat"},
        call=listed,
    ),
    *samples(
        "Attention",
        (QUERY, VALUE),
        {"score_mode": "concat", "use_scale": True},
        call=listed,
        return_attention_scores=True,
    ),
    *samples(
        "Attention",
        (QUERY, VALUE, OF_QUERY),
        {},
        call=lambda layer, q, v, mask: layer([q, v], mask=[mask, None]),
    ),
    *samples(
        "Attention",
        (QUERY, VALUE, OF_VALUE),
        {},
        call=lambda layer, q, v, mask: layer(
            [q, v], mask=[None, mask], use_causal_mask=True, return_attention_scores=True
        ),
    ),
    *samples(
        "Attention", (Array((2, 3, 4, 8), (3, 2, 5, 8)), Array((2, 3, 6, 8), (3, 2, 4, 8))), {}, call=listed
    ),
    *samples("AdditiveAttention", (QUERY, VALUE), {"dropout": 0.3, "seed": 2}, call=listed, training=BOTH),
    *samples("AdditiveAttention", (QUERY, VALUE), {"dtype": "mixed_float16"}, call=listed),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE, KEY),
        {**HEADS, "value_dim": 5, "output_shape": (2, 3)},
        return_attention_scores=True,
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, QUERY),
        {**HEADS, "sliding_window": 2},
        {**HEADS, "use_gate": True},
        use_causal_mask=True,
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE, KEY, OF_QUERY, OF_VALUE, OF_VALUE, WHICH),
        {**HEADS, "dtype": "float64"},
        call=lambda layer, q, v, k, of_q, of_v, of_k, which: layer(
            q,
            v,
            k,
            query_mask=of_q,
            value_mask=of_v,
            key_mask=of_k,
            attention_mask=which,
            return_attention_scores=True,
        ),
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, QUERY, OF_QUERY),
        HEADS,
        {**HEADS, "flash_attention": False, "dtype": "mixed_float16"},
        call=lambda layer, q, v, of_q: layer(q, v, query_mask=of_q, use_causal_mask=True),
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE, Array((2, 2, 4, 6), (3, 2, 5, 3), dtype="bool")),
        HEADS,
        call=lambda layer, q, v, which: layer(q, v, attention_mask=which),
    ),
    *samples(
        "MultiHeadAttention",
        (Array((2, 3, 4, 8), (3, 4, 3, 8)), Array((2, 3, 5, 8), (3, 4, 2, 8))),
        {**HEADS, "attention_axes": 2, "use_bias": False},
        return_attention_scores=True,
    ),
    *samples(
        "MultiHeadAttention",
        (QUERY, VALUE),
        {**HEADS, "dropout": 0.3, "seed": 2},
        training=BOTH,
        return_attention_scores=True,
    ),
    *samples(
        "GroupQueryAttention",
        (QUERY, QUERY),
        {**GROUPED, "sliding_window": 2},
        {**GROUPED, "dtype": "mixed_bfloat16"},
    ),
    *samples(
        "GroupQueryAttention",
        (QUERY, QUERY),
        {**GROUPED, "use_gate": True, "use_bias": False},
        use_causal_mask=True,
    ),
    *samples(
        "GroupQueryAttention",
        (QUERY, VALUE),
        {**GROUPED, "num_key_value_heads": 1},
        {**GROUPED, "num_key_value_heads": 4},
    ),
    *samples(
        "GroupQueryAttention",
        (QUERY, VALUE, KEY, OF_QUERY, OF_VALUE, OF_VALUE),
        {**GROUPED, "dtype": "float64"},
        call=lambda layer, q, v, k, of_q, of_v, of_k: layer(
            q, v, k, query_mask=of_q, value_mask=of_v, key_mask=of_k
        ),
    ),
]
