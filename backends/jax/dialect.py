"""How the source for JAX differs from that of other targets: products are computed as precisely as in the source framework."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax

from ...errors import UnsupportedOperation
from ...ir.graph import Graph
from ...ir.node import Node, distinct
from ...ops.registry import get
from ...ops.sections import SECTIONS
from ...trees import map_structure
from ..dialect import CanonicalDialect


class JaxDialect(CanonicalDialect):
    """See :class:`CanonicalDialect`.

    On accelerators JAX multiplies float32 in fewer bits unless it is told otherwise, torch and NumPy do not. On a CPU it makes no
    difference.
    """

    def check(self, graph: Graph) -> None:
        """Whole numbers of more than 32 bits were seen, which JAX has only where it is told to."""
        if graph.demands.wide and not jax.config.jax_enable_x64:
            raise UnsupportedOperation(
                f"{graph.demands.wide} gives whole numbers of more than 32 bits, which JAX has only where jax_enable_x64 is set: they "
                "would wrap around"
            )

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """Return the row's expression, with numbers that the narrowed float64 does not hold as the nearest ones of float32.

        JAX would warn of an overflow and compute with infinities, which turn into NaN where the lowest number of a type does not.
        """
        if not jax.config.jax_enable_x64:
            for item in (*node.inputs, *node.params.values()):
                if type(item) is float and _LARGEST < abs(item) < math.inf or type(item) is tuple and node.op == "asarray":
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
