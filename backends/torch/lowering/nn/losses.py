"""Losses in torch."""

from __future__ import annotations

from typing import Any

from ....calls import call, unless
from ....rows import Operand
from ..table import rows
from ..texts import index

_DEFAULTS = {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}

rows.table({"binary_cross_entropy": 'F.binary_cross_entropy({probability}, {target}, reduction="none")'})


def _over_classes(name: str) -> None:
    @rows.row(name)
    def row(scores: Operand, target: Operand, weight: Operand | None = None, **options: Any) -> str:
        return call(f"F.{name}", scores, index(target), weight, **{key: unless(value, _DEFAULTS[key]) for key, value in options.items()})


_over_classes("nll_loss")
_over_classes("cross_entropy")


@rows.row("ctc_loss")
def _ctc_loss(log_probabilities: Operand, targets: Operand, input_lengths: Operand, target_lengths: Operand, *, blank: int) -> str:
    lengths = (index(targets), index(input_lengths), index(target_lengths))
    return call("F.ctc_loss", log_probabilities, *lengths, blank=unless(blank, 0), reduction="none")
