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
    """Properties and methods of a graph that only read what was recorded."""

    name: str
    _variants: list[Variant]
    _refused: deque[str]
    _gave_up: deque[GaveUp]
    _limit: Limit

    @property
    def variants(self) -> Sequence[Variant]:
        """All recorded variants, oldest first."""
        return tuple(self._variants)

    @property
    def program(self) -> IRGraph:
        """Program of the first variant as it is written. Printed, it shows each operation with dtypes, shapes
        and your line.

        Walk it (``program.nodes``, ``node.regions``), run it with :class:`graph_compiler.passes.Interpreter`,
        or rewrite it by a pass of your own (``compile(..., passes=[...])``). Programs of other variants are
        ``variants[i].graph``.
        """
        return self._variants[0].graph

    @property
    def source(self) -> str:
        """Generated source of the first variant. That of others is ``variants[i].source``."""
        return self._variants[0].source

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Weights and persistent buffers that the graph uses, by ``state_dict`` names, as arrays of the graph's
        framework.

        Raises ``WeightsMissing`` if the model is on ``meta`` and has no weights yet.
        """
        require_weights(self._variants)
        found: dict[str, Any] = {}
        for variant in self._variants:
            with suppress(GuardFailed):  # of weights that were replaced by others of another shape
                found.update(variant.parameters())
        return found

    @property
    def state(self) -> Mapping[str, Any]:
        """Buffers that a call writes, and other state that it keeps, by name, with current values."""
        written = {name for variant in self._variants for name in variant.written_buffers()}
        return {**{name: array for name, array in self.parameters.items() if name in written}, **state_of(self._variants)}

    @property
    def trained(self) -> frozenset[str]:
        """Names of the parameters that the original trains: no frozen ones and no buffers. In NumPy, no arrays
        that calls write to.
        """
        return self._differentiable - self.frozen

    @property
    def _differentiable(self) -> frozenset[str]:
        """Names of the parameters that have derivatives, whether or not the original trains them: :attr:`trained` and :attr:`frozen`."""
        owners, written = {name: recording.weights for name, recording in self._recordings().items() if recording}, set(self.state)
        known = {name for name, weights in owners.items() if weights.is_trained(name) and (weights.tells_buffers or name not in written)}
        return frozenset(known | (set(self.parameters) - owners.keys() - written))

    @property
    def frozen(self) -> frozenset[str]:
        """Names of the parameters that the original currently excludes from training
        (``requires_grad=False``).
        """
        owners = self._recordings()
        return frozenset(name for name in self._differentiable if (owner := owners.get(name)) is not None and owner.weights.is_frozen(name))

    def _recordings(self) -> Mapping[str, Any]:
        """By the name of a parameter, the recording of the first variant that has it: of several models each has its own."""
        return {name: variant.recording for variant in reversed(self._variants) for name in variant.graph.parameters}

    @property
    def constants(self) -> Mapping[str, Any]:
        """Arrays of the first variant that were computed once."""
        return dict(self._variants[0].constants)

    @property
    def guards(self) -> Sequence[str]:
        """Guards of the first variant in words."""
        return tuple(str(guard) for guard in self._variants[0].graph.guards)

    @property
    def gave_up(self) -> Sequence[GaveUp]:
        """More general or faster ways to record that were tried and abandoned; each says what and why. Results
        are right all the same.
        """
        return tuple(dict.fromkeys([*(each for variant in self._variants for each in variant.gave_up), *self._gave_up]))

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return the first variant as a ``networkx.MultiDiGraph`` of operations."""
        return self._variants[0].graph.to_networkx()

    def explain(self) -> str:
        """Return a text that says, for each variant, what it was recorded with, why, and what it assumes; and
        why the latest calls were refused.

        >>> import torch, graph_compiler
        >>> print(graph_compiler.compile(torch.relu, args=(torch.ones(2),)).explain())
        relu: 1 variant
        variant 0, recorded because: args= given
          inputs: arg_0 float32[2]
          1 operation, 0 parameters, 0 constants
        """
        from .explain import explain

        return explain(self.name, self._variants, self._refused, self._limit.explain(), self._gave_up)

    def function_frequencies(self) -> dict[str, int]:
        """Return how often each operation occurs in all variants together, most frequent first.

        >>> import torch, graph_compiler
        >>> graph_compiler.compile(lambda x: (x.sin() + 1).sin(), args=(torch.ones(2),)).function_frequencies()
        {'torch.Tensor.sin': 2, 'torch.Tensor.add': 1}
        """
        return dict(Counter(node.op for variant in self._variants for node in every(variant.graph.nodes)).most_common())
