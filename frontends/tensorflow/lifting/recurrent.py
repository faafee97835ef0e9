"""Rows of LSTM and GRU kernels, their gradients, and CTC."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.registry import ArraySpec
from ...common.indexing import along, cut
from .table import TensorFlowBuilder, rows


def _gates(b: TensorFlowBuilder, x: Value, h: Value, weight: Value, bias: Value, count: int) -> list[Value]:
    whole = b.add(b.matmul(b.concat(x, h, axis=1), weight), bias)
    size = whole.shape[1] // count
    return [cut(b, whole, 1, place * size, (place + 1) * size) for place in range(count)]


# Order of the gates in a weight.
_ENTER_NEW_FORGET_LEAVE, _ENTER_FORGET_NEW_LEAVE = (0, 1, 2, 3), (0, 2, 1, 3)


@rows.row("LSTMBlockCell")
def lstm_cell(
    b: TensorFlowBuilder, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b_: Any,
    *, forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False,
    order: tuple[int, ...] = _ENTER_NEW_FORGET_LEAVE, **_: Any,
) -> Any:  # fmt: skip
    """Lift ``LSTMBlockCell``: one time step, with results in the order ``i, cs, f, o, ci, co, h``.

    ``order`` has the indices of input gate, cell input, forget gate and output gate among the four parts of
    ``w``.
    """
    parts = _gates(b, x, h_prev, w, b_, 4)
    enter, new, forget, leave = (parts[place] for place in order)

    def seen(gate: Value, state: Value, weight: Value) -> Any:
        return b.sigmoid(b.add(gate, b.multiply(state, weight)) if use_peephole else gate)

    enter, new = seen(enter, cs_prev, wci), b.tanh(new)
    forget = seen(b.add(forget, float(forget_bias)), cs_prev, wcf)
    state = b.add(b.multiply(new, enter), b.multiply(cs_prev, forget))
    # A clip that is not positive means that there is none.
    state = b.clip(state, -float(cell_clip), float(cell_clip)) if cell_clip > 0 else state
    leave, shown = seen(leave, state, wco), b.tanh(state)
    return enter, state, forget, leave, new, shown, b.multiply(shown, leave)


@rows.row("GRUBlockCell")
def gru_cell(
    b: TensorFlowBuilder, x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, **_: Any
) -> Any:
    reset, update = (b.sigmoid(gate) for gate in _gates(b, x, h_prev, w_ru, b_ru, 2))
    (inner,) = _gates(b, x, b.multiply(h_prev, reset), w_c, b_c, 1)
    new = b.tanh(inner)
    return reset, update, new, b.add(b.multiply(b.subtract(1.0, update), new), b.multiply(update, h_prev))


# ------------------------------------------------------------------------------------- gradients of cells
def _slope(b: TensorFlowBuilder, gate: Value) -> Any:
    return b.multiply(gate, b.subtract(1.0, gate))


def _slope_of_tanh(b: TensorFlowBuilder, value: Value) -> Any:
    return b.subtract(1.0, b.square(value))


def _product(b: TensorFlowBuilder, *factors: Value) -> Any:
    return functools.reduce(b.multiply, factors)


@rows.row("GRUBlockCellGrad")
def gru_cell_grad(
    b: TensorFlowBuilder,
    x: Any,
    h_prev: Any,
    w_ru: Any,
    w_c: Any,
    b_ru: Any,
    b_c: Any,
    r: Any,
    u: Any,
    c: Any,
    d_h: Any,
    **_: Any,
) -> Any:
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
    leave = _product(b, _slope(b, o), h_grad, co)
    state = b.add(_product(b, _slope_of_tanh(b, co), h_grad, o), cs_grad)
    state = b.add(state, b.multiply(leave, wco)) if use_peephole else state
    new = _product(b, _slope_of_tanh(b, ci), state, i)
    forget, enter = _product(b, _slope(b, f), state, cs_prev), _product(b, _slope(b, i), state, ci)
    before = b.multiply(state, f)
    parts = (enter, new, forget, leave)
    gates = b.concat(*(parts[order.index(place)] for place in range(4)), axis=1)
    if not use_peephole:
        return before, gates, *(b.zeros(shape=weight.shape, dtype=weight.dtype) for weight in (wci, wcf, wco))
    before = b.add(before, b.add(b.multiply(enter, wci), b.multiply(forget, wcf)))
    weights = ((enter, cs_prev), (forget, cs_prev), (leave, cs))
    return before, gates, *(b.sum(b.multiply(*pair), axis=0) for pair in weights)


# ------------------------------------------------------------------------------------- whole sequences
def scan_rows(
    b: TensorFlowBuilder,
    state: list[Value],
    sequences: list[Value],
    step: Callable[..., Any],
    reverse: bool = False,
) -> tuple[Value, ...]:
    """Scan over the rows of ``sequences``; return the final carry and the stacked outputs of ``step``.

    ``step`` takes the carry and one row of each sequence, and returns the next carry and the outputs.
    """
    specs = [*(item.spec for item in state), *(ArraySpec(item.shape[1:], item.dtype) for item in sequences)]
    arguments = [
        b.argument("state" if place < len(state) else "row", spec) for place, spec in enumerate(specs)
    ]
    return b.run(
        "scan", [*state, *sequences], [b.body("step", arguments, step)],
        carried=len(state), sequences=len(sequences), length=sequences[0].shape[0], reverse=reverse,
    )  # fmt: skip


def _steps_taken(b: TensorFlowBuilder, length: Any, x: Value) -> Value:
    places = b.arange(start=0, stop=x.shape[0], step=1, dtype="int64")
    return b.reshape(b.less(places, b.array(length, "int64")), shape=(x.shape[0], 1, 1))


def _lstm_sequence(order: tuple[int, ...], **defaults: Any) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any,
        wco: Any, b_: Any, **options: Any,
    ) -> Any:  # fmt: skip
        def step(state: Value, shown: Value, given: Value) -> Any:
            found = lstm_cell(
                b, given, state, shown, w, wci, wcf, wco, b_, order=order, **{**defaults, **options}
            )
            return found[1], found[6], *found

        _state, _shown, *outputs = scan_rows(b, [cs_prev, h_prev], [x], step)
        taken = _steps_taken(b, seq_len_max, x)
        return tuple(b.where(taken, item, b.array(0, item.dtype)) for item in outputs)

    return row


rows.row("BlockLSTM")(_lstm_sequence(_ENTER_NEW_FORGET_LEAVE))
rows.row("BlockLSTMV2")(_lstm_sequence(_ENTER_FORGET_NEW_LEAVE, forget_bias=0.0, cell_clip=0.0))


def _lstm_sequence_grad(order: tuple[int, ...]) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any,
        wco: Any, b_: Any, i: Any, cs: Any, f: Any, o: Any, ci: Any, co: Any, h: Any, cs_grad: Any,
        h_grad: Any, *, use_peephole: bool, **_: Any,
    ) -> Any:  # fmt: skip
        before = [
            b.concat(
                b.reshape(first, shape=(1, *first.shape)), cut(b, whole, 0, None, whole.shape[0] - 1), axis=0
            )
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
                b.where(
                    counts if part.ndim == 2 else b.reshape(counts, shape=(1,)), part, b.array(0, part.dtype)
                )
                for part in of_cell
            )
            both = b.matmul(gates, b.permute_dims(w, axes=(1, 0)))
            size = one.shape[1]
            whole = b.matmul(b.permute_dims(b.concat(one, seen, axis=1), axes=(1, 0)), gates)
            return (
                back,
                cut(b, both, 1, size, None),
                cut(b, both, 1, None, size),
                whole,
                *weights,
                b.sum(gates, axis=0),
            )

        zeros = [b.zeros(shape=item.shape, dtype=item.dtype) for item in (cs_prev, h_prev)]
        sequences = [x, i, cs, f, o, ci, co, cs_grad, h_grad, *before, taken]
        of_state, of_shown, of_x, *summed = scan_rows(b, zeros, sequences, step, reverse=True)
        return of_x, of_state, of_shown, *(b.sum(item, axis=0) for item in summed)

    return row


rows.row("BlockLSTMGrad")(_lstm_sequence_grad(_ENTER_NEW_FORGET_LEAVE))
rows.row("BlockLSTMGradV2")(_lstm_sequence_grad(_ENTER_FORGET_NEW_LEAVE))


_NEVER = -math.inf


def _arange(b: TensorFlowBuilder, count: Any, dtype: str = "int32") -> Value:
    found: Value = b.arange(start=0, stop=count, step=1, dtype=dtype)
    return found


class _CtcLabels:
    """Labels of each sequence with blanks between and around them, padded with blanks.

    whole: the labels, ``[batch, count]``.
    count: ``2 * most + 1``, where ``most`` is the total number of labels in the batch.
    lengths: the number of labels of each sequence, without blanks.
    may_skip: True for a label that a path may reach without the blank before it.
    """

    def __init__(self, b: TensorFlowBuilder, indices: Value, values: Value, batch: Any, blank: Any) -> None:
        # The length of the longest sequence depends on elements, but it is at most the total number of
        # labels.
        most = values.shape[0]
        row, column = (b.getitem(indices, key=along(1, place)) for place in range(2))
        none = b.broadcast_to(b.array(blank, "int32"), shape=(batch, most))
        dense = b.scatter_nd(none, b.astype(values, dtype="int32"), row, column, axes=(0, 1))
        ones = b.ones(shape=(most,), dtype="int32")
        self.lengths = b.scatter_nd(
            b.zeros(shape=(batch,), dtype="int32"), ones, row, axes=(0,), reduce="sum"
        )
        blanks = b.broadcast_to(b.array(blank, "int32"), shape=(batch, most, 1))
        pairs = b.reshape(
            b.concat(blanks, b.reshape(dense, shape=(batch, most, 1)), axis=2), shape=(batch, 2 * most)
        )
        self.whole = b.concat(pairs, cut(b, b.reshape(blanks, shape=(batch, most)), 1, 0, 1), axis=1)
        is_blank = b.equal(self.whole, b.array(blank, "int32"))
        before = _shift(b, self.whole, 2, blank)
        # A path may leave out the blank before a label, unless the label before that blank is the same.
        self.may_skip = b.logical_and(b.logical_not(is_blank), b.not_equal(self.whole, before))
        self.count = 2 * most + 1


def _shift(b: TensorFlowBuilder, x: Value, by: int, fill: Any) -> Value:
    count = x.shape[1]
    if by > 0:
        found: Value = cut(b, b.pad(x, padding=((0, 0), (by, 0)), value=fill), 1, 0, count)
        return found
    moved: Value = cut(b, b.pad(x, padding=((0, 0), (0, -by)), value=fill), 1, -by, None)
    return moved


def _logsumexp(b: TensorFlowBuilder, *parts: Value) -> Value:
    found: Value = b.logsumexp(b.stack(*parts, axis=0), axis=(0,), keepdims=False)
    return found


def _where(b: TensorFlowBuilder, condition: Value, x: Value) -> Value:
    found: Value = b.where(condition, x, b.array(_NEVER, x.dtype))
    return found


@rows.row("CTCLoss")
def ctc_loss(
    b: TensorFlowBuilder, inputs: Any, labels_indices: Any, labels_values: Any, sequence_length: Any, *,
    preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True, **_: Any,
) -> Any:  # fmt: skip
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise NotImplementedError("labels of which repeated ones are collapsed, or not merged")
    time, batch, classes = inputs.shape
    labels = _CtcLabels(b, labels_indices, labels_values, batch, classes - 1)
    chances = b.log_softmax(inputs, axis=2)
    column = b.broadcast_to(
        b.reshape(labels.whole, shape=(1, batch, labels.count)), shape=(time, batch, labels.count)
    )
    emitted = b.take_along_axis(chances, column, axis=2)
    steps = b.reshape(_arange(b, time), shape=(time, 1, 1))
    lengths = b.reshape(b.astype(sequence_length, dtype="int32"), shape=(1, batch, 1))
    forwards = _forwards(b, labels, emitted, b.less(steps, lengths))
    backwards = _backwards(b, labels, emitted, b.less(b.add(steps, 1), lengths))
    both = b.add(forwards, backwards)
    total = b.logsumexp(cut(b, both, 0, 0, 1), axis=(0, 2), keepdims=False)
    share = b.exp(b.subtract(both, b.reshape(total, shape=(1, batch, 1))))
    hits = b.scatter_nd(
        b.zeros(shape=(time, batch, classes), dtype=inputs.dtype), share,
        b.reshape(_arange(b, time), shape=(time, 1, 1)), b.reshape(_arange(b, batch), shape=(1, batch, 1)),
        column, axes=(0, 1, 2), reduce="sum",
    )  # fmt: skip
    gradient = b.subtract(b.exp(chances), hits)
    found = b.where(b.less(steps, lengths), gradient, b.array(0.0, inputs.dtype))
    # A sum of zeros carries the gradient that TensorFlow computes itself, so that the loss needs none of its
    # own.
    slope = b.sum(
        b.with_gradient(b.zeros(shape=inputs.shape, dtype=inputs.dtype), inputs, b.stop_gradient(found)),
        axis=(0, 2),
    )
    return b.add(b.stop_gradient(b.negative(total)), slope), b.stop_gradient(found)


def _forwards(b: TensorFlowBuilder, labels: _CtcLabels, emitted: Value, runs: Value) -> Value:
    """Return the log of the total probability of all path prefixes that end at each label.

    The result is ``[time, batch, label]``. ``emitted`` has the log probabilities of the labels, in the same
    shape. ``runs`` is False after the end of a sequence, where the result of its last time step is repeated.
    """

    def step(state: Value, chance: Value, goes_on: Value) -> Any:
        skipped = _where(b, labels.may_skip, _shift(b, state, 2, _NEVER))
        after = b.add(_logsumexp(b, state, _shift(b, state, 1, _NEVER), skipped), chance)
        new = b.where(goes_on, after, state)
        return new, new

    first = cut(b, emitted, 0, 0, 1)
    place = _arange(b, labels.count)
    start = _where(b, b.less(place, 2), b.reshape(first, shape=first.shape[1:]))
    _end, rest = scan_rows(b, [start], [cut(b, emitted, 0, 1, None), cut(b, runs, 0, 1, None)], step)
    found: Value = b.concat(b.reshape(start, shape=(1, *start.shape)), rest, axis=0)
    return found


def _backwards(b: TensorFlowBuilder, labels: _CtcLabels, emitted: Value, more: Value) -> Value:
    """Return the log of the total probability of all path suffixes that follow each label.

    The result is ``[time, batch, label]``. ``emitted`` has the log probabilities of the labels, in the same
    shape. ``more`` is True at the time steps before the last one of a sequence.
    """
    place = b.reshape(_arange(b, labels.count), shape=(1, labels.count))
    last = b.reshape(b.multiply(labels.lengths, 2), shape=(labels.lengths.shape[0], 1))
    is_end = b.logical_and(b.less_equal(place, last), b.greater_equal(place, b.subtract(last, 1)))
    end = b.where(is_end, b.array(0.0, emitted.dtype), b.array(_NEVER, emitted.dtype))

    def step(state: Value, following: Value, goes_on: Value) -> Any:
        weighted = b.add(state, following)
        skips = _where(b, labels.may_skip, weighted)
        before = _logsumexp(b, weighted, _shift(b, weighted, -1, _NEVER), _shift(b, skips, -2, _NEVER))
        new = b.where(goes_on, before, end)
        return new, new

    count = emitted.shape[0]
    following = b.concat(cut(b, emitted, 0, 1, None), cut(b, emitted, 0, count - 1, None), axis=0)
    _start, found = scan_rows(b, [end], [following, more], step, reverse=True)
    return found


@rows.row("CTCGreedyDecoder")
def ctc_greedy_decoder(
    b: TensorFlowBuilder,
    inputs: Any,
    sequence_length: Any,
    *,
    merge_repeated: bool = False,
    blank_index: int = -1,
    **_: Any,
) -> Any:
    time, batch, classes = inputs.shape
    blank = b.array(classes + blank_index if blank_index < 0 else blank_index, "int64")
    best = b.permute_dims(b.astype(b.argmax(inputs, axis=2), dtype="int64"), axes=(1, 0))
    runs = b.less(_arange(b, time), b.reshape(b.astype(sequence_length, dtype="int32"), shape=(batch, 1)))
    kept = b.logical_and(runs, b.not_equal(best, blank))
    if merge_repeated:
        kept = b.logical_and(kept, b.not_equal(best, _shift(b, best, 1, -1)))
    row, column = b.nonzero(kept, hint=b.recorded[1].hints[0])
    place = b.subtract(b.cumulative_sum(b.astype(kept, dtype="int64"), axis=1), 1)
    indices = b.stack(row, b.gather_nd(place, row, column, axes=(0, 1)), axis=1)
    most = b.max(b.add(b.max(place, axis=1), 1), axis=0)
    shape = b.stack(b.array(batch, "int64"), most, axis=0)
    scores = b.where(b.permute_dims(runs, axes=(1, 0)), b.max(inputs, axis=2), b.array(0.0, inputs.dtype))
    total = b.stop_gradient(b.reshape(b.negative(b.sum(scores, axis=0)), shape=(batch, 1)))
    return b.astype(indices, dtype="int64"), b.gather_nd(best, row, column, axes=(0, 1)), shape, total
