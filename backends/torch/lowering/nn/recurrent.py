"""Recurrent layers in torch: its own, where no sequence ends early."""

from __future__ import annotations

from typing import Any

from ....calls import call
from ....rows import Operand
from ..table import rows


def _layer(text: str, state: list[Operand], x: Operand, weights: tuple[Operand | None, ...], reverse: bool) -> str:
    """A call of the helper ``whole_layer``."""
    held = ", ".join(weight for weight in weights if weight is not None)
    start = f"({', '.join(state)}{',' if len(state) == 1 else ''})"
    return call("whole_layer", text, x, start, f"[{held}]", weights[2] is not None, reverse=reverse or None)


def _lstm_runs_whole(*arrays: Any, **params: Any) -> bool:
    return _is_whole(*arrays[5:])


def _runs_whole(*arrays: Any, **params: Any) -> bool:
    bias_ih, bias_hh, length = (*arrays[4:], None, None, None)[:3]
    return _is_whole(bias_ih, bias_hh, None, length)


def _is_whole(bias_ih: Any = None, bias_hh: Any = None, weight_hr: Any = None, length: Any = None) -> bool:
    """torch's layers know no ``length``, and take two biases or none."""
    return length is None and (bias_ih is None) == (bias_hh is None)


@rows.row("lstm", only=_lstm_runs_whole)
def _lstm(x: Operand, hidden: Operand, cell: Operand, *weights: Operand | None, reverse: bool) -> str:
    return _layer("torch.lstm", [hidden, cell], x, (*weights, None, None)[:5], reverse)


@rows.row("gru", only=_runs_whole)
def _gru(x: Operand, hidden: Operand, *weights: Operand | None, reverse: bool) -> str:
    return _layer("torch.gru", [hidden], x, (*weights, None, None)[:4], reverse)


@rows.row("rnn", only=_runs_whole)
def _rnn(x: Operand, hidden: Operand, *weights: Operand | None, activation: str, reverse: bool) -> str:
    return _layer(f"torch.rnn_{activation}", [hidden], x, (*weights, None, None)[:4], reverse)
