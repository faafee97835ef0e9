"""Writing of canonical nodes for JAX, and placement of arrays on devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from ...contracts.parallelism import Layout
from ...errors import CollectiveFailed, UnsupportedOperation
from ...ir.graph import Graph
from ...ir.node import Node, distinct
from ...ops.registry import SECTIONS, get
from ...trees import iterate_structure, map_structure
from ..common.rows import CanonicalDialect


def sharding(mesh: Mesh, layout: Layout) -> NamedSharding:
    return NamedSharding(Mesh(mesh.devices, mesh.axis_names), PartitionSpec(*layout))


def automatic(array: Any) -> Any:
    """Return ``array`` with the explicit axes of its mesh made automatic, unless it is traced."""
    # Operations on explicit axes would require a sharding for each result.
    mesh = (
        None
        if isinstance(array, jax.core.Tracer)
        else getattr(getattr(array, "sharding", None), "mesh", None)
    )
    if mesh is None or AxisType.Explicit not in mesh.axis_types:
        return array
    return jax.device_put(array, NamedSharding(Mesh(mesh.devices, mesh.axis_names), array.sharding.spec))


def placed(array: Any, where: NamedSharding, is_local: bool = False) -> Any:
    """Return ``array`` with the sharding ``where``, unless it is traced.

    With several processes, ``is_local`` says that ``array`` is only this process's part of the result.
    """
    if isinstance(array, jax.core.Tracer) or getattr(array, "sharding", None) == where:
        return array
    if jax.process_count() == 1:
        return jax.device_put(array, where)
    if is_local:
        return jax.make_array_from_process_local_data(where, np.asarray(array))
    if not array.is_fully_addressable:
        return jax.device_put(array, where)
    # `jax.device_put` does not place a local array on devices of other processes.
    elements = np.asarray(array)
    return jax.make_array_from_callback(elements.shape, where, lambda index: elements[index])


def single(array: Any) -> Any:
    """Gather ``array``, and return it on the first device of this process."""
    # An array on one device would keep the explicit axes in its type.
    array = automatic(array)
    if not array.is_fully_addressable and not array.is_fully_replicated:
        array = jax.jit(
            lambda whole: whole, out_shardings=NamedSharding(array.sharding.mesh, PartitionSpec())
        )(array)
    return jax.device_put(array if array.is_fully_addressable else np.asarray(array), jax.local_devices()[0])


# This is a class because entering a generator costs more at each call.
class CommunicationErrors:
    """Context manager that raises JAX's runtime errors of several processes as ``CollectiveFailed``."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, jax.errors.JaxRuntimeError) and jax.process_count() > 1:
            raise CollectiveFailed(
                f"a step over {jax.process_count()} processes failed: {problem}"
            ) from problem


class JaxDialect(CanonicalDialect):
    """Writer of canonical nodes for JAX, with the recorded precision of matrix products."""

    def check(self, graph: Graph) -> None:
        if graph.demands.wide and not jax.config.jax_enable_x64:
            raise UnsupportedOperation(
                f"{graph.demands.wide} gives whole numbers of more than 32 bits, which JAX has only where "
                "jax_enable_x64 is set: they "
                "would wrap around"
            )

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        return super().expression(self.clipped(node), text)

    def clipped(self, node: Node) -> Node:
        """Return ``node`` with finite floats clipped to the range of float32 unless JAX has 64 bits."""
        # JAX would convert larger floats to infinities, which can turn into NaN.
        if not jax.config.jax_enable_x64 and any(
            map(_is_too_large, iterate_structure((node.inputs, node.params)))
        ):
            inputs, params = map_structure(_in_single, (node.inputs, node.params))
            return replace(node, inputs=inputs, params=params)
        return node

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        precision = graph.demands.matmul_precision
        # Only operations of some sections multiply matrices, and other graphs need no decorator.
        if precision is None or not any(SECTIONS[get(node.op).section] for node in distinct(graph.nodes)):
            return ()
        return (f"@jax.default_matmul_precision({precision!r})".replace("'", '"'),)


# The largest finite float32.
_LARGEST = 3.4028234663852886e38


def _is_too_large(item: Any) -> bool:
    return type(item) is float and _LARGEST < abs(item) < math.inf


def _in_single(item: Any) -> Any:
    """Clip a finite Python float to the range of float32. Return anything else unchanged.

    >>> _in_single(-1e300), _in_single(0.1), _in_single(float("inf")), _in_single(10**300 > 0)
    (-3.4028234663852886e+38, 0.1, inf, True)
    """
    return math.copysign(_LARGEST, item) if _is_too_large(item) else item
