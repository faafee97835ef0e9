"""Parallelism over devices by ``tf.distribute.MirroredStrategy`` in a ``tf.function``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf

from ...contracts.parallelism import (
    Arrays,
    DeviceAxis,
    Layout,
    Parallelism,
    Spread,
    batches,
    collected_guards,
    is_count,
    native_axis,
    outcomes_by_place,
    require_count,
    require_outcomes,
    running_over,
)
from ...contracts.training import Arrays as TrainingArrays
from ...contracts.training import Make, Program, StepState, Training
from ...errors import GradientRefused, InvalidOption, NotCompilable
from ...ir.graph import Guard
from .axes import vectorized_axis
from .native import assert_or_poison
from .training import TensorFlowTraining
from .training import training as alone
from .transforms import derivatives

_GROUPS = ("fixed", "buffers", "places", "ema", "accumulated", "scaling")


class TensorFlowDataParallel(TensorFlowTraining):
    """Data-parallel training engine over the replicas of ``strategy``."""

    def __init__(self, strategy: tf.distribute.MirroredStrategy) -> None:
        self._strategy, self._count = strategy, strategy.num_replicas_in_sync

    # ------------------------------------------------------------------------------ training state
    def new_optimizer_state(self, make: Make, trained: TrainingArrays) -> Any:
        with self._strategy.scope():
            return super().new_optimizer_state(make, trained)

    def trainable(self, array: Any) -> Any:
        with self._strategy.scope():
            return keras.Variable(array, dtype=array.dtype.name, aggregation="only_first_replica")

    def copied(self, array: Any) -> Any:
        with self._strategy.scope():
            # All replicas assign the same value, so that of the first is enough.
            return tf.Variable(array, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    def with_rng_arrays(self, arrays: TrainingArrays, like: Any) -> Any:
        return self.copied(arrays["key"])

    # ------------------------------------------------------------------------------ replica step
    def key(self, rng: Any) -> tuple[Any, Any]:
        key, rng = super().key(rng)
        # Each replica samples numbers of its own.
        return tf.random.fold_in(key, tf.distribute.get_replica_context().replica_id_in_sync_group), rng

    def gradients(
        self, function: Callable[[TrainingArrays], tuple[Any, Any]], trained: TrainingArrays
    ) -> tuple[Any, Any, TrainingArrays]:
        found = super().gradients(function, trained)
        leaves = tf.nest.flatten(found)
        floating = [
            place
            for place, leaf in enumerate(leaves)
            if isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating
        ]
        means = tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.MEAN, [leaves[place] for place in floating]
        )
        averaged = dict(zip(floating, means))
        result: tuple[Any, Any, TrainingArrays] = tf.nest.pack_sequence_as(
            found, [averaged.get(place, leaf) for place, leaf in enumerate(leaves)]
        )
        return result

    def updated(
        self, make: Make, held: StepState, gradients: TrainingArrays, rate: Any, is_finite: Any
    ) -> tuple[TrainingArrays, Any]:
        # Optimizer.apply sums the gradients of all replicas, which are averages already.
        shares = {name: gradient / self._count for name, gradient in gradients.items()}
        return super().updated(make, held, shares, rate, is_finite)

    # ------------------------------------------------------------------------------ running
    # XLA cannot compile collectives between devices of one process, so this does not use it.
    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        functions: dict[tuple[int, tuple[bool, ...]], Any] = {}

        def run(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            # Gradients by name are not a batch.
            is_batch = not isinstance(arrays, Mapping)
            split = tuple(is_split for _, is_split in batches(arrays, self._count)) if is_batch else ()
            key = id(held.optimizer), split
            if key not in functions:
                functions[key] = tf.function(
                    lambda arrays, rate: self._run_on_replicas(step, held, arrays, rate, split),
                    autograph=False,
                )
            # A Python number would be a constant of the trace, so each rate would need another trace.
            given = None if rate is None else tf.constant(rate, tf.float32)
            return held, functions[key](arrays, given)

        return run

    def _run_on_replicas(
        self, step: Program, held: StepState, arrays: Any, rate: Any, split: tuple[bool, ...]
    ) -> Any:
        parts = replica_arguments(self._strategy, arrays, split) if split else arrays
        found = self._strategy.run(lambda arrays: step(held, arrays, rate)[1], args=(parts,))
        # Floating results are means over the replicas, so all replicas have the same.
        return tf.nest.map_structure(lambda item: self._strategy.experimental_local_results(item)[0], found)


def replica_arguments(strategy: Any, arrays: list[Any], split: tuple[bool, ...]) -> list[Any]:
    """Return ``arrays`` as arguments of ``Strategy.run``, split along axis 0 where ``split`` is True."""
    count = strategy.num_replicas_in_sync
    parts = [
        tf.split(array, count) if is_split else [array] * count for array, is_split in zip(arrays, split)
    ]
    given = strategy.experimental_distribute_values_from_function
    return [given(lambda context, each=each: each[context.replica_id_in_sync_group]) for each in parts]


def transfer_state(engine: Training, held: StepState, make: Make) -> StepState:
    """Copy the training state ``held`` to arrays and variables of ``engine``."""
    trained = {name: engine.trainable(array) for name, array in engine.values(held.trained).items()}
    rest = {
        group: {name: engine.copied(array) for name, array in engine.values(getattr(held, group)).items()}
        for group in _GROUPS
    }
    rng = engine.with_rng_arrays(engine.rng_arrays(held.rng), None)
    made = replace(held, trained=trained, rng=rng, **rest)
    return replace(
        made, optimizer=engine.with_optimizer_arrays(make, made, engine.optimizer_arrays(make, held))
    )


_NO_MESH = (
    "tensorflow lays no arrays out over a mesh here (see docs/parallel.md): shard a graph for jax or torch, "
    "graph.to('jax')"
)
_SUM = tf.distribute.ReduceOp.SUM
_EXTREMES = {"pmax": tf.reduce_max, "pmin": tf.reduce_min}
_REDUCTIONS: dict[Any, Callable[[list[Any]], Any]] = {
    "concat": lambda parts: tf.concat([array if array.shape.rank else array[None] for array in parts], 0),
    "mean": lambda parts: tf.add_n([_floating(array) for array in parts]) / len(parts),
    "sum": tf.add_n,
    "first": lambda parts: parts[0],
    "none": lambda parts: parts,
}


class TensorFlowParallelism(Parallelism):
    """Implementation of ``Parallelism`` by the replicas of a ``MirroredStrategy``."""

    a_mesh = "there is none"

    def __init__(self) -> None:
        self._strategies: dict[tuple[str, ...], tf.distribute.MirroredStrategy] = {}

    def array(self, item: Any) -> Any:
        return derivatives.array(item)

    def call_keys(self) -> Mapping[type, Callable[[Any], Any]]:
        with tf.init_scope():
            return {type(tf.zeros(())): operator.attrgetter("shape", "dtype")}

    def axis(self, devices: Any, name: str) -> DeviceAxis:
        known = [device.name for device in tf.config.list_logical_devices()]
        if devices is None or is_count(devices):
            found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
            kind = f"logical devices of TensorFlow ({', '.join(device.name for device in found)})"
            devices = found if devices is None else found[: require_count(devices, len(found), kind)]
        given = (
            [getattr(device, "name", device) for device in devices]
            if isinstance(devices, (list, tuple))
            else [devices]
        )
        names = tuple(
            next((full for full in known if isinstance(device, str) and full.endswith(device)), "")
            for device in given
        )
        if not names or not all(names) or len(set(names)) < len(names):
            raise InvalidOption(
                f"devices= is {devices!r}, and has to be how many, or a list of different ones of "
                f"{', '.join(known)}"
            )
        if names not in self._strategies:
            self._strategies[names] = tf.distribute.MirroredStrategy(list(names))
        return DeviceAxis(name, len(names), len(names), self._strategies[names])

    def is_replicated(self, array: Any, axis: DeviceAxis) -> bool:
        return isinstance(array, tf.distribute.DistributedValues)

    def replicated(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        with axis.native.scope():
            return [tf.Variable(array) for array in arrays]

    def gathered(self, array: Any) -> Any:
        return tf.convert_to_tensor(array)

    def spread(self, function: Callable[[Arrays], Arrays], how: Spread) -> Callable[[Arrays], Arrays]:
        strategy = how.axis.native
        reduced = how.reduce if isinstance(how.reduce, str) else None
        guards: list[Guard] = []

        def of_part(arrays: Arrays) -> tuple[Arrays, dict[int, Any]]:
            trace = tf.compat.v1.get_default_graph()
            with (
                running_over(how.axis.name, "tensorflow", strategy),
                collected_guards(trace) as collected,
            ):
                results = function(arrays)
            return results, outcomes_by_place(collected, guards)

        def whole(arrays: Arrays) -> tuple[Arrays, dict[int, Any]]:
            results, outcomes = strategy.run(of_part, args=(replica_arguments(strategy, arrays, how.split),))
            parts = strategy.experimental_local_results
            found = [list(parts(array)) for array in results]
            reduce: Any = how.reduce
            return (
                [_REDUCTIONS[reduced](items) if reduced else reduce(tf.stack(items)) for items in found],
                {place: tf.reduce_all(tf.stack(parts(holds))) for place, holds in outcomes.items()},
            )

        compiled = tf.function(whole, autograph=False)

        def run(arrays: Arrays) -> Arrays:
            results, outcomes = compiled(arrays)
            if not tf.executing_eagerly():
                for place, holds in outcomes.items():
                    message = f"{guards[place].recorded()} and is not for this call"
                    results = assert_or_poison(results, holds, message)
            else:
                require_outcomes(outcomes, guards)
            return results

        return run

    def differs_between_devices(self, array: Any, axis: DeviceAxis) -> bool:
        return False

    def collective(self, name: str, array: Any, axis_name: str) -> Any:
        if name in _EXTREMES:
            if array.dtype == tf.bool:
                return tf.cast(self.collective(name, tf.cast(array, tf.int32), axis_name), tf.bool)
            slices = vectorized_axis(axis_name)
            return (
                slices.exchange(array, name)
                if slices
                else _EXTREMES[name](self.all_gather(array, axis_name), 0)
            )
        total = self._total(self.reducible(name, array), axis_name)
        return total if name == "psum" else total / tf.cast(self.axis_size(axis_name), total.dtype)

    def reducible(self, name: str, array: Any) -> Any:
        if name == "psum":
            return tf.cast(array, tf.int32) if array.dtype == tf.bool else array
        return _floating(array) if name == "pmean" else array

    def _total(self, array: Any, axis_name: str) -> Any:
        slices = vectorized_axis(axis_name)
        return slices.exchange(array, "psum") if slices else _total(self._context(axis_name), array)

    def all_gather(self, array: Any, axis_name: str) -> Any:
        slices = vectorized_axis(axis_name)
        return (
            slices.exchange(array, "all_gather") if slices else _all_gather(self._context(axis_name), array)
        )

    def axis_index(self, axis_name: str) -> Any:
        slices = vectorized_axis(axis_name)
        return (
            slices.index if slices else tf.cast(self._context(axis_name).replica_id_in_sync_group, tf.int32)
        )

    def axis_size(self, axis_name: str) -> Any:
        slices = vectorized_axis(axis_name)
        return slices.size if slices else int(self._context(axis_name).num_replicas_in_sync)

    def _context(self, axis_name: str) -> Any:
        context = tf.distribute.get_replica_context()
        if context is None or context.strategy is not native_axis(axis_name, "tensorflow"):
            raise LookupError(axis_name)
        return context

    def mesh_axes(self, mesh: Any) -> Mapping[str, int] | None:
        raise NotCompilable(_NO_MESH)

    def laid_out(self, array: Any, mesh: Any, layout: Layout) -> Any:
        return self.mesh_axes(mesh)

    def constrained(self, array: Any, mesh: Any, layout: Layout) -> Any:
        return self.mesh_axes(mesh)

    def partitioned(
        self,
        function: Callable[[Arrays, Arrays], Arrays],
        mesh: Any,
        batch: Sequence[str],
        split: Sequence[bool],
        local_batch: bool,
    ) -> Callable[[Arrays, Arrays], Arrays]:
        raise NotCompilable(_NO_MESH)

    def training_over_axis(
        self, held: StepState, make: Make, axis: DeviceAxis, local_batch: bool
    ) -> tuple[Training, StepState]:
        # A tf.cond cannot contain collectives.
        if held.scaling:
            raise NotCompilable(
                "precision='float16' scales the loss and leaves out updates, which tensorflow cannot do on "
                "many devices: create the state "
                "with precision='bfloat16', or for jax or torch"
            )
        engine = TensorFlowDataParallel(axis.native)
        return engine, transfer_state(engine, held, make)

    def training_over_mesh(
        self,
        held: StepState,
        make: Make,
        mesh: Any,
        layouts: Mapping[str, Layout],
        batch: Sequence[str],
        local_batch: bool,
    ) -> tuple[Training, StepState]:
        raise NotCompilable(_NO_MESH)

    def training_alone(self, training: Training, held: StepState, make: Make) -> tuple[Training, StepState]:
        return alone, transfer_state(alone, held, make)


def _floating(array: Any) -> Any:
    return array if derivatives.is_differentiable(array) else tf.cast(array, tf.float32)


def _total(context: Any, array: Any) -> Any:
    """Sum ``array`` over the replicas, with a gradient that sums the cotangents over them."""

    @tf.custom_gradient
    def total(array: Any) -> Any:
        # Without the identity, a tensor from outside that all replicas share would be counted once.
        return context.all_reduce(_SUM, tf.identity(array)), lambda cotangent: _total(
            _gradient_context(context), cotangent
        )

    return total(array)


def _all_gather(context: Any, array: Any) -> Any:
    @tf.custom_gradient
    def gathered(array: Any) -> Any:
        def gradient(cotangent: Any) -> Any:
            return _total(_gradient_context(context), cotangent)[context.replica_id_in_sync_group]

        return context.all_gather(array[None], axis=0), gradient

    return tf.ensure_shape(gathered(array), [context.num_replicas_in_sync, *array.shape])


def _gradient_context(context: Any) -> Any:
    now = tf.distribute.get_replica_context()
    if now is None or now.strategy is not context.strategy:
        raise GradientRefused(
            "TensorFlow has no gradient of a collective but inside of the function that the devices run: "
            "take the gradient there, and "
            "parallel.pmean of it, or leave the collective out and use reduce='mean'"
        )
    return now


parallelism = TensorFlowParallelism()
