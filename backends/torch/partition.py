"""Sharding of arrays over a ``DeviceMesh``, and functions of sharded arrays, by ``DTensor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...contracts.parallelism import Arrays, Layout, running_over_mesh
from ...errors import UnsupportedOperation
from .collectives import COMMUNICATION, communication_errors
from .transforms import ComposingMode

_REMEDY = (
    "torch has no rule for this operation on a DTensor of such a layout. Lay the parameters before it out "
    "otherwise, by rules=, give the "
    "array a layout by parallel.hint, or split the batch alone (parallel.rules.fsdp)"
)


def mesh_axes(mesh: Any) -> Mapping[str, int] | None:
    if not isinstance(mesh, DeviceMesh) or mesh.mesh_dim_names is None:
        return None
    return dict(zip(mesh.mesh_dim_names, mesh.shape))


def placements(mesh: DeviceMesh, layout: Layout) -> list[Any]:
    found: list[Any] = [Replicate()] * mesh.ndim
    for axis, names in enumerate(layout):
        for name in (names,) if isinstance(names, str) else names or ():
            found[(mesh.mesh_dim_names or ()).index(name)] = Shard(axis)
    return found


def laid_out(array: Any, mesh: DeviceMesh, layout: Layout) -> Any:
    """Return the tensor or ``DTensor`` ``array`` as a ``DTensor`` over ``mesh``, split by ``layout``.

    The result is detached, and requires a gradient if ``array`` does.
    """
    whole = array.full_tensor() if isinstance(array, DTensor) else array
    with communication_errors(mesh.get_group(0)):
        found = distribute_tensor(whole.detach(), mesh, placements(mesh, layout))
    return found.requires_grad_(array.requires_grad)


def constrained(array: Any, mesh: DeviceMesh, layout: Layout) -> Any:
    return array.redistribute(mesh, placements(mesh, layout)) if isinstance(array, DTensor) else array


def partitioned(
    function: Callable[[Arrays, Arrays], Arrays],
    mesh: DeviceMesh,
    batch: Sequence[str],
    split: Sequence[bool],
    local_batch: bool,
) -> Callable[[Arrays, Arrays], Arrays]:
    along = [(mesh.mesh_dim_names or ()).index(name) for name in batch]

    def run(parameters: Arrays, arrays: Arrays) -> Arrays:
        with over_mesh(mesh):
            there = [replicate_over(parameter, along) for parameter in parameters]
            given = [
                distribute_input(array, mesh, along if is_split else (), local_batch)
                for array, is_split in zip(arrays, split)
            ]
            return [full_tensor(array) for array in function(there, given)]

    return run


@contextmanager
def over_mesh(mesh: DeviceMesh) -> Iterator[None]:
    """Run the ``with`` block over ``mesh``, where ``DTensor`` takes plain tensors as replicated."""
    # ``DTensor`` has no rule for the fused kernel of attention on CPU.
    attention = sdpa_kernel(SDPBackend.MATH) if mesh.device_type == "cpu" else nullcontext()
    try:
        with (
            communication_errors(mesh.get_group(0), COMMUNICATION),
            implicit_replication(),
            attention,
            ComposingMode(),
            running_over_mesh(mesh),
        ):
            yield
    except NotImplementedError as problem:
        raise UnsupportedOperation(f"{problem}. {_REMEDY}") from problem


def replicate_over(parameter: Any, along: Sequence[int]) -> Any:
    """Return the ``DTensor`` ``parameter`` replicated over the mesh axes with the indices ``along``."""
    # The gradient of this is reduce-scattered, as in FSDP.
    wanted = [
        Replicate() if axis in along else placement for axis, placement in enumerate(parameter.placements)
    ]
    return parameter.redistribute(placements=wanted)


def distribute_input(array: Any, mesh: DeviceMesh, along: Sequence[int], local_batch: bool) -> Any:
    wanted = [Shard(0) if axis in along else Replicate() for axis in range(mesh.ndim)]
    if isinstance(array, DTensor):
        return array.redistribute(mesh, wanted)
    if local_batch and along:
        return DTensor.from_local(array, mesh, wanted)
    # torch's check of equal elements would exchange the array.
    whole = DTensor.from_local(array, mesh, [Replicate()] * mesh.ndim, run_check=False)
    return whole.redistribute(placements=wanted)


def full_tensor(array: Any) -> Any:
    return array.full_tensor() if isinstance(array, DTensor) else array
