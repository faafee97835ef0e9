"""Losses."""

from __future__ import annotations

from typing import Any

from ..rows import Operand
from .table import rows

rows.table(
    {
        "binary_cross_entropy": "binary_cross_entropy({probability}, {target})",
        "ctc_loss": "ctc_loss({log_probabilities}, {targets}, {input_lengths}, {target_lengths}, {blank=})",
    }
)
_DEFAULTS = {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}


def _over_classes(name: str) -> None:
    @rows.row(name)
    def row(scores: Operand, target: Operand, weight: Operand | None = None, **options: Any) -> str:
        inputs = [str(item) for item in (scores, target, weight) if item is not None]
        changed = [f"{key}={value!r}" for key, value in options.items() if value != _DEFAULTS[key]]
        return f"{name}({', '.join(inputs + changed)})"


_over_classes("nll_loss")
_over_classes("cross_entropy")
