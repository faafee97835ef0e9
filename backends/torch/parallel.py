"""Parallelism by ``torch.distributed`` and ``DTensor``, and collectives as operators of recordings."""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import Function
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

from ...contracts import Parallelism
from ...contracts.parallelism import (
    Arrays,
    DeviceAxis,
    Layout,
    ModuleFunction,
    Spread,
    batches,
    begin_axis,
    end_axis,
    is_count,
    require_count,
)
from ...contracts.training import Arrays as TrainingArrays
from ...contracts.training import Make, Program, StepState, Training
from ...errors import CallMismatch, GradientRefused, InvalidOption, UnsupportedOperation
from ...ops.collectives import RECORDED_DEVICES, REDUCTIONS
from ...recording import active
from .axes import ProcessAxis, axis_by_name
from .collectives import (
    NO_GRADIENT,
    CheckedExchanges,
    Exchanges,
    SharedAcrossDevices,
    all_reduce,
    apply_flattened,
    apply_function,
    broadcast,
    communication_errors,
    exchange,
    is_differentiated_or_transformed,
)
from .module import FunctionalModule
from .partition import (
    constrained,
    distribute_input,
    full_tensor,
    laid_out,
    mesh_axes,
    over_mesh,
    partitioned,
    replicate_over,
)
from .training import TorchTraining
from .training import training as alone
from .transforms import derivatives

# --------------------------------------------------------------------------------------- recorded collectives
# Collectives as operators (``torch.ops.graph_compiler.psum(x, axis_name)``), which recordings contain.
#
# While a function is recorded, there is one device, and all others are taken to hold the same arrays.
# Recorded calls of these operators exchange arrays.

_kernels = torch.ops.graph_compiler


class _CollectiveFunction(Function):
    """Autograd function ``(name, array, axis_name)`` for a collective while a function is recorded."""

    @staticmethod
    def forward(ctx: Any, name: str, array: Any, axis_name: str) -> Any:
        ctx.kind, ctx.axis_name = name, axis_name
        # Enclosing transforms need gradients to be enabled, which they are not inside of forward().
        with torch.enable_grad(), torch._C._AutoDispatchBelowAutograd():
            return getattr(_kernels, f"{name}_kernel")(array, axis_name)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        if ctx.kind in ("pmax", "pmin"):
            raise GradientRefused(NO_GRADIENT)
        if ctx.kind == "all_gather":
            raise UnsupportedOperation(
                "a gradient through parallel.all_gather, taken inside of a function of torch, cannot be "
                "recorded: its kernels have the "
                "number of devices that there were. Record the function without its gradient, and take that "
                "of the graph "
                "(transforms.grad), or call the function itself by parallel.Parallel"
            )
        return (
            None,
            (_kernels.pmean_kernel if ctx.kind == "pmean" else _kernels.psum_kernel)(
                cotangent, ctx.axis_name
            ),
            None,
        )


def _differentiable_kernel(*operands: Any) -> Any:
    with enable_single_level_autograd_function():
        return super(Function, _CollectiveFunction).apply(*operands)


def _clone(x: Any, axis_name: str) -> Any:
    return x.clone()


def _stack(x: Any, axis_name: str) -> Any:
    return torch.stack([x] * RECORDED_DEVICES)


def _apply_hint(x: Any, layout: str) -> Any:
    if not isinstance(x, DTensor):
        return x.clone()
    axes = tuple(tuple(names.split("+")) if names else None for names in layout.split(","))
    return constrained(x, x.device_mesh, axes)


def define(engine: Parallelism) -> torch.library.Library:
    """Define collectives, axis indices and ``sharding_hint`` as operators ``graph_compiler::<name>``.

    Return the library of the operators, which exist as long as it does.
    """
    library = torch.library.Library("graph_compiler", "FRAGMENT")

    def operator(signature: str, exchanged: Callable[..., Any], recorded: Callable[..., Any]) -> None:
        name = signature.partition("(")[0]

        def run(*operands: Any) -> Any:
            try:
                return exchanged(*operands)
            except LookupError:
                if active.anywhere and active.recording:
                    return recorded(*operands)
                raise InvalidOption(
                    f"parallel.{name}: axis_name= is {operands[-1]!r}, and the code here runs over no such "
                    "axis; call the graph by "
                    f"parallel.Parallel(graph, axis_name={operands[-1]!r})"
                ) from None

        library.define(f"{signature} -> Tensor")
        library.impl(
            name, run, "CompositeImplicitAutograd" if "Tensor" in signature else "CompositeExplicitAutograd"
        )

    collectives = {name: functools.partial(engine.collective, name) for name in REDUCTIONS} | {
        "all_gather": engine.all_gather
    }
    for name, collective in collectives.items():
        library.define(f"{name}_kernel(Tensor x, str axis_name) -> Tensor")
        library.impl(
            f"{name}_kernel", _stack if name == "all_gather" else _clone, "CompositeExplicitAutograd"
        )
        library.impl(f"{name}_kernel", functools.partial(_differentiable_kernel, name), "Autograd")
        operator(f"{name}(Tensor x, str axis_name)", collective, getattr(_kernels, f"{name}_kernel"))
    operator(
        "axis_index(str axis_name)", engine.axis_index, lambda axis_name: torch.tensor(0, dtype=torch.int32)
    )
    indices = functools.partial(torch.arange, dtype=torch.int32)
    operator(
        "axis_indices(str axis_name)",
        lambda name: indices(engine.axis_size(name)),
        lambda name: indices(RECORDED_DEVICES),
    )
    library.define("sharding_hint(Tensor x, str layout) -> Tensor")
    library.impl("sharding_hint", _apply_hint, "CompositeImplicitAutograd")
    return library


# --------------------------------------------------------------------------------------------------- parallel
# Number of bits of a batch size that are compared.
_SIZE_BITS = 40


class TorchDataParallel(TorchTraining):
    """Training engine in which each process computes its part of the batch.

    local_batch: True if a process is called with its own part instead of the whole batch.
    """

    def __init__(self, group: Any, local_batch: bool) -> None:
        self._group = group
        self._parts, self._place = (1, 0) if local_batch else (int(group.size()), int(group.rank()))
        # The number of rows of this process's part of the current batch.
        self._rows = 0
        # For the last number of rows, a tensor of its bits, to be averaged.
        self._bits: dict[int, Any] = {}

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        compiled = super().compiled(step, is_consuming, options)

        def run(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            held, results = compiled(held, self._part(arrays), rate)
            if written := [
                array
                for array in (*held.buffers.values(), *held.places.values())
                if array.is_floating_point()
            ]:
                with torch.no_grad():
                    torch._foreach_copy_(written, apply_flattened(self._mean, written))
            return held, results

        return run

    def _part(self, arrays: Any) -> Any:
        # Gradients are given by name.
        if isinstance(arrays, Mapping):
            return arrays
        found = batches(arrays, self._parts)
        self._rows = next((array.shape[0] // self._parts for array, is_split in found if is_split), 0)
        first = self._place * self._rows
        return [array.narrow(0, first, self._rows) if is_split else array for array, is_split in found]

    def averaged(
        self, gradients: TrainingArrays, metrics: TrainingArrays
    ) -> tuple[TrainingArrays, TrainingArrays]:
        floating = {name: array for name, array in metrics.items() if array.is_floating_point()}
        # The sizes are sent with the gradients, since an exchange of their own would make each step wait once
        # more.
        rows = self._rows
        if rows not in self._bits:
            bits = [rows >> place & 1 for place in range(_SIZE_BITS)]
            self._bits = {rows: metrics["loss"].new_tensor(bits, dtype=torch.float32)}
        *averaged, bits = apply_flattened(
            self._mean, [*gradients.values(), *floating.values(), self._bits[rows]]
        )
        self._require_one_size(bits)
        return dict(zip(gradients, averaged)), {**metrics, **dict(zip(floating, averaged[len(gradients) :]))}

    def _require_one_size(self, bits: Any) -> None:
        # A bit that is the same in all sizes has the mean 0 or 1, which is exact.
        # On a GPU, reading the bits would wait for the exchange, so they are not checked there.
        if bits.is_cpu and not {0.0, 1.0}.issuperset(means := bits.tolist()):
            mean = sum(bit * 2**place for place, bit in enumerate(means))
            raise CallMismatch(
                f"the processes give batches of different sizes: {self._rows} rows here, {mean:g} in the "
                "mean of all; all have to give one size: leave the rest of the last batch out "
                "(drop_last=True)"
            )

    def _mean(self, flat: Any) -> Any:
        return all_reduce("sum", flat, self._group).div_(self._group.size())


class TorchTrainingOverMesh(TorchTraining):
    """Training engine for a state of ``DTensor`` over ``mesh``.

    batch: mesh axes that the batch is split over.
    local_batch: True if a process is called with its own part instead of the whole batch.
    """

    def __init__(self, mesh: DeviceMesh, batch: Sequence[str], local_batch: bool) -> None:
        self._mesh, self._local_batch = mesh, local_batch
        self._along = [(mesh.mesh_dim_names or ()).index(name) for name in batch]

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        def run(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            with over_mesh(self._mesh):
                held, results = step(held, self._split(arrays), rate)
                return held, results if isinstance(arrays, Mapping) else self._metrics(results)

        return run

    def _split(self, arrays: Any) -> Any:
        # Gradients are given by name.
        if isinstance(arrays, Mapping):
            return arrays
        count = 1
        for axis in self._along if not self._local_batch else ():
            count *= self._mesh.size(axis)
        found = batches(arrays, count)
        return [
            distribute_input(array, self._mesh, self._along if is_split else (), self._local_batch)
            for array, is_split in found
        ]

    def _metrics(self, results: Any) -> Any:
        if isinstance(results, tuple):
            return results[0], self._metrics(results[1])
        return {name: full_tensor(array) for name, array in results.items()}

    def gradients(
        self, function: Callable[[TrainingArrays], tuple[Any, Any]], trained: TrainingArrays
    ) -> tuple[Any, Any, TrainingArrays]:
        def of_gathered(arrays: TrainingArrays) -> tuple[Any, Any]:
            value, aux = function(
                {name: replicate_over(array, self._along) for name, array in arrays.items()}
            )
            return full_tensor(value), aux

        value, aux, gradients = super().gradients(of_gathered, trained)
        like = {
            name: gradient.redistribute(placements=trained[name].placements)
            for name, gradient in gradients.items()
        }
        return value, aux, like

    def with_elements(self, held: TrainingArrays, new: TrainingArrays) -> TrainingArrays:
        found = super().with_elements(held, new)
        return {
            name: array.redistribute(placements=held[name].placements)
            if isinstance(held[name], DTensor)
            else array
            for name, array in found.items()
        }

    def norm(self, arrays: TrainingArrays) -> Any:
        return full_tensor(super().norm(arrays))

    def scaled(self, arrays: TrainingArrays, factor: Any) -> TrainingArrays:
        return {name: array * full_tensor(factor) for name, array in arrays.items()}

    def is_finite(self, arrays: TrainingArrays) -> Any:
        return all(bool(full_tensor(torch.isfinite(array).all())) for array in arrays.values())

    def detached(self, array: Any) -> Any:
        return full_tensor(array).detach()

    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda parameters, *rest: function(
            {name: full_tensor(array) for name, array in parameters.items()}, *rest
        )

    def snapshot(self, array: Any) -> Any:
        return full_tensor(array).detach().clone()

    def storable(self, array: Any) -> Any:
        return super().storable(full_tensor(array))

    def restored(self, array: Any, like: Any) -> Any:
        return _distribute_like(like, super().restored(array, like))

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: TrainingArrays) -> Any:
        found = super().with_optimizer_arrays(make, held, arrays)
        for tensor, state in found.state.items():
            state.update(
                (key, _distribute_like(tensor, value))
                for key, value in state.items()
                if _is_like(tensor, key, value)
            )
        return found

    def optimizer_arrays(self, make: Make, held: StepState) -> TrainingArrays:
        return {name: full_tensor(array) for name, array in super().optimizer_arrays(make, held).items()}


def _is_like(parameter: Any, key: str, value: Any) -> bool:
    # The step count of a parameter without axes has the same shape; torch, too, knows it by its name.
    return key != "step" and isinstance(value, torch.Tensor) and value.shape == parameter.shape


def _distribute_like(like: Any, array: Any) -> Any:
    return distribute_tensor(array, like.device_mesh, like.placements) if isinstance(like, DTensor) else array


def replicate_state(held: StepState, make: Make, group: Any) -> StepState:
    """Copy the training state ``held``, with the parameters of process 0 of ``group`` and a new seed.

    All processes of the group have to call this function.
    """

    def first(name: str, array: Any) -> Any:
        return broadcast(array.detach().clone(memory_format=torch.contiguous_format), group).requires_grad_(
            array.requires_grad
        )

    found = _copy_state(held, make, first)
    # Processes draw different random numbers. Their own seeds may differ, and sums with the rank be equal.
    seed = torch.randint(2**62, (), generator=found.rng, device=found.rng.device)
    found.rng.manual_seed(int(broadcast(seed, group)) + dist.get_rank(group))
    return found


def shard_state(held: StepState, make: Make, mesh: DeviceMesh, layouts: Mapping[str, Layout]) -> StepState:
    """Return a copy of the training state ``held``, with its parameters over ``mesh`` by ``layouts``."""

    def sharded(name: str, array: Any) -> Any:
        # Without the copy, replicated arrays would share memory with the original.
        own = array.detach().clone().requires_grad_(array.requires_grad)
        return laid_out(own, mesh, layouts.get(name, ()))

    return _copy_state(held, make, sharded)


def unshard_state(held: StepState, make: Make) -> StepState:
    return _copy_state(
        held,
        make,
        lambda name, array: full_tensor(array).detach().clone().requires_grad_(array.requires_grad),
    )


def _copy_state(held: StepState, make: Make, copy_array: Callable[[str, Any], Any]) -> StepState:
    """Return a copy of the training state ``held``, with a new optimizer in the same state.

    ``copy_array(name, array)`` copies an array that belongs to ``name``.
    """
    trained = {name: copy_array(name, array) for name, array in held.trained.items()}
    parts = ("fixed", "buffers", "places", "ema", "accumulated")
    rest = {
        part: {name: copy_array(name, array) for name, array in getattr(held, part).items()} for part in parts
    }
    alone = TorchTraining()
    optimizer = alone.new_optimizer_state(make, trained)
    for name, tensor in held.trained.items():
        for key, value in held.optimizer.state.get(tensor, {}).items():
            # Optimizers write to the tensors of their state, so these are copied.
            optimizer.state[trained[name]][key] = (
                copy_array(name, value) if _is_like(tensor, key, value) else copy.deepcopy(value)
            )
    rng = alone.with_rng_arrays(alone.rng_arrays(held.rng), next(iter(trained.values())))
    return replace(held, trained=trained, optimizer=optimizer, rng=rng, scaling=dict(held.scaling), **rest)


@dataclass(frozen=True)
class _ProcessGroup:
    """Group of processes along the axis of a mesh of one axis.

    exchanges: collectives of the group. The first access waits for all processes.
    """

    mesh: DeviceMesh

    @functools.cached_property
    def group(self) -> Any:
        return self.mesh.get_group()

    @functools.cached_property
    def exchanges(self) -> CheckedExchanges:
        return CheckedExchanges(self.group)


@functools.lru_cache(maxsize=16)
def _mesh_of_first(size: int, name: str, world: Any) -> DeviceMesh:
    """Return a mesh of one axis over the first ``size`` processes of the default group.

    All processes of the default group have to call this function.
    """
    kind = "cuda" if dist.get_backend() == "nccl" else "cpu"
    if size == world.size():
        return init_device_mesh(kind, (size,), mesh_dim_names=(name,))
    # Torch numbers groups in the order of creation, so processes outside of this group have to create it,
    # too, and equally often.
    return DeviceMesh(kind, list(range(size)), mesh_dim_names=(name,))


class TorchParallelism(Parallelism):
    """Implementation of ``Parallelism`` by ``torch.distributed``, with one process per device."""

    a_mesh = "init_device_mesh('cpu', (2, 4), mesh_dim_names=('data', 'model'))"

    def array(self, item: Any) -> Any:
        return item if isinstance(item, torch.Tensor) else derivatives.array(item)

    def call_keys(self) -> Mapping[type, Callable[[Any], Any]]:
        return {torch.Tensor: operator.attrgetter("shape", "dtype")}

    def axis(self, devices: Any, name: str) -> DeviceAxis:
        if not (dist.is_available() and dist.is_initialized()):
            raise InvalidOption(
                "torch runs one process for each device, and no group of processes is set up in this one: "
                "start all of them with torchrun, "
                "and call torch.distributed.init_process_group('gloo', timeout=...) (on GPUs 'nccl') first"
            )
        if isinstance(devices, DeviceMesh) and devices.ndim == 1:
            return DeviceAxis(name, devices.size(), 1, _ProcessGroup(devices))
        if devices is not None and not is_count(devices):
            raise InvalidOption(
                f"devices= is {devices!r}, and has to be a DeviceMesh of one axis in torch, how many "
                "processes, or left out for all of them"
            )
        world, rank = dist.get_world_size(), dist.get_rank()
        size = (
            world if devices is None else require_count(devices, world, "processes in torch's default group")
        )
        mesh = _mesh_of_first(size, name, dist.group.WORLD)
        if rank >= size:
            raise InvalidOption(
                f"devices= is {size}, and this process is number {rank} of {world}, counted from 0: only the "
                f"first {size} run the "
                f"function. Start {size} processes, or leave devices= out for all of them"
            )
        return DeviceAxis(name, size, 1, _ProcessGroup(mesh))

    def is_replicated(self, array: Any, axis: DeviceAxis) -> bool:
        return isinstance(array, DTensor) and all(placement.is_replicate() for placement in array.placements)

    def replicated(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        return [
            DTensor.from_local(array, axis.native.mesh, [Replicate()], run_check=False)
            for array in self.broadcast_parameters(arrays, axis)
        ]

    def broadcast_parameters(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        local = list(map(_local, arrays))
        sent = apply_flattened(
            lambda flat: broadcast(flat, axis.native.group), [array.detach() for array in local]
        )
        with torch.no_grad():
            for array, elements in zip(local, sent):
                array.copy_(elements)
        return local

    def gathered(self, array: Any) -> Any:
        if not isinstance(array, DTensor):
            return array
        with communication_errors(array.device_mesh.get_group(0)):
            return array.full_tensor()

    def as_module_function(self, function: Any) -> ModuleFunction | None:
        return FunctionalModule(function) if isinstance(function, torch.nn.Module) else None

    def spread(self, function: Callable[[Arrays], Arrays], how: Spread) -> Callable[[Arrays], Arrays]:
        mesh, over = how.axis.native.mesh, how.axis.native.exchanges
        axis, whole = ProcessAxis(over), list(range(how.parameters))
        split: list[int] = []
        for place in range(how.parameters, len(how.split)):
            (split if how.split[place] else whole).append(place)
        parts = [] if how.local_batch else split
        laid_out = [place for place in range(how.parameters, len(how.split)) if place not in parts]
        combine = _reduction(how.reduce, mesh)

        def run(arrays: Arrays) -> Arrays:
            batch = arrays[split[0]] if split else None
            over.begin(batch)
            for place in parts:
                arrays[place] = exchange(arrays[place], "local_rows", over)
            for place in laid_out:
                arrays[place] = _local(arrays[place])
            token = begin_axis(how.axis.name, "torch", axis)
            try:
                results = function(_sum_shared_gradients(arrays, whole, over.group))
            finally:
                end_axis(token)
            found = [combine(array, over) for array in results]
            # Without any exchange, different batch sizes would go unnoticed.
            if not over.made and batch is not None:
                over.compare(batch)
            return found

        return run

    def differs_between_devices(self, array: Any, axis: DeviceAxis) -> bool:
        all_of_them = Exchanges(axis.native.group).stacked(_local(array).detach())
        return not all(
            # NaN differs from NaN in torch.equal, which is faster.
            torch.equal(first := all_of_them[0], other) or torch.allclose(first, other, 0, 0, True)
            for other in all_of_them
        )

    def collective(self, name: str, array: Any, axis_name: str) -> Any:
        axis = axis_by_name(axis_name)
        if name in ("pmax", "pmin"):
            return axis.exchange(array, name)
        total = axis.exchange(self.reducible(name, array), "total")
        return total if name == "psum" else total / axis.size

    def reducible(self, name: str, array: Any) -> Any:
        return _countable(array) if name == "psum" else _floating(array) if name == "pmean" else array

    def all_gather(self, array: Any, axis_name: str) -> Any:
        return axis_by_name(axis_name).exchange(array, "stacked")

    def axis_index(self, axis_name: str) -> Any:
        return torch.as_tensor(axis_by_name(axis_name).index, dtype=torch.int32)

    def axis_size(self, axis_name: str) -> int:
        return axis_by_name(axis_name).size

    def mesh_axes(self, mesh: Any) -> Mapping[str, int] | None:
        return mesh_axes(mesh)

    def laid_out(self, array: Any, mesh: Any, layout: Layout) -> Any:
        return laid_out(array, mesh, layout)

    def constrained(self, array: Any, mesh: Any, layout: Layout) -> Any:
        return constrained(array, mesh, layout)

    def partitioned(
        self,
        function: Callable[[Arrays, Arrays], Arrays],
        mesh: Any,
        batch: Sequence[str],
        split: Sequence[bool],
        local_batch: bool,
    ) -> Callable[[Arrays, Arrays], Arrays]:
        return partitioned(function, mesh, batch, split, local_batch)

    def training_over_axis(
        self, held: StepState, make: Make, axis: DeviceAxis, local_batch: bool
    ) -> tuple[Training, StepState]:
        group = axis.native.group
        return TorchDataParallel(group, local_batch), replicate_state(held, make, group)

    def training_over_mesh(
        self,
        held: StepState,
        make: Make,
        mesh: Any,
        layouts: Mapping[str, Layout],
        batch: Sequence[str],
        local_batch: bool,
    ) -> tuple[Training, StepState]:
        return TorchTrainingOverMesh(mesh, batch, local_batch), shard_state(held, make, mesh, layouts)

    def training_alone(self, training: Training, held: StepState, make: Make) -> tuple[Training, StepState]:
        return alone, unshard_state(held, make)


def _local(array: Any) -> Any:
    return array.to_local() if isinstance(array, DTensor) else array


def _sum_shared_gradients(arrays: Arrays, whole: Sequence[int], group: Any) -> Arrays:
    """Return ``arrays``, where gradients of those at ``whole`` are summed over the devices.

    The list may be changed in place.
    """
    # Under a transform, every array may need a gradient, otherwise only those with ``requires_grad``.
    all_are = is_differentiated_or_transformed()
    if not all_are and not torch.is_grad_enabled():
        return arrays
    places = [
        place
        for place in whole
        if arrays[place].requires_grad or all_are and derivatives.is_differentiable(arrays[place])
    ]
    if places:
        for place, array in zip(
            places, apply_function(SharedAcrossDevices, group, *[arrays[place] for place in places])
        ):
            arrays[place] = array
    return arrays


def _reduction(reduce: Any, mesh: DeviceMesh) -> Callable[[Any, Exchanges], Any]:
    def first(array: Any, over: Exchanges) -> Any:
        # The arrays are taken to be equal in all processes, so torch need not compare them.
        return DTensor.from_local(
            exchange(array, "replicated_result", over), mesh, [Replicate()], run_check=False
        )

    def of_all(array: Any, over: Exchanges) -> Any:
        return reduce(exchange(array[None], "concatenated", over))

    return _REDUCTIONS.get(reduce, first if reduce == "first" else of_all)


def _countable(array: Any) -> Any:
    return array.long() if array.dtype == torch.bool else array


def _floating(array: Any) -> Any:
    return array if derivatives.is_differentiable(array) else array.to(torch.get_default_dtype())


_REDUCTIONS: dict[Any, Callable[[Any, Exchanges], Any]] = {
    "none": lambda array, over: [array],
    "concat": lambda array, over: exchange(array if array.ndim else array[None], "concatenated", over),
    "sum": lambda array, over: exchange(_countable(array), "summed_result", over),
    "mean": lambda array, over: exchange(_floating(array), "summed_result", over) / over.size,
}
parallelism = TorchParallelism()
# The operators exist as long as the library does.
_library = define(parallelism)
