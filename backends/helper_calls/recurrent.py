"""Recurrent layers."""

from __future__ import annotations

from ..rows import Operand
from .table import rows


def _layer(name: str) -> None:
    @rows.row(name)
    def row(*arrays: Operand | None, reverse: bool, activation: str = "tanh") -> str:
        inputs = [str(item) for item in arrays]
        options = [f"activation={activation!r}"] if activation != "tanh" else []
        options += ["reverse=True"] if reverse else []
        return f"{name}({', '.join(inputs + options)})"


for _name in ("lstm", "gru", "rnn"):
    _layer(_name)
