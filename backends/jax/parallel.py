"""Many devices in JAX: ``jax.shard_map`` over a mesh, ``jax.lax`` collectives, ``jax.sharding`` layouts."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...contracts.parallelism import (
    Arrays,
    DeviceAxis,
    Layout,
    Parallelism,
    Spread,
    batches,
    collected_guards,
    is_count,
    outcomes_by_place,
    require_count,
    require_outcomes,
    running_over,
    running_over_mesh,
)
from ...contracts.training import Arrays as TrainingArrays
from ...contracts.training import Make, Program, StepState, Training
from ...errors import InvalidOption
from ...ir.graph import Guard
from .dialect import CommunicationErrors, automatic, placed, sharding, single
from .dialect import sharding as sharding_of
from .native import invalidated_unless
from .training import JaxTraining
from .training import training as alone
from .transforms import derivatives


class JaxTrainingOverMesh(JaxTraining):
    """Training engine that runs each step over a mesh.

    Batches are split over the axes ``batch``. With ``local_batch``, a process passes the rows of its own
    devices.
    """

    def __init__(self, mesh: Mesh, batch: Sequence[str], local_batch: bool) -> None:
        self._mesh, self._batch, self._local_batch = mesh, tuple(batch), local_batch
        self._parts = math.prod(mesh.shape[name] for name in self._batch)
        self._whole, self._divided = sharding(mesh, ()), sharding(mesh, (self._batch,) if self._batch else ())
        self._rate: tuple[float, Any] | None = None

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        compiled: dict[Any, Callable[..., Any]] = {}
        # The state after the last step, which has its shardings already, and the program of that step.
        last: tuple[Callable[[], Any], Callable[..., Any]] = (type(None), step)

        def placed_with_program(held: StepState) -> tuple[StepState, Callable[..., Any]]:
            leaves, key = jax.tree.flatten(held)
            leaves = list(map(self._on_mesh, leaves))
            # The shardings are part of the program, so they are those of the first state of a structure.
            if key not in compiled:
                layouts = key.unflatten([array.sharding for array in leaves])
                compiled[key] = super(JaxTrainingOverMesh, self).compiled(
                    self._constrained(step, layouts, is_consuming), is_consuming, options
                )
            return key.unflatten(leaves), compiled[key]

        def run(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            nonlocal last
            placed, program = (held, last[1]) if last[0]() is held else placed_with_program(held)
            try:
                found: tuple[StepState, Any] = program(placed, self._split(arrays), self._everywhere(rate))
            # JAX would call a program that has failed once by its slow path from then on. The trace of a step
            # may raise any exception.
            except Exception:
                compiled.clear()
                last = type(None), step
                with CommunicationErrors():
                    raise
            last = weakref.ref(found[0]), program
            return found

        return run

    def _constrained(self, step: Program, layouts: StepState, is_consuming: bool) -> Program:
        whole = self._whole

        def constrained(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            with running_over_mesh(self._mesh):
                after, found = step(held, arrays, rate)
            where = (
                # A step that does not consume its state returns gradients first.
                jax.tree.map(lambda _: whole, found)
                if is_consuming
                else (layouts.trained, jax.tree.map(lambda _: whole, found[1]))
            )
            made: tuple[StepState, Any] = jax.lax.with_sharding_constraint((after, found), (layouts, where))
            return made

        return constrained

    def _everywhere(self, rate: Any) -> Any:
        if rate is None:
            return None
        if self._rate is None or self._rate[0] != rate:
            self._rate = rate, placed(jnp.float32(rate), self._whole)
        return self._rate[1]

    def _split(self, arrays: Any) -> Any:
        # A mapping contains gradients, which are sharded like the parameters.
        if isinstance(arrays, Mapping):
            return arrays
        parts = 1 if self._local_batch else self._parts
        where = {True: self._divided, False: self._whole}
        return [
            placed(array, where[is_split], self._local_batch) for array, is_split in batches(arrays, parts)
        ]

    def _on_mesh(self, array: Any) -> Any:
        return array if len(array.sharding.device_set) == self._mesh.size else placed(array, self._whole)

    def placed(self, array: Any, where: Any) -> Any:
        is_batch = where is None and len(array.shape) and array.shape[0] % self._parts == 0
        return super().placed(array, self._divided if is_batch and self._batch else where)

    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        alone = super().once(function)
        return lambda *arrays: alone(*jax.tree.map(single, arrays))

    def snapshot(self, array: Any) -> Any:
        return single(array)

    def storable(self, array: Any) -> Any:
        return super().storable(single(array))

    def restored(self, array: Any, like: Any) -> Any:
        return placed(super().restored(array, like), like.sharding)

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: TrainingArrays) -> Any:
        found, like = (
            super().with_optimizer_arrays(make, held, arrays),
            self.new_optimizer_state(make, held.trained),
        )
        return jax.tree.map(lambda array, other: placed(array, self._on_mesh(other).sharding), found, like)

    def optimizer_arrays(self, make: Make, held: StepState) -> TrainingArrays:
        return {name: single(array) for name, array in super().optimizer_arrays(make, held).items()}


def shard_state(held: StepState, mesh: Mesh, layouts: Mapping[str, Layout]) -> StepState:
    """Return a copy of ``held`` on the mesh, with parameters sharded by ``layouts``.

    Arrays with the name and shape of a parameter, such as its optimizer state, are sharded like it.
    """
    shapes = {name: array.shape for name, array in held.parameters.items()}

    def sharded(path: Any, array: Any) -> Any:
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey) and key.key in shapes]
        is_like = bool(names) and array.shape == shapes[names[-1]]
        layout = layouts.get(names[-1], ()) if is_like else ()
        return placed(
            jnp.copy(array), NamedSharding(Mesh(mesh.devices, mesh.axis_names), PartitionSpec(*layout))
        )

    found: StepState = jax.tree_util.tree_map_with_path(sharded, held)
    return found


def unshard_state(held: StepState) -> StepState:
    found: StepState = jax.tree.map(lambda array: jnp.copy(single(array)), held)
    return found


_COLLECTIVES: dict[str, Callable[..., Any]] = {
    "psum": jax.lax.psum,
    "pmean": jax.lax.pmean,
    "pmax": jax.lax.pmax,
    "pmin": jax.lax.pmin,
}
# For each reduction, the function of a device's result, and True if the devices' results are parts of the
# complete one. Otherwise they are equal.
_REDUCED: dict[Any, tuple[Callable[[Any, str], Any], bool]] = {
    "concat": (lambda array, axis: array if array.ndim else array[None], True),
    "mean": (jax.lax.pmean, False),
    "sum": (jax.lax.psum, False),
    "first": (lambda array, axis: array, False),
}


def _stacked(array: Any, axis: str) -> Any:
    return array[None]


def _differs(array: Any, axis: str) -> Any:
    """Return a 0-d boolean: True if an element of ``array`` differs between the devices along ``axis``."""
    if jnp.iscomplexobj(array):
        return _differs(array.real, axis) | _differs(array.imag, axis)
    if jnp.issubdtype(array.dtype, jnp.floating):
        is_nan = jnp.isnan(array)
        return _differs(is_nan, axis) | _differs_in_numbers(jnp.where(is_nan, 0, array), axis)
    return _differs_in_numbers(array.astype("int32") if array.dtype == bool else array, axis)


def _differs_in_numbers(array: Any, axis: str) -> Any:
    return jnp.any(jax.lax.pmax(array, axis) != jax.lax.pmin(array, axis))


class JaxParallelism(Parallelism):
    """JAX's parallelism over meshes, whose explicit axes are treated as automatic ones."""

    a_mesh = "jax.make_mesh((2, 4), ('data', 'model'))"

    def array(self, item: Any) -> Any:
        return automatic(derivatives.array(item))

    def call_keys(self) -> Mapping[type, Callable[[Any], Any]]:
        with jax.ensure_compile_time_eval():
            # The property ``sharding`` is a Python function that returns this attribute, and slower.
            return {type(jnp.zeros(())): operator.attrgetter("aval", "_sharding")}

    def axis(self, devices: Any, name: str) -> DeviceAxis:
        if is_count(devices):
            devices = jax.devices()[
                : require_count(devices, len(jax.devices()), "JAX devices (jax.devices())")
            ]
        if isinstance(devices, Mesh):
            devices = (
                devices.devices.ravel() if devices.devices.size == dict(devices.shape).get(name) else None
            )
            if devices is None:
                raise InvalidOption(
                    f"devices= is a mesh that has more than the axis {name!r}; pass a list of devices, or "
                    "axis_name="
                )
        found = (
            list(jax.devices() if devices is None else devices)
            if devices is None or isinstance(devices, Iterable)
            else []
        )
        if not found or not all(isinstance(device, jax.Device) for device in found):
            raise InvalidOption(
                f"devices= is {devices!r}, and has to be a list of JAX devices such as jax.devices(), how "
                "many, or a mesh"
            )
        local = sum(device.process_index == jax.process_index() for device in found)
        return DeviceAxis(name, len(found), local, Mesh(np.array(found), (name,)))

    def is_replicated(self, array: Any, axis: DeviceAxis) -> bool:
        while isinstance(array, jax.core.Tracer) and hasattr(array, "primal"):
            array = array.primal
        if isinstance(array, jax.core.Tracer):
            raise InvalidOption(
                "an argument is traced by jax.jit or jax.vmap, where its layout cannot be seen; say "
                "replicated_argnums="
            )
        sharding = getattr(array, "sharding", None)
        return sharding is not None and sharding.is_fully_replicated and len(sharding.device_set) == axis.size

    def replicated(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        return [placed(array, NamedSharding(axis.native, PartitionSpec())) for array in arrays]

    def gathered(self, array: Any) -> Any:
        return single(array)

    def spread(self, function: Callable[[Arrays], Arrays], how: Spread) -> Callable[[Arrays], Arrays]:
        name, mesh = how.axis.name, how.axis.native
        reduced, is_part = _REDUCED.get(how.reduce, (_stacked, True))
        specs = [PartitionSpec(name) if split else PartitionSpec() for split in how.split]

        guards: list[Guard] = []

        def given(*arrays: Any) -> tuple[Arrays, dict[int, Any]]:
            with running_over(name, "jax"), collected_guards(core.trace_ctx.trace) as collected:
                results = [reduced(array, name) for array in function(list(arrays))]
            outcomes = outcomes_by_place(collected, guards)
            return results, {
                place: jax.lax.pmin(holds.astype(int), name) != 0 for place, holds in outcomes.items()
            }

        out = PartitionSpec(name) if is_part else PartitionSpec(), PartitionSpec()
        # JAX's check would reject functions whose results it cannot prove to be replicated.
        mapped = jax.shard_map(given, mesh=mesh, in_specs=tuple(specs), out_specs=out, check_vma=False)
        after: Callable[[Any], Any] = how.reduce if callable(how.reduce) else lambda array: array

        def whole(*arrays: Any) -> tuple[Arrays, dict[int, Any]]:
            results, outcomes = mapped(*arrays)
            return list(map(after, results)), outcomes

        compiled = jax.jit(whole)
        places = [
            (place, NamedSharding(mesh, specs[place]), how.local_batch and how.split[place])
            for place in range(how.parameters, len(specs))
        ]
        several = jax.process_count() > 1

        def run(arrays: Arrays) -> Arrays:
            for place, where, is_local in places:
                # The program itself moves arrays that are not committed to a device.
                array = arrays[place]
                # The private attributes are read because the public properties take longer at each call.
                if several or getattr(array, "_committed", False) and array._sharding != where:
                    arrays[place] = placed(array, where, is_local)
            try:
                results, outcomes = compiled(*arrays)
            except jax.errors.JaxRuntimeError:
                with CommunicationErrors():
                    raise
            if any(isinstance(holds, jax.core.Tracer) for holds in outcomes.values()):
                failing = tuple(guards[place] for place in outcomes)
                results = invalidated_unless(results, tuple(outcomes.values()), failing)
            else:
                require_outcomes(outcomes, guards)
            return list(map(_parts, results)) if how.reduce == "none" else results

        return run

    def differs_between_devices(self, array: Any, axis: DeviceAxis) -> bool:
        if isinstance(array, jax.core.Tracer):
            return False
        whole = PartitionSpec()
        # The devices compare, because a process cannot read those of other processes.
        differs = jax.shard_map(
            lambda array: _differs(array, axis.name),
            mesh=axis.native,
            in_specs=whole,
            out_specs=whole,
            check_vma=False,
        )
        return bool(jax.jit(differs)(array))

    def collective(self, name: str, array: Any, axis_name: str) -> Any:
        with _unbound(axis_name):
            return _COLLECTIVES[name](array, axis_name)

    def reducible(self, name: str, array: Any) -> Any:
        if name == "psum":
            return array.astype("int32") if array.dtype == bool else array
        return array / 1 if name == "pmean" and not jnp.issubdtype(array.dtype, jnp.inexact) else array

    def all_gather(self, array: Any, axis_name: str) -> Any:
        with _unbound(axis_name):
            return jax.lax.all_gather(array, axis_name)

    def axis_index(self, axis_name: str) -> Any:
        with _unbound(axis_name):
            return jax.lax.axis_index(axis_name)

    def axis_size(self, axis_name: str) -> int:
        with _unbound(axis_name):
            return int(jax.lax.psum(1, axis_name))

    def mesh_axes(self, mesh: Any) -> Mapping[str, int] | None:
        return dict(mesh.shape) if isinstance(mesh, Mesh) else None

    def laid_out(self, array: Any, mesh: Any, layout: Layout) -> Any:
        return placed(array, sharding_of(mesh, layout))

    def constrained(self, array: Any, mesh: Any, layout: Layout) -> Any:
        return jax.lax.with_sharding_constraint(array, sharding_of(mesh, layout))

    def partitioned(
        self,
        function: Callable[[Arrays, Arrays], Arrays],
        mesh: Any,
        batch: Sequence[str],
        split: Sequence[bool],
        local_batch: bool,
    ) -> Callable[[Arrays, Arrays], Arrays]:
        compiled = jax.jit(function)

        def run(parameters: Arrays, arrays: Arrays) -> Arrays:
            layouts = [sharding_of(mesh, (tuple(batch),) if is_split and batch else ()) for is_split in split]
            with CommunicationErrors(), running_over_mesh(mesh):
                found: Arrays = compiled(
                    parameters,
                    [placed(array, sharding, local_batch) for array, sharding in zip(arrays, layouts)],
                )
            return found

        return run

    def training_over_axis(
        self, held: StepState, make: Make, axis: DeviceAxis, local_batch: bool
    ) -> tuple[Training, StepState]:
        return JaxTrainingOverMesh(axis.native, [axis.name], local_batch), shard_state(held, axis.native, {})

    def training_over_mesh(
        self,
        held: StepState,
        make: Make,
        mesh: Any,
        layouts: Mapping[str, Layout],
        batch: Sequence[str],
        local_batch: bool,
    ) -> tuple[Training, StepState]:
        return JaxTrainingOverMesh(mesh, batch, local_batch), shard_state(held, mesh, layouts)

    def training_alone(self, training: Training, held: StepState, make: Make) -> tuple[Training, StepState]:
        return alone, unshard_state(held)


def _parts(array: Any) -> Any:
    """Return the results of this process's devices, stacked in ``array``, or of all devices while tracing."""
    if isinstance(array, jax.core.Tracer):
        return list(array)
    shards = sorted(array.addressable_shards, key=lambda shard: shard.index[0].start or 0)
    return [jnp.squeeze(shard.data, 0) for shard in shards]


@contextmanager
def _unbound(axis_name: str) -> Iterator[None]:
    try:
        yield
    except NameError as problem:
        raise LookupError(axis_name) from problem


parallelism = JaxParallelism()
