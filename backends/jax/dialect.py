"""How the source for JAX differs from that of other targets: products are computed as precisely as in the source framework."""

from __future__ import annotations

from typing import Final

from ...ir.graph import Graph
from ...ops.registry import get
from ..dialect import CanonicalDialect

# Sections of the vocabulary with operations that multiply matrices.
_OF_PRODUCTS: Final = frozenset(
    {"linear algebra", "linalg", "attention", "convolution", "linear layers", "recurrent layers", "resampling", "statistics"}
)


class JaxDialect(CanonicalDialect):
    """See :class:`CanonicalDialect`.

    On accelerators JAX multiplies float32 in fewer bits unless it is told otherwise, torch and NumPy do not. On a CPU it makes no difference.
    """

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """The precision of the source, where it is noted and there are products."""
        precision = graph.notes.get("matmul_precision")
        if precision is None or not any(get(node.op).section in _OF_PRODUCTS for node in graph.nodes):
            return ()
        return (f"@jax.default_matmul_precision({precision!r})".replace("'", '"'),)
