"""Connectionist temporal classification: the loss of labels that are given by their indices, its gradient, and the best path."""

from __future__ import annotations

import math
from typing import Any

from .....ir import Value
from ....slicing import along, cut
from ..table import TensorFlowBuilder, rows
from .recurrent import scanned

_NEVER = -math.inf


def _counted(b: TensorFlowBuilder, count: Any, dtype: str = "int32") -> Value:
    found: Value = b.arange(start=0, stop=count, step=1, dtype=dtype)
    return found


class _Labels:
    """The labels of each sequence with blanks between and around them, ``[batch, 2 * most + 1]``, for as many as all have together."""

    def __init__(self, b: TensorFlowBuilder, indices: Value, values: Value, batch: Any, blank: Any) -> None:
        most = values.shape[0]
        row, column = (b.getitem(indices, key=along(1, place)) for place in range(2))
        none = b.broadcast_to(b.array(blank, "int32"), shape=(batch, most))
        dense = b.scatter_nd(none, b.astype(values, dtype="int32"), row, column, axes=(0, 1))
        ones = b.ones(shape=(most,), dtype="int32")
        self.lengths = b.scatter_nd(b.zeros(shape=(batch,), dtype="int32"), ones, row, axes=(0,), reduce="sum")
        blanks = b.broadcast_to(b.array(blank, "int32"), shape=(batch, most, 1))
        pairs = b.reshape(b.concat(blanks, b.reshape(dense, shape=(batch, most, 1)), axis=2), shape=(batch, 2 * most))
        self.whole = b.concat(pairs, cut(b, b.reshape(blanks, shape=(batch, most)), 1, 0, 1), axis=1)
        is_blank = b.equal(self.whole, b.array(blank, "int32"))
        before = _moved(b, self.whole, 2, blank)
        self.may_skip = b.logical_and(b.logical_not(is_blank), b.not_equal(self.whole, before))
        self.count = 2 * most + 1


def _moved(b: TensorFlowBuilder, x: Value, by: int, fill: Any) -> Value:
    """The columns moved to the right (by a negative number: to the left)."""
    count = x.shape[1]
    if by > 0:
        found: Value = cut(b, b.pad(x, padding=((0, 0), (by, 0)), value=fill), 1, 0, count)
        return found
    moved: Value = cut(b, b.pad(x, padding=((0, 0), (0, -by)), value=fill), 1, -by, None)
    return moved


def _sum_of(b: TensorFlowBuilder, *parts: Value) -> Value:
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
    """The loss of each sequence, and its derivative by the inputs."""
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise NotImplementedError("labels of which repeated ones are collapsed, or not merged")
    time, batch, classes = inputs.shape
    labels = _Labels(b, labels_indices, labels_values, batch, classes - 1)
    chances = b.log_softmax(inputs, axis=2)
    column = b.broadcast_to(b.reshape(labels.whole, shape=(1, batch, labels.count)), shape=(time, batch, labels.count))
    emitted = b.take_along_axis(chances, column, axis=2)
    steps = b.reshape(_counted(b, time), shape=(time, 1, 1))
    lengths = b.reshape(b.astype(sequence_length, dtype="int32"), shape=(1, batch, 1))
    forwards = _forwards(b, labels, emitted, b.less(steps, lengths))
    backwards = _backwards(b, labels, emitted, b.less(b.add(steps, 1), lengths))
    both = b.add(forwards, backwards)
    total = b.logsumexp(cut(b, both, 0, 0, 1), axis=(0, 2), keepdims=False)
    share = b.exp(b.subtract(both, b.reshape(total, shape=(1, batch, 1))))
    hits = b.scatter_nd(
        b.zeros(shape=(time, batch, classes), dtype=inputs.dtype), share, b.reshape(_counted(b, time), shape=(time, 1, 1)),
        b.reshape(_counted(b, batch), shape=(1, batch, 1)), column, axes=(0, 1, 2), reduce="sum",
    )  # fmt: skip
    gradient = b.subtract(b.exp(chances), hits)
    found = b.where(b.less(steps, lengths), gradient, b.array(0.0, inputs.dtype))
    slope = b.sum(b.with_gradient(b.zeros(shape=inputs.shape, dtype=inputs.dtype), inputs, b.stop_gradient(found)), axis=(0, 2))
    return b.add(b.stop_gradient(b.negative(total)), slope), b.stop_gradient(found)


def _forwards(b: TensorFlowBuilder, labels: _Labels, emitted: Value, runs: Value) -> Value:
    """What all beginnings of a path up to a label make together, this step included: ``[time, batch, label]``."""

    def step(state: Value, chance: Value, goes_on: Value) -> Any:
        skipped = _where(b, labels.may_skip, _moved(b, state, 2, _NEVER))
        after = b.add(_sum_of(b, state, _moved(b, state, 1, _NEVER), skipped), chance)
        new = b.where(goes_on, after, state)
        return new, new

    first = cut(b, emitted, 0, 0, 1)
    place = _counted(b, labels.count)
    start = _where(b, b.less(place, 2), b.reshape(first, shape=first.shape[1:]))
    _end, rest = scanned(b, [start], [cut(b, emitted, 0, 1, None), cut(b, runs, 0, 1, None)], step)
    found: Value = b.concat(b.reshape(start, shape=(1, *start.shape)), rest, axis=0)
    return found


def _backwards(b: TensorFlowBuilder, labels: _Labels, emitted: Value, more: Value) -> Value:
    """What all ends of a path behind a label make together, this step left out."""
    place = b.reshape(_counted(b, labels.count), shape=(1, labels.count))
    last = b.reshape(b.multiply(labels.lengths, 2), shape=(labels.lengths.shape[0], 1))
    is_end = b.logical_and(b.less_equal(place, last), b.greater_equal(place, b.subtract(last, 1)))
    end = b.where(is_end, b.array(0.0, emitted.dtype), b.array(_NEVER, emitted.dtype))

    def step(state: Value, following: Value, goes_on: Value) -> Any:
        weighted = b.add(state, following)
        skips = _where(b, labels.may_skip, weighted)
        before = _sum_of(b, weighted, _moved(b, weighted, -1, _NEVER), _moved(b, skips, -2, _NEVER))
        new = b.where(goes_on, before, end)
        return new, new

    count = emitted.shape[0]
    following = b.concat(cut(b, emitted, 0, 1, None), cut(b, emitted, 0, count - 1, None), axis=0)
    _start, found = scanned(b, [end], [following, more], step, reverse=True)
    return found


@rows.row("CTCGreedyDecoder")
def ctc_greedy_decoder(
    b: TensorFlowBuilder, inputs: Any, sequence_length: Any, *, merge_repeated: bool = False, blank_index: int = -1, **_: Any
) -> Any:
    """The labels of the best path of each sequence, as a sparse array, and the sum of what it scores."""
    time, batch, classes = inputs.shape
    blank = b.array(classes + blank_index if blank_index < 0 else blank_index, "int64")
    best = b.permute_dims(b.astype(b.argmax(inputs, axis=2), dtype="int64"), axes=(1, 0))
    runs = b.less(_counted(b, time), b.reshape(b.astype(sequence_length, dtype="int32"), shape=(batch, 1)))
    kept = b.logical_and(runs, b.not_equal(best, blank))
    if merge_repeated:
        kept = b.logical_and(kept, b.not_equal(best, _moved(b, best, 1, -1)))
    row, column = b.nonzero(kept, hint=b.recorded[1].hints[0])
    place = b.subtract(b.cumulative_sum(b.astype(kept, dtype="int64"), axis=1), 1)
    indices = b.stack(row, b.gather_nd(place, row, column, axes=(0, 1)), axis=1)
    most = b.max(b.add(b.max(place, axis=1), 1), axis=0)
    shape = b.stack(b.array(batch, "int64"), most, axis=0)
    scores = b.where(b.permute_dims(runs, axes=(1, 0)), b.max(inputs, axis=2), b.array(0.0, inputs.dtype))
    total = b.stop_gradient(b.reshape(b.negative(b.sum(scores, axis=0)), shape=(batch, 1)))
    return b.astype(indices, dtype="int64"), b.gather_nd(best, row, column, axes=(0, 1)), shape, total
