"""How the source for JAX differs from that of other targets: products are computed as precisely as in the source framework."""

from __future__ import annotations

import jax

from ...errors import UnsupportedOperation
from ...ir.graph import Graph
from ...ir.node import distinct
from ...ops.registry import get
from ...ops.sections import SECTIONS
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

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """The precision of the source, where it is noted and there are products."""
        precision = graph.demands.matmul_precision
        if precision is None or not any(SECTIONS[get(node.op).section] for node in distinct(graph.nodes)):
            return ()
        return (f"@jax.default_matmul_precision({precision!r})".replace("'", '"'),)
