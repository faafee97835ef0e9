"""Calls of a graph as a pure function of its parameters: nothing is recorded, and nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CallMismatch, GuardFailed

if TYPE_CHECKING:
    from .graph import Graph


def purely(
    graph: Graph, parameters: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], rng: Any, given: Any
) -> tuple[Any, dict[str, Any]]:
    """See :meth:`Graph.purely`."""
    if not isinstance(parameters, Mapping):
        raise CallMismatch(f"{graph.name}: parameters come first, a dict of arrays by their names: functional(graph.parameters, ...)")
    variants = [variant for variant in graph.variants if variant.holds()]
    problem: GuardFailed | None = None
    for variant in variants:
        held = variant.state.read(given) if variant.state else ()
        leaves = variant.match(args, kwargs, held) if variant.state else variant.match(args, kwargs)
        if leaves is not None:
            try:
                return variant.pure(parameters, leaves, rng, held)
            except GuardFailed as failed:  # on elements; another variant may be for these
                problem = failed
    if problem is not None:
        raise problem
    for variant in variants:
        found = variant.match_unknown(args, kwargs) if variant.match_unknown else None
        if found is not None:
            outcome = variant.pure(parameters, found[0], rng)
            fitting: tuple[Any, dict[str, Any]] = variant.target.where_sizes_fit(outcome, found[1])  # type: ignore[attr-defined]
            return fitting
    raise GuardFailed(f"{graph.name}: no recorded variant fits this call: {graph.why_missed(args, kwargs)}")
