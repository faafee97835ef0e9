"""Recorded variants of a graph, and what they contain."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import GuardFailed
from ..ops.dtypes import NARROWED
from ..recording.request import AbandonedWay, log_abandoned_way
from ..trees import Path, flatten, paths, unflatten
from .calling.binding import AlternativeCalls, StaticArguments, positional
from .calling.matcher import narrows
from .foreign_objects import Call, widen
from .kept_state import state_of
from .missing_weights import require_weights
from .pipeline import Pipeline
from .variant import Variant

if TYPE_CHECKING:
    from ..ir.graph import Graph as IRGraph


class RecordedGraph:
    """Base class of :class:`Graph`: the recorded variants and what they contain."""

    name: str
    _pipeline: Pipeline
    _variants: list[Variant]
    # The reasons of the latest refused calls, and the latest failed ways to record that belong to no
    # variant.
    _refused: deque[str]
    _gave_up: deque[AbandonedWay]
    # Graphs for other frameworks, in which recorded functions call this one.
    _written_for: dict[str, RecordedGraph]
    _on_miss: str
    # Static arguments of a ``StaticGraph``.
    _statics: StaticArguments | None = None

    @property
    def variants(self) -> Sequence[Variant]:
        """Recorded variants; empty before anything is recorded."""
        return tuple(self._variants)

    @property
    def program(self) -> IRGraph:
        """Program of the first variant. Printed, it shows operations with dtypes, shapes and your lines.

        Traverse its ``nodes`` and their ``regions``, count them by ``count_operations()``, export them by
        ``to_networkx()``, run the program with :class:`graph_compiler.passes.Interpreter`, or rewrite it by
        a pass of your own (option ``passes`` of ``compile``). Programs of other variants are
        ``variants[i].graph``.
        """
        return self._variants[0].graph

    @property
    def source(self) -> str:
        """Python source that was generated for the first variant."""
        return self._variants[0].source

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Weights and buffers by name, as arrays of the graph's framework.

        A variant may contribute none if its weights were replaced by arrays of another shape or dtype. Raises
        ``WeightsMissing`` if the model is on ``meta`` and has no weights yet.
        """
        require_weights(self._variants)
        found: dict[str, Any] = {}
        for variant in self._variants:
            # Some frameworks raise if a weight was replaced by one of another shape or dtype.
            with suppress(GuardFailed):
                found.update(variant.parameters())
        return found

    @property
    def state(self) -> Mapping[str, Any]:
        """Buffers and weights that a call writes, and other state that calls keep, by name."""
        written = {name for variant in self._variants for name in variant.written_buffers()}
        return {
            **{name: array for name, array in self.parameters.items() if name in written},
            **state_of(self._variants),
        }

    @property
    def trained(self) -> frozenset[str]:
        """Names of the parameters to train, without frozen parameters and buffers."""
        return self._differentiable - self.frozen

    @property
    def _differentiable(self) -> frozenset[str]:
        """Names of the parameters that can be trained: those in :attr:`trained` and :attr:`frozen`."""
        owners, written = (
            {name: recording.weights for name, recording in self._recordings().items() if recording},
            set(self.state),
        )
        known = {
            name
            for name, weights in owners.items()
            if weights.is_trained(name) and (weights.tells_buffers or name not in written)
        }
        return frozenset(known | (set(self.parameters) - owners.keys() - written))

    @property
    def frozen(self) -> frozenset[str]:
        """Names of the parameters that could be trained, but are excluded, as by ``requires_grad=False``."""
        owners = self._recordings()
        return frozenset(
            name
            for name in self._differentiable
            if (owner := owners.get(name)) is not None and owner.weights.is_frozen(name)
        )

    def _recordings(self) -> Mapping[str, Any]:
        return {
            name: variant.recording
            # In reverse order, so that the first variant that has a parameter overwrites the others.
            for variant in reversed(self._variants)
            for name in variant.graph.parameters
        }

    @property
    def guards(self) -> Sequence[str]:
        """Guards of the first variant on sizes and elements, as text."""
        return tuple(str(guard) for guard in self._variants[0].graph.guards)

    @property
    def gave_up(self) -> Sequence[AbandonedWay]:
        """More general or faster ways to record that were tried and abandoned, each with the reason.

        Of those that belong to no variant only the latest 16 are kept.
        """
        return tuple(
            dict.fromkeys([*(each for variant in self._variants for each in variant.gave_up), *self._gave_up])
        )

    @functools.cached_property
    def _alternative_calls(self) -> AlternativeCalls:
        static = frozenset() if self._statics is None else self._statics.names
        return AlternativeCalls(lambda: self._pipeline.function, static)

    def _note_given_up(self, way: str, problem: Exception) -> None:
        self._gave_up.append(log_abandoned_way(self.name, way, problem))

    def _why_missed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] | None = None
    ) -> str:
        from .calling.mismatch import why_missed

        names = positional(self._pipeline.function)
        return (
            "; ".join(
                f"variant {i}: {why_missed(variant, args, kwargs, given, names)}"
                for i, variant in enumerate(self._variants)
            )
            or "first call"
        )

    # The class is no ``ABC``, whose ``isinstance`` is slower; mypy checks abstract methods without it.
    @abstractmethod
    def add_variant(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = "asked for"
    ) -> Variant: ...

    @abstractmethod
    def to(self, framework: str) -> RecordedGraph: ...

    @abstractmethod
    def _functional(
        self,
        parameters: Mapping[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        rng: Any,
        given: Any = None,
        compiled: bool = False,
        in_place: bool = False,
    ) -> tuple[Any, dict[str, Any]]: ...

    @abstractmethod
    def _hide_calls(self) -> None: ...


# -------------------------------------------------------------------------------------------- recorded dtypes
# Recorded 64-bit dtypes of arguments, for the original's calls with arrays that a target has narrowed.


def recorded_types(variants: Sequence[Variant]) -> Mapping[Path, str]:
    """Return recorded dtypes of arguments that the target narrows, by their paths in ``(args, kwargs)``."""
    if not variants or not narrows(variants[0].target):
        return {}
    found: dict[Path, set[str]] = {}
    for variant in variants:
        for path, value in zip(paths(variant.graph.input_tree), variant.graph.inputs):
            found.setdefault(path, set()).add(value.dtype)
    return {
        path: next(iter(types))
        for path, types in found.items()
        if len(types) == 1 and types <= NARROWED.keys()
    }


def with_recorded_types(variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the call with narrowed arrays converted to their recorded dtypes where these are known."""
    types = recorded_types(variants)
    if not types:
        return args, kwargs
    target = variants[0].target
    leaves, tree = flatten((args, kwargs), lambda item: isinstance(item, target.array_types))
    made = [widen(leaf, types.get(path), target) for path, leaf in zip(paths(tree), leaves)]
    # The user's own containers are passed on if no array in them is widened.
    if all(one is other for one, other in zip(made, leaves)):
        return args, kwargs
    call: Call = unflatten(tree, made)
    return call
