"""How the source for JAX differs from that of other targets: products are computed as precisely as in the
source framework.
"""

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
from ...trees import map_structure
from ..common.dialect import CanonicalDialect


def sharding(mesh: Mesh, layout: Layout) -> NamedSharding:
    return NamedSharding(Mesh(mesh.devices, mesh.axis_names), PartitionSpec(*layout))


def automatic(array: Any) -> Any:
    """The array with the same layout where axes of its mesh are explicit: operations on such need a layout
    for each result.
    """
    mesh = (
        None
        if isinstance(array, jax.core.Tracer)
        else getattr(getattr(array, "sharding", None), "mesh", None)
    )
    if mesh is None or AxisType.Explicit not in mesh.axis_types:
        return array
    return jax.device_put(array, NamedSharding(Mesh(mesh.devices, mesh.axis_names), array.sharding.spec))


def placed(array: Any, where: NamedSharding, is_local: bool = False) -> Any:
    """On the devices of the sharding, where elements are there to be moved; what is there already is not
    moved.
    """
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
        array = jax.jit(
            lambda whole: whole, out_shardings=NamedSharding(array.sharding.mesh, PartitionSpec())
        )(array)
    return jax.device_put(array if array.is_fully_addressable else np.asarray(array), jax.local_devices()[0])


class failures:
    """Errors of communication with other processes as this package's.

    A class, as each call enters it: less runs than of a generator.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, jax.errors.JaxRuntimeError) and jax.process_count() > 1:
            raise CollectiveFailed(
                f"a step over {jax.process_count()} processes failed: {problem}"
            ) from problem


class JaxDialect(CanonicalDialect):
    """See :class:`CanonicalDialect`.

    On accelerators JAX multiplies float32 in fewer bits unless it is told otherwise, torch and NumPy do not.
    On a CPU it makes no difference.
    """

    def check(self, graph: Graph) -> None:
        """Whole numbers of more than 32 bits were seen, which JAX has only where it is told to."""
        if graph.demands.wide and not jax.config.jax_enable_x64:
            raise UnsupportedOperation(
                f"{graph.demands.wide} gives whole numbers of more than 32 bits, which JAX has only where jax_enable_x64 is set: they "
                "would wrap around"
            )

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """Return the row's expression, with numbers that the narrowed float64 does not hold as the nearest
        ones of float32.

        JAX would warn of an overflow and compute with infinities, which turn into NaN where the lowest number
        of a type does not.
        """
        if not jax.config.jax_enable_x64:
            for item in (*node.inputs, *node.params.values()):
                if (
                    type(item) is float
                    and _LARGEST < abs(item) < math.inf
                    or type(item) is tuple
                    and node.op == "asarray"
                ):
                    inputs, params = map_structure(_in_single, (node.inputs, node.params))
                    return super().expression(replace(node, inputs=inputs, params=params), text)
        return super().expression(node, text)

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """The precision of the source, where it is noted and there are products."""
        precision = graph.demands.matmul_precision
        if precision is None or not any(SECTIONS[get(node.op).section] for node in distinct(graph.nodes)):
            return ()
        return (f"@jax.default_matmul_precision({precision!r})".replace("'", '"'),)


_LARGEST = 3.4028234663852886e38  # float32


def _in_single(item: Any) -> Any:
    """Return the finite float of float32 that is nearest to a finite one; anything else as it is.

    >>> _in_single(-1e300), _in_single(0.1), _in_single(float("inf")), _in_single(10**300 > 0)
    (-3.4028234663852886e+38, 0.1, inf, True)
    """
    return math.copysign(_LARGEST, item) if type(item) is float and _LARGEST < abs(item) < math.inf else item
