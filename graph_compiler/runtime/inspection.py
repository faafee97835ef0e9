"""What a graph tells of itself: its variants, their source, weights and assumptions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import GuardFailed
from ..ir.node import every
from ..tracing.gave_up import GaveUp
from .meta_weights import require_weights
from .settling import state_of
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
    _gave_up: deque[GaveUp]
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
    def state(self) -> Mapping[str, Any]:
        """The buffers that a call of the graph writes to, and other places where it keeps state, by name, as they are at the moment."""
        written = {name for variant in self._variants for name in variant.written_buffers()}
        return {**{name: array for name, array in self.parameters.items() if name in written}, **state_of(self._variants)}

    @property
    def trained(self) -> frozenset[str]:
        """Names of the parameters that the original trains: none that are frozen, no buffers (in numpy: what calls write to)."""
        return self._differentiable - self.frozen

    @property
    def _differentiable(self) -> frozenset[str]:
        """Names of the parameters that have derivatives, whether or not the original trains them: :attr:`trained` and :attr:`frozen`."""
        owners, written = {name: recording.weights for name, recording in self._recordings().items() if recording}, set(self.state)
        known = {name for name, weights in owners.items() if weights.is_trained(name) and (weights.tells_buffers or name not in written)}
        return frozenset(known | (set(self.parameters) - owners.keys() - written))

    @property
    def frozen(self) -> frozenset[str]:
        """Names of the parameters that the original keeps from training (``requires_grad=False``) at the moment."""
        owners = self._recordings()
        return frozenset(name for name in self._differentiable if (owner := owners.get(name)) is not None and owner.weights.is_frozen(name))

    def _recordings(self) -> Mapping[str, Any]:
        """By the name of a parameter, the recording of the first variant that has it: of several models each has its own."""
        return {name: variant.recording for variant in reversed(self._variants) for name in variant.graph.parameters}

    @property
    def constants(self) -> Mapping[str, Any]:
        """Arrays that were computed once, of the first variant."""
        return dict(self._variants[0].constants)

    @property
    def guards(self) -> Sequence[str]:
        """What the first variant assumes beyond its signature, in words."""
        return tuple(str(guard) for guard in self._variants[0].graph.guards)

    @property
    def gave_up(self) -> Sequence[GaveUp]:
        """What was tried while the variants were recorded, and left for another way; see :class:`GaveUp`.

        Results are right all the same: what was left is more general, or faster.
        """
        return tuple(dict.fromkeys([*(each for variant in self._variants for each in variant.gave_up), *self._gave_up]))

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The first variant as a ``networkx.MultiDiGraph``: see :meth:`graph_compiler.ir.Graph.to_networkx`."""
        return self._variants[0].graph.to_networkx()

    def explain(self) -> str:
        """Every variant in words: what it was recorded with, why, and what it assumes; and the latest calls that were refused, with the
        reason."""
        from .explain import explain

        return explain(self.name, self._variants, self._refused, self._limit.explain(), self._gave_up)

    def function_frequencies(self) -> dict[str, int]:
        """How often each operation stands in the graph, the most frequent first; all variants together.

        >>> import torch, graph_compiler
        >>> graph_compiler.compile(lambda x: (x.sin() + 1).sin(), args=(torch.ones(2),)).function_frequencies()
        {'torch.Tensor.sin': 2, 'torch.Tensor.add': 1}
        """
        return dict(Counter(node.op for variant in self._variants for node in every(variant.graph.nodes)).most_common())
