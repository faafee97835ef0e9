"""Cells of recurrent layers that are one kernel."""

from __future__ import annotations

import functools
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


# ------------------------------------------------------------------------------------- gradients of cells
def _slope(b: TensorFlowBuilder, gate: Value) -> Any:
    """The derivative of the logistic function, by its value."""
    return b.multiply(gate, b.subtract(1.0, gate))


def _slope_of_tanh(b: TensorFlowBuilder, value: Value) -> Any:
    return b.subtract(1.0, b.square(value))


def _product(b: TensorFlowBuilder, *factors: Value) -> Any:
    return functools.reduce(b.multiply, factors)


@rows.row("GRUBlockCellGrad")
def gru_cell_grad(
    b: TensorFlowBuilder, x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, r: Any, u: Any, c: Any, d_h: Any, **_: Any
) -> Any:
    """Gradients of the input, the state, and of what enters the gates."""
    size = x.shape[1]
    inner = _product(b, d_h, b.subtract(1.0, u), _slope_of_tanh(b, c))
    both = b.matmul(inner, b.permute_dims(w_c, axes=(1, 0)))
    of_reset_state = cut(b, both, 1, size, None)
    reset = _product(b, of_reset_state, h_prev, _slope(b, r))
    update = _product(b, d_h, b.subtract(h_prev, c), _slope(b, u))
    gates = b.concat(reset, update, axis=1)
    others = b.matmul(gates, b.permute_dims(w_ru, axes=(1, 0)))
    d_x = b.add(cut(b, both, 1, None, size), cut(b, others, 1, None, size))
    d_state = b.add(b.add(b.multiply(of_reset_state, r), cut(b, others, 1, size, None)), b.multiply(d_h, u))
    return d_x, d_state, inner, gates


@rows.row("LSTMBlockCellGrad")
def lstm_cell_grad(
    b: TensorFlowBuilder, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b_: Any,
    i: Any, cs: Any, f: Any, o: Any, ci: Any, co: Any, cs_grad: Any, h_grad: Any, *, use_peephole: bool, **_: Any,
) -> Any:  # fmt: skip
    """Gradients of the state, of what enters the gates, and of the weights by which these see the state."""
    leave = _product(b, _slope(b, o), h_grad, co)
    state = b.add(_product(b, _slope_of_tanh(b, co), h_grad, o), cs_grad)
    state = b.add(state, b.multiply(leave, wco)) if use_peephole else state
    new = _product(b, _slope_of_tanh(b, ci), state, i)
    forget, enter = _product(b, _slope(b, f), state, cs_prev), _product(b, _slope(b, i), state, ci)
    before = b.multiply(state, f)
    gates = b.concat(enter, new, forget, leave, axis=1)
    if not use_peephole:
        return before, gates, *(b.zeros(shape=weight.shape, dtype=weight.dtype) for weight in (wci, wcf, wco))
    before = b.add(before, b.add(b.multiply(enter, wci), b.multiply(forget, wcf)))
    weights = ((enter, cs_prev), (forget, cs_prev), (leave, cs))
    return before, gates, *(b.sum(b.multiply(*pair), axis=0) for pair in weights)
