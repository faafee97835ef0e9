"""Cells of recurrent layers that are one kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .....ir import Value
from .....ops.registry import ArraySpec
from ....slicing import cut
from ..table import TensorFlowBuilder, rows


def _gates(b: TensorFlowBuilder, x: Value, h: Value, weight: Value, bias: Value, count: int) -> list[Value]:
    """Parts of the product of a weight with the input and the state side by side."""
    whole = b.add(b.matmul(b.concat(x, h, axis=1), weight), bias)
    size = whole.shape[1] // count
    return [cut(b, whole, 1, place * size, (place + 1) * size) for place in range(count)]


_ENTER_NEW_FORGET_LEAVE, _ENTER_FORGET_NEW_LEAVE = (0, 1, 2, 3), (0, 2, 1, 3)  # where the gates stand in a weight


@rows.row("LSTMBlockCell")
def lstm_cell(
    b: TensorFlowBuilder, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b_: Any,
    *, forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False,
    order: tuple[int, ...] = _ENTER_NEW_FORGET_LEAVE, **_: Any,
) -> Any:  # fmt: skip
    """The gates, the state and the output of one step."""
    parts = _gates(b, x, h_prev, w, b_, 4)
    enter, new, forget, leave = (parts[place] for place in order)

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
    i: Any, cs: Any, f: Any, o: Any, ci: Any, co: Any, cs_grad: Any, h_grad: Any,
    *, use_peephole: bool, order: tuple[int, ...] = _ENTER_NEW_FORGET_LEAVE, **_: Any,
) -> Any:  # fmt: skip
    """Gradients of the state, of what enters the gates, and of the weights by which these see the state."""
    leave = _product(b, _slope(b, o), h_grad, co)
    state = b.add(_product(b, _slope_of_tanh(b, co), h_grad, o), cs_grad)
    state = b.add(state, b.multiply(leave, wco)) if use_peephole else state
    new = _product(b, _slope_of_tanh(b, ci), state, i)
    forget, enter = _product(b, _slope(b, f), state, cs_prev), _product(b, _slope(b, i), state, ci)
    before = b.multiply(state, f)
    parts = (enter, new, forget, leave)
    gates = b.concat(*(parts[place] for place in order), axis=1)
    if not use_peephole:
        return before, gates, *(b.zeros(shape=weight.shape, dtype=weight.dtype) for weight in (wci, wcf, wco))
    before = b.add(before, b.add(b.multiply(enter, wci), b.multiply(forget, wcf)))
    weights = ((enter, cs_prev), (forget, cs_prev), (leave, cs))
    return before, gates, *(b.sum(b.multiply(*pair), axis=0) for pair in weights)


# ------------------------------------------------------------------------------------- whole sequences
def scanned(
    b: TensorFlowBuilder, state: list[Value], sequences: list[Value], step: Callable[..., Any], reverse: bool = False
) -> tuple[Value, ...]:
    """What a loop over the rows of ``sequences`` carries at the end, and the outputs of its steps."""
    specs = [*(item.spec for item in state), *(ArraySpec(item.shape[1:], item.dtype) for item in sequences)]
    arguments = [b.argument("state" if place < len(state) else "row", spec) for place, spec in enumerate(specs)]
    return b.run(
        "scan", [*state, *sequences], [b.body("step", arguments, step)],
        carried=len(state), sequences=len(sequences), length=sequences[0].shape[0], reverse=reverse,
    )  # fmt: skip


def _steps_taken(b: TensorFlowBuilder, length: Any, x: Value) -> Value:
    """Whether each step of a sequence is one of the first ``length``: ``[time, 1, 1]``."""
    places = b.arange(start=0, stop=x.shape[0], step=1, dtype="int64")
    return b.reshape(b.less(places, b.array(length, "int64")), shape=(x.shape[0], 1, 1))


def _whole_lstm(order: tuple[int, ...], **defaults: Any) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b_: Any,
        **options: Any,
    ) -> Any:  # fmt: skip
        """The gates, the states and the outputs of all steps, zeros behind the longest sequence."""

        def step(state: Value, shown: Value, given: Value) -> Any:
            found = lstm_cell(b, given, state, shown, w, wci, wcf, wco, b_, order=order, **{**defaults, **options})
            return found[1], found[6], *found

        _state, _shown, *outputs = scanned(b, [cs_prev, h_prev], [x], step)
        taken = _steps_taken(b, seq_len_max, x)
        return tuple(b.where(taken, item, b.array(0, item.dtype)) for item in outputs)

    return row


rows.row("BlockLSTM")(_whole_lstm(_ENTER_NEW_FORGET_LEAVE))
rows.row("BlockLSTMV2")(_whole_lstm(_ENTER_FORGET_NEW_LEAVE, forget_bias=0.0, cell_clip=0.0))


def _whole_lstm_grad(order: tuple[int, ...]) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b_: Any,
        i: Any, cs: Any, f: Any, o: Any, ci: Any, co: Any, h: Any, cs_grad: Any, h_grad: Any, *, use_peephole: bool, **_: Any,
    ) -> Any:  # fmt: skip
        """Gradients of all operands, from the last step to the first."""
        before = [
            b.concat(b.reshape(first, shape=(1, *first.shape)), cut(b, whole, 0, None, whole.shape[0] - 1), axis=0)
            for first, whole in ((cs_prev, cs), (h_prev, h))
        ]
        taken = _steps_taken(b, seq_len_max, x)

        def step(of_state: Value, of_shown: Value, *given: Value) -> Any:
            one, enter, state, forget, leave, new, shown, grad, shown_grad, last, seen, counts = given
            of_cell = lstm_cell_grad(
                b, one, last, seen, w, wci, wcf, wco, b_, enter, state, forget, leave, new, shown,
                b.add(grad, of_state), b.add(shown_grad, of_shown), use_peephole=use_peephole, order=order,
            )  # fmt: skip
            back, gates, *weights = (
                b.where(counts if part.ndim == 2 else b.reshape(counts, shape=(1,)), part, b.array(0, part.dtype)) for part in of_cell
            )
            both = b.matmul(gates, b.permute_dims(w, axes=(1, 0)))
            size = one.shape[1]
            whole = b.matmul(b.permute_dims(b.concat(one, seen, axis=1), axes=(1, 0)), gates)
            return back, cut(b, both, 1, size, None), cut(b, both, 1, None, size), whole, *weights, b.sum(gates, axis=0)

        zeros = [b.zeros(shape=item.shape, dtype=item.dtype) for item in (cs_prev, h_prev)]
        sequences = [x, i, cs, f, o, ci, co, cs_grad, h_grad, *before, taken]
        of_state, of_shown, of_x, *summed = scanned(b, zeros, sequences, step, reverse=True)
        return of_x, of_state, of_shown, *(b.sum(item, axis=0) for item in summed)

    return row


rows.row("BlockLSTMGrad")(_whole_lstm_grad(_ENTER_NEW_FORGET_LEAVE))
rows.row("BlockLSTMGradV2")(_whole_lstm_grad(_ENTER_FORGET_NEW_LEAVE))
