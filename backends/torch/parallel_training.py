"""Training steps over many devices in torch: data-parallel ones of plain tensors, and steps of ``DTensor`` over a mesh."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, distribute_tensor

from ...contracts.parallelism import Layout
from ...contracts.training import Arrays, Held, Make, Program
from ...errors import CallMismatch
from ..batches import batches
from .collectives import broadcast, together
from .exchanges import reduced
from .partition import gathered, laid_out, over_mesh, placed, whole
from .training import TorchTraining


class TorchDataParallel(TorchTraining):
    """Each process computes with its part of the batch. Gradients, losses and metrics are averaged in one exchange for each type, and
    buffers in another one."""

    def __init__(self, group: Any, local_batch: bool) -> None:
        self._group = group
        self._parts, self._place = (1, 0) if local_batch else (int(group.size()), int(group.rank()))
        self._rows = 0  # of this process's part of the batch of the moment
        self._sizes: dict[int, Any] = {}  # of parts with so many rows, to be averaged

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """Of the part of the batch; buffers, which the model has written to, are averaged then."""
        compiled = super().compiled(step, is_consuming, options)

        def run(held: Held, arrays: Any, rate: Any) -> tuple[Held, Any]:
            held, results = compiled(held, self._part(arrays), rate)
            if written := [array for array in (*held.buffers.values(), *held.places.values()) if array.is_floating_point()]:
                with torch.no_grad():
                    torch._foreach_copy_(written, together(self._mean, written))
            return held, results

        return run

    def _part(self, arrays: Any) -> Any:
        if isinstance(arrays, Mapping):  # gradients
            return arrays
        found = batches(arrays, self._parts)
        self._rows = next((array.shape[0] // self._parts for array, is_split in found if is_split), 0)
        first = self._place * self._rows
        return [array.narrow(0, first, self._rows) if is_split else array for array, is_split in found]

    def agreed(self, gradients: Arrays, metrics: Arrays) -> tuple[Arrays, Arrays]:
        """Averaged."""
        floating = {name: array for name, array in metrics.items() if array.is_floating_point()}
        # sizes go with the gradients, for an exchange of their own would cost each step another wait for all processes
        rows = self._rows
        if rows not in self._sizes:
            self._sizes = {rows: metrics["loss"].new_tensor([rows, rows**2], dtype=torch.float32)}
        *averaged, sizes = together(self._mean, [*gradients.values(), *floating.values(), self._sizes[rows]])
        self._require_one_size(sizes)
        return dict(zip(gradients, averaged)), {**metrics, **dict(zip(floating, averaged[len(gradients) :]))}

    def _require_one_size(self, sizes: Any) -> None:
        """``CallMismatch`` in all processes where their batches differ; on GPUs nobody waits for the answer."""
        if sizes.is_cpu:
            mean, of_squares = sizes.tolist()
            if abs(of_squares - mean**2) > 1e-5 * of_squares:
                raise CallMismatch(
                    f"the processes give batches of different sizes: {self._rows} rows here, {mean:g} in the mean of all; all have to give "
                    "one size: leave the rest of the last batch out (drop_last=True)"
                )

    def _mean(self, flat: Any) -> Any:
        return reduced("sum", flat, self._group).div_(self._group.size())


class TorchTrainingOverMesh(TorchTraining):
    """Steps of ``DTensor``: computed as if they ran on one device. Parameters that are split over the axes of the batch are gathered where
    a step uses them, and their gradients scattered (FSDP)."""

    def __init__(self, mesh: DeviceMesh, batch: Sequence[str], local_batch: bool) -> None:
        self._mesh, self._local_batch = mesh, local_batch
        self._along = [(mesh.mesh_dim_names or ()).index(name) for name in batch]

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """Batches are laid out; metrics are plain tensors."""

        def run(held: Held, arrays: Any, rate: Any) -> tuple[Held, Any]:
            with over_mesh(self._mesh):
                held, results = step(held, self._split(arrays), rate)
                return held, results if isinstance(arrays, Mapping) else self._metrics(results)

        return run

    def _split(self, arrays: Any) -> Any:
        if isinstance(arrays, Mapping):  # gradients
            return arrays
        count = 1
        for axis in self._along if not self._local_batch else ():
            count *= self._mesh.size(axis)
        found = batches(arrays, count)
        return [placed(array, self._mesh, self._along if is_split else (), self._local_batch) for array, is_split in found]

    def _metrics(self, results: Any) -> Any:
        """Of a step, or beside gradients, which stay as they lie."""
        if isinstance(results, tuple):
            return results[0], self._metrics(results[1])
        return {name: whole(array) for name, array in results.items()}

    def gradients(self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays) -> tuple[Any, Any, Arrays]:
        """Of the parameters as they lie."""

        def of_gathered(arrays: Arrays) -> tuple[Any, Any]:
            value, aux = function({name: gathered(array, self._along) for name, array in arrays.items()})
            return whole(value), aux

        value, aux, gradients = super().gradients(of_gathered, trained)
        like = {name: gradient.redistribute(placements=trained[name].placements) for name, gradient in gradients.items()}
        return value, aux, like

    def put(self, held: Arrays, new: Arrays) -> Arrays:
        """As they lay."""
        found = super().put(held, new)
        return {
            name: array.redistribute(placements=held[name].placements) if isinstance(held[name], DTensor) else array
            for name, array in found.items()
        }

    def norm(self, arrays: Arrays) -> Any:
        """A plain tensor."""
        return whole(super().norm(arrays))

    def scaled(self, arrays: Arrays, factor: Any) -> Arrays:
        """One by one: ``DTensor`` has no rule for all at once with a tensor."""
        return {name: array * whole(factor) for name, array in arrays.items()}

    def is_finite(self, arrays: Arrays) -> Any:
        """Of all parts."""
        return all(bool(whole(torch.isfinite(array).all())) for array in arrays.values())

    def detached(self, array: Any) -> Any:
        """A plain tensor."""
        return whole(array).detach()

    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Of plain tensors: recordings are made from the results."""
        return lambda parameters, *rest: function({name: whole(array) for name, array in parameters.items()}, *rest)

    def snapshot(self, array: Any) -> Any:
        """A plain tensor."""
        return whole(array).detach().clone()

    def storable(self, array: Any) -> Any:
        """A plain tensor: all processes save together."""
        return super().storable(whole(array))

    def restored(self, array: Any, like: Any) -> Any:
        """As the tensor lay that it takes the place of."""
        return _lying_as(like, super().restored(array, like))

    def with_optimizer_arrays(self, make: Make, held: Held, arrays: Arrays) -> Any:
        """As the parameters lie that they are of."""
        found = super().with_optimizer_arrays(make, held, arrays)
        for tensor, state in found.state.items():
            state.update((key, _lying_as(tensor, value)) for key, value in state.items() if value.shape == tensor.shape and value.ndim)
        return found

    def optimizer_arrays(self, make: Make, held: Held) -> Arrays:
        """Plain tensors."""
        return {name: whole(array) for name, array in super().optimizer_arrays(make, held).items()}


def _lying_as(like: Any, array: Any) -> Any:
    return distribute_tensor(array, like.device_mesh, like.placements) if isinstance(like, DTensor) else array


def held_over_axis(held: Held, make: Make, group: Any) -> Held:
    """With the elements of the first process, and random numbers of each process's own."""

    def first(name: str, array: Any) -> Any:
        return broadcast(array.detach().clone(memory_format=torch.contiguous_format), group).requires_grad_(array.requires_grad)

    found = _held(held, make, first)
    found.rng.manual_seed(found.rng.initial_seed() + dist.get_rank(group))
    return found


def held_over_mesh(held: Held, make: Make, mesh: DeviceMesh, layouts: Mapping[str, Layout]) -> Held:
    """``DTensor`` with the layouts of the parameters; the optimizer holds such tensors, too."""

    def lying(name: str, array: Any) -> Any:
        own = array.detach().clone().requires_grad_(array.requires_grad)  # what is whole on each device would share its memory
        return laid_out(own, mesh, layouts.get(name, ()))

    return _held(held, make, lying)


def held_by_one(held: Held, make: Make) -> Held:
    """Plain tensors."""
    return _held(held, make, lambda name, array: whole(array).detach().clone().requires_grad_(array.requires_grad))


def _held(held: Held, make: Make, lay: Callable[[str, Any], Any]) -> Held:
    """Copies; what the optimizer holds of a parameter, in its shape, lies as the parameter."""
    trained = {name: lay(name, array) for name, array in held.trained.items()}
    parts = ("fixed", "buffers", "places", "ema", "accumulated")
    rest = {part: {name: lay(name, array) for name, array in getattr(held, part).items()} for part in parts}
    alone = TorchTraining()
    optimizer = alone.begun(make, trained)
    for name, tensor in held.trained.items():
        for key, value in held.optimizer.state.get(tensor, {}).items():
            is_like = isinstance(value, torch.Tensor) and value.ndim and value.shape == tensor.shape
            optimizer.state[trained[name]][key] = lay(name, value) if is_like else copy.copy(value)
    rng = alone.with_rng_arrays(alone.rng_arrays(held.rng), next(iter(trained.values())))
    return replace(held, trained=trained, optimizer=optimizer, rng=rng, scaling=dict(held.scaling), **rest)
