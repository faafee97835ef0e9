"""Embeddings in TensorFlow. ``tf.gather`` on a CPU raises for an index that is too large, as torch does."""

from __future__ import annotations

from ..table import rows

rows.table(
    {
        "embedding": "tf.gather({weight}, {indices})",
        "one_hot": "tf.one_hot({indices}, {num_classes}, dtype={dtype})",
    }
)
