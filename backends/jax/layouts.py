"""Layouts of JAX's arrays over meshes, and the way of arrays there and back."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from ...contracts.parallelism import Layout
from ...errors import CollectiveFailed


def sharding(mesh: Mesh, layout: Layout) -> NamedSharding:
    """On a mesh whose axes are automatic: XLA chooses the layouts that nobody has asked for."""
    return NamedSharding(Mesh(mesh.devices, mesh.axis_names), PartitionSpec(*layout))


def automatic(array: Any) -> Any:
    """The array with the same layout where axes of its mesh are explicit: operations on such need a layout for each result."""
    mesh = None if isinstance(array, jax.core.Tracer) else getattr(getattr(array, "sharding", None), "mesh", None)
    if mesh is None or AxisType.Explicit not in mesh.axis_types:
        return array
    return jax.device_put(array, NamedSharding(Mesh(mesh.devices, mesh.axis_names), array.sharding.spec))


def placed(array: Any, where: NamedSharding, is_local: bool = False) -> Any:
    """On the devices of the sharding, where elements are there to be moved; what is there already is not moved."""
    if isinstance(array, jax.core.Tracer) or getattr(array, "sharding", None) == where:
        return array
    if jax.process_count() == 1:
        return jax.device_put(array, where)
    if is_local:
        return jax.make_array_from_process_local_data(where, np.asarray(array))
    if not array.is_fully_addressable:
        return jax.device_put(array, where)
    elements = np.asarray(array)
    return jax.make_array_from_callback(elements.shape, where, lambda index: elements[index])


def single(array: Any) -> Any:
    """On the first device; of an array on devices of other processes too, what all of them hold together."""
    array = automatic(array)  # an array on one device would keep the explicit axes of its type
    if not array.is_fully_addressable and not array.is_fully_replicated:
        array = jax.jit(lambda whole: whole, out_shardings=NamedSharding(array.sharding.mesh, PartitionSpec()))(array)
    return jax.device_put(array if array.is_fully_addressable else np.asarray(array), jax.local_devices()[0])


class failures:
    """Errors of communication with other processes as this package's. A class, as each call enters it: less runs than of a generator."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, jax.errors.JaxRuntimeError) and jax.process_count() > 1:
            raise CollectiveFailed(f"a step over {jax.process_count()} processes failed: {problem}") from problem
