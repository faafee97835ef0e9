"""Embeddings in numpy; an index outside of the table is an error."""

from __future__ import annotations

from ..table import rows

rows.table(
    {
        "embedding": "embedding({weight}, {indices})",
        "one_hot": "({indices}[..., None] == np.arange({num_classes})).astype({dtype})",
    }
)
