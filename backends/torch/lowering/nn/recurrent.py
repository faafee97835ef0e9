"""Recurrent layers in torch: helpers, which run torch's own layer, or single steps where sequences have lengths of their own."""

from __future__ import annotations

from ....calls import call, unless
from ....rows import Operand
from ..table import rows


def _layer(name: str) -> None:
    @rows.row(name)
    def row(*arrays: Operand | None, reverse: bool, activation: str = "tanh") -> str:
        return call(name, *arrays, activation=unless(activation, "tanh"), reverse=reverse or None)


for _name in ("lstm", "gru", "rnn"):
    _layer(_name)
