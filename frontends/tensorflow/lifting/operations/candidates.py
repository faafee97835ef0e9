"""Classes that are drawn to stand for those that are not there, as sampled losses need them.

TensorFlow draws one class after the other until it has enough different ones. That is, in distribution, the order of the logarithms of
their chances plus Gumbel's numbers; how often it had to draw follows, for each, from the chance that a draw was new.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from ....slicing import along, cut
from ..table import TensorFlowBuilder, rows

_Chances = Callable[..., Value]


def _expected(b: TensorFlowBuilder, chances: Value, tries: Value, count: int) -> Value:
    """How often a class of these chances is expected among ``count`` draws; at least once, where more were tried."""
    again = b.negative(b.expm1(b.multiply(tries, b.log1p(b.negative(chances)))))
    found: Value = b.where(b.equal(tries, float(count)), b.multiply(chances, float(count)), again)
    return found


def _drawn(b: TensorFlowBuilder, true_classes: Value, chances: Value, count: int, unique: bool) -> tuple[Value, Value, Value]:
    """The classes, and how often the true ones and these are expected; ``chances`` are those of all classes."""
    if unique:
        scores = b.add(b.log(chances), b.random_gumbel(b.next_key(), shape=chances.shape, dtype="float32"))
        classes = cut(b, b.argsort(scores, axis=0, descending=True, stable=True), 0, 0, count)
        taken = b.take(chances, classes, axis=0)
        before = b.subtract(b.cumulative_sum(taken, axis=0), taken)
        seen = b.clip(before, 0.0, 1.0 - 1e-7)
        drawn = b.random_uniform(b.next_key(), shape=(count,), dtype="float32")
        more = b.floor(b.divide(b.log(b.maximum(b.subtract(1.0, drawn), 1e-30)), b.log(b.maximum(seen, 1e-30))))
        tries = b.sum(b.add(b.where(b.greater(seen, 0.0), more, b.array(0.0, "float32")), 1.0), axis=0)
    else:
        row = b.reshape(chances, shape=(1, chances.shape[0]))
        classes = b.reshape(b.random_categorical(b.next_key(), row, samples=count, replacement=True), shape=(count,))
        tries = b.array(float(count), "float32")
    classes = b.astype(classes, dtype="int64")
    counts = [_expected(b, b.take(chances, places, axis=0), tries, count) for places in (true_classes, classes)]
    return classes, counts[0], counts[1]


def _sampler(chances: _Chances) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, true_classes: Any, *, num_sampled: int, unique: bool, **options: Any) -> Any:
        """Classes of a distribution that depends on nothing, and how often the true ones and these are expected."""
        return _drawn(b, true_classes, chances(b, **options), num_sampled, bool(unique))

    return row


def _uniform(b: TensorFlowBuilder, *, range_max: int, **_: Any) -> Value:
    found: Value = b.full(shape=(range_max,), fill_value=1.0 / range_max, dtype="float32")
    return found


def _log_uniform(b: TensorFlowBuilder, *, range_max: int, **_: Any) -> Value:
    place = b.arange(start=0, stop=range_max, step=1, dtype="float32")
    found: Value = b.divide(b.log(b.divide(b.add(place, 2.0), b.add(place, 1.0))), math.log1p(range_max))
    return found


def _of_counts(
    b: TensorFlowBuilder, *, range_max: int, unigrams: Any, distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1,
    vocab_file: str = "", **_: Any,
) -> Value:  # fmt: skip
    """In proportion to counts that are attributes, to a power."""
    if vocab_file or num_shards != 1:
        raise NotImplementedError("classes whose counts stand in a file, or are divided")
    weights = [0.0] * num_reserved_ids + [float(count) ** distortion for count in unigrams]
    total = sum(weights)
    found: Value = b.asarray(data=tuple(weight / total for weight in weights), dtype="float32")
    return found


rows.row("UniformCandidateSampler")(_sampler(_uniform))
rows.row("LogUniformCandidateSampler")(_sampler(_log_uniform))
rows.row("FixedUnigramCandidateSampler")(_sampler(_of_counts))


@rows.row("AllCandidateSampler")
def all_candidates(b: TensorFlowBuilder, true_classes: Any, *, num_sampled: int, **_: Any) -> Any:
    """Each class once."""
    one = b.ones(shape=true_classes.shape, dtype="float32")
    return b.arange(start=0, stop=num_sampled, step=1, dtype="int64"), one, b.ones(shape=(num_sampled,), dtype="float32")


def _is_last(b: TensorFlowBuilder, x: Value) -> Value:
    """Whether no element behind one is the same."""
    place = b.arange(start=0, stop=x.shape[0], step=1, dtype="int32")
    behind = b.less(b.reshape(place, shape=(x.shape[0], 1)), place)
    again = b.logical_and(behind, b.equal(b.reshape(x, shape=(x.shape[0], 1)), x))
    found: Value = b.logical_not(b.any(again, axis=1))
    return found


@rows.row("ComputeAccidentalHits")
def accidental_hits(b: TensorFlowBuilder, true_classes: Any, sampled_candidates: Any, **_: Any) -> Any:
    """Where a class that was drawn is a true one: the row, the place among those that were drawn, and a weight that takes it out."""
    count, many = true_classes.shape[0], true_classes.shape[1]
    same = b.logical_and(b.equal(b.reshape(true_classes, shape=(count, many, 1)), sampled_candidates), _is_last(b, sampled_candidates))
    found = b.argwhere(same, hint=b.recorded[0].hints[0])
    row, place = (b.getitem(found, key=along(1, number)) for number in (0, 2))
    weights = b.full(shape=(found.shape[0],), fill_value=-3.4028234663852886e38, dtype="float32")
    return b.astype(row, dtype="int32"), b.astype(place, dtype="int64"), weights
