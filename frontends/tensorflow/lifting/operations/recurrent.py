"""Cells of recurrent layers that are one kernel."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from ....slicing import cut
from ..table import TensorFlowBuilder, rows


def _gates(b: TensorFlowBuilder, x: Value, h: Value, weight: Value, bias: Value, count: int) -> list[Value]:
    """Parts of the product of a weight with the input and the state side by side."""
    whole = b.add(b.matmul(b.concat(x, h, axis=1), weight), bias)
    size = whole.shape[1] // count
    return [cut(b, whole, 1, place * size, (place + 1) * size) for place in range(count)]


@rows.row("LSTMBlockCell")
def lstm_cell(
    b: TensorFlowBuilder, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b_: Any,
    *, forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False, **_: Any,
) -> Any:  # fmt: skip
    """The gates, the state and the output of one step."""
    enter, new, forget, leave = _gates(b, x, h_prev, w, b_, 4)

    def seen(gate: Value, state: Value, weight: Value) -> Any:
        return b.sigmoid(b.add(gate, b.multiply(state, weight)) if use_peephole else gate)

    enter, new = seen(enter, cs_prev, wci), b.tanh(new)
    forget = seen(b.add(forget, float(forget_bias)), cs_prev, wcf)
    state = b.add(b.multiply(new, enter), b.multiply(cs_prev, forget))
    state = b.clip(state, -float(cell_clip), float(cell_clip)) if cell_clip > 0 else state
    leave, shown = seen(leave, state, wco), b.tanh(state)
    return enter, state, forget, leave, new, shown, b.multiply(shown, leave)


@rows.row("GRUBlockCell")
def gru_cell(b: TensorFlowBuilder, x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, **_: Any) -> Any:
    """The gates, the candidate and the state of one step."""
    reset, update = (b.sigmoid(gate) for gate in _gates(b, x, h_prev, w_ru, b_ru, 2))
    (inner,) = _gates(b, x, b.multiply(h_prev, reset), w_c, b_c, 1)
    new = b.tanh(inner)
    return reset, update, new, b.add(b.multiply(b.subtract(1.0, update), new), b.multiply(update, h_prev))
