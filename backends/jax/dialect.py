"""How the source for JAX differs from that of other targets: products are computed as precisely as in the source framework."""

from __future__ import annotations

from ...ir.graph import Graph
from ...ops.registry import get
from ...ops.sections import SECTIONS
from ..dialect import CanonicalDialect


class JaxDialect(CanonicalDialect):
    """See :class:`CanonicalDialect`.

    On accelerators JAX multiplies float32 in fewer bits unless it is told otherwise, torch and NumPy do not. On a CPU it makes no difference.
    """

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """The precision of the source, where it is noted and there are products."""
        precision = graph.notes.get("matmul_precision")
        if precision is None or not any(SECTIONS[get(node.op).section] for node in graph.nodes):
            return ()
        return (f"@jax.default_matmul_precision({precision!r})".replace("'", '"'),)
