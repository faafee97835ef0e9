"""Training steps over many devices in TensorFlow: data-parallel ones of ``tf.distribute.MirroredStrategy``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf

from ...contracts.training import Arrays, Held, Make, Program, Training
from ..batches import batches
from .training import TensorFlowTraining

_GROUPS = ("fixed", "buffers", "places", "ema", "accumulated", "scaling")


class TensorFlowDataParallel(TensorFlowTraining):
    """Each replica computes with its part of the batch; gradients, losses, metrics and buffers are averaged in one exchange. What is held
    are variables of the strategy, equal on all devices."""

    def __init__(self, strategy: tf.distribute.MirroredStrategy) -> None:
        self._strategy, self._count = strategy, strategy.num_replicas_in_sync

    # ------------------------------------------------------------------------------ what is held
    def begun(self, make: Make, trained: Arrays) -> Any:
        """The optimizer, built for variables of the strategy."""
        with self._strategy.scope():
            return super().begun(make, trained)

    def trainable(self, array: Any) -> Any:
        """A variable of Keras on every device."""
        with self._strategy.scope():
            return keras.Variable(array, dtype=array.dtype.name, aggregation="only_first_replica")

    def kept(self, array: Any) -> Any:
        """A variable on every device."""
        with self._strategy.scope():
            return tf.Variable(array, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        """The key on every device."""
        return self.kept(arrays["key"])

    # ------------------------------------------------------------------------------ a step of one replica
    def key(self, rng: Any) -> tuple[Any, Any]:
        """Each replica draws other numbers."""
        key, rng = super().key(rng)
        return tf.random.fold_in(key, tf.distribute.get_replica_context().replica_id_in_sync_group), rng

    def gradients(self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays) -> tuple[Any, Any, Arrays]:
        """Averaged, with the metrics and what the model writes to its buffers."""
        found = super().gradients(function, trained)
        leaves = tf.nest.flatten(found)
        floating = [place for place, leaf in enumerate(leaves) if isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating]
        means = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, [leaves[place] for place in floating])
        averaged = dict(zip(floating, means))
        result: tuple[Any, Any, Arrays] = tf.nest.pack_sequence_as(found, [averaged.get(place, leaf) for place, leaf in enumerate(leaves)])
        return result

    def updated(self, make: Make, held: Held, gradients: Arrays, rate: Any, is_finite: Any) -> tuple[Arrays, Any]:
        """Optimizers of Keras add up the gradients of all replicas, which are equal here."""
        shares = {name: gradient / self._count for name, gradient in gradients.items()}
        return super().updated(make, held, shares, rate, is_finite)

    # ------------------------------------------------------------------------------ running
    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """``Strategy.run`` in a ``tf.function``, without XLA, which cannot compile an exchange between devices of one process."""
        functions: dict[tuple[int, tuple[bool, ...]], Any] = {}

        def run(held: Held, arrays: Any, rate: Any) -> tuple[Held, Any]:
            is_batch = not isinstance(arrays, Mapping)  # else gradients
            split = tuple(is_split for _, is_split in batches(arrays, self._count)) if is_batch else ()
            key = id(held.optimizer), split
            if key not in functions:
                functions[key] = tf.function(lambda arrays, rate: self._everywhere(step, held, arrays, rate, split), autograph=False)
            given = None if rate is None else tf.constant(rate, tf.float32)
            return held, functions[key](arrays, given)

        return run

    def _everywhere(self, step: Program, held: Held, arrays: Any, rate: Any, split: tuple[bool, ...]) -> Any:
        """The results of the first replica."""
        parts = parts_of(self._strategy, arrays, split) if split else arrays
        found = self._strategy.run(lambda arrays: step(held, arrays, rate)[1], args=(parts,))
        return tf.nest.map_structure(lambda item: self._strategy.experimental_local_results(item)[0], found)


def parts_of(strategy: Any, arrays: list[Any], split: tuple[bool, ...]) -> list[Any]:
    """What ``Strategy.run`` gives each replica: its part of what is split, and the others whole."""
    count = strategy.num_replicas_in_sync
    parts = [tf.split(array, count) if is_split else [array] * count for array, is_split in zip(arrays, split)]
    given = strategy.experimental_distribute_values_from_function
    return [given(lambda context, each=each: each[context.replica_id_in_sync_group]) for each in parts]


def held_by(engine: Training, held: Held, make: Make) -> Held:
    """Copies of everything that is held, as another engine holds it."""
    trained = {name: engine.trainable(array) for name, array in engine.values(held.trained).items()}
    rest = {group: {name: engine.kept(array) for name, array in engine.values(getattr(held, group)).items()} for group in _GROUPS}
    rng = engine.with_rng_arrays(engine.rng_arrays(held.rng), None)
    made = replace(held, trained=trained, rng=rng, **rest)
    return replace(made, optimizer=engine.with_optimizer_arrays(make, made, engine.optimizer_arrays(make, held)))
