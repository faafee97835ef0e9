"""What a graph tells of itself: its variants, their source, weights and assumptions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import GuardFailed
from ..ir.node import every
from .meta_weights import require_weights
from .variant import Variant

if TYPE_CHECKING:
    import networkx

    from ..ir.graph import Graph as IRGraph
    from .over_limit import Limit


class Inspected:
    """The part of a graph that only looks at what was recorded."""

    name: str
    _variants: list[Variant]
    _refused: deque[str]
    _limit: Limit

    @property
    def variants(self) -> Sequence[Variant]:
        """The variants recorded so far."""
        return tuple(self._variants)

    @property
    def program(self) -> IRGraph:
        """The program of the first variant, as it is written: printed, it shows each node with types and your line, regions set in below
        it.

        Walk it (``program.nodes``, ``node.regions``), run it with :class:`graph_compiler.passes.Interpreter`, or have it rewritten by a
        pass of your own (``compile(..., passes=[...])``). Of the others see ``variants[i].graph``.
        """
        return self._variants[0].graph

    @property
    def source(self) -> str:
        """Generated source of the first variant; of the others see ``variants[i].source``."""
        return self._variants[0].source

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Weights and persistent buffers that the graph uses, by their ``state_dict`` names, as arrays of the graph's framework.

        ``WeightsMissing`` where the model is on ``meta``, and its weights were not loaded yet.
        """
        require_weights(self._variants)
        found: dict[str, Any] = {}
        for variant in self._variants:
            with suppress(GuardFailed):  # of weights that were replaced by others of another shape
                found.update(variant.parameters())
        return found

    @property
    def constants(self) -> Mapping[str, Any]:
        """Arrays that were computed once, of the first variant."""
        return dict(self._variants[0].constants)

    @property
    def guards(self) -> Sequence[str]:
        """What the first variant assumes beyond its signature, in words."""
        return tuple(str(guard) for guard in self._variants[0].graph.guards)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The first variant as a ``networkx.MultiDiGraph``: see :meth:`graph_compiler.ir.Graph.to_networkx`."""
        return self._variants[0].graph.to_networkx()

    def explain(self) -> str:
        """Every variant in words: what it was recorded with, why, and what it assumes; and the latest calls that were refused, with the
        reason."""
        from .explain import explain

        return explain(self.name, self._variants, self._refused, self._limit.explain())

    def function_frequencies(self) -> dict[str, int]:
        """How often each operation stands in the graph, the most frequent first; all variants together.

        >>> import torch, graph_compiler
        >>> graph_compiler.compile(lambda x: (x.sin() + 1).sin(), args=(torch.ones(2),)).function_frequencies()
        {'torch.Tensor.sin': 2, 'torch.Tensor.add': 1}
        """
        return dict(Counter(node.op for variant in self._variants for node in every(variant.graph.nodes)).most_common())
