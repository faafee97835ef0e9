"""Calls of a graph as a pure function of its parameters: nothing is recorded, and nothing is changed."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CallMismatch, GuardFailed
from ..trees import Branch, Tree, TypedLeaf
from .alternatives import Alternative, joined
from .sorted_keys import in_recorded_order

if TYPE_CHECKING:
    from ..contracts import Target
    from .graph import Graph
    from .spelling import Call
    from .variant import Variant


def purely(
    graph: Graph,
    parameters: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    rng: Any,
    given: Any,
    compiled: bool = False,
    in_place: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """See :meth:`Graph._purely`."""
    if not isinstance(parameters, Mapping):
        raise CallMismatch(f"{graph.name}: parameters come first, a dict of arrays by their names: functional(graph.parameters, ...)")
    variants = [variant for variant in graph.variants if variant.environment.holds()]
    problem: GuardFailed | None = None
    open_ones: list[Alternative] = []
    for variant, call in _spelt(graph, variants, args, kwargs):
        held = _held(variant, given)
        leaves = variant.match(*call, held) if variant.state else variant.match(*call)
        if leaves is not None and all(one.variant is not variant for one in open_ones):
            run = functools.partial(variant.unchecked, parameters, leaves, rng, held, compiled, in_place)
            try:
                whole, checks = run()
                if any(map(variant.target.is_traced, checks)):
                    open_ones.append(Alternative(variant, whole, checks, run))
                else:
                    return variant.target.checked(whole, checks, variant.program.checks) if checks else whole
            except GuardFailed as failed:  # on elements; another variant may be for these
                problem = failed
    if open_ones:
        return joined(graph.name, open_ones)
    if problem is not None:
        raise problem
    for variant, call in _spelt(graph, variants, args, kwargs):
        found = variant.match_unknown(*call) if variant.match_unknown else None
        if found is not None:
            outcome = variant.pure(parameters, found[0], rng)
            fitting: tuple[Any, dict[str, Any]] = variant.target.where_sizes_fit(outcome, found[1])
            return fitting
    raise GuardFailed(f"{graph.name}: no recorded variant fits this call: {graph._why_missed(args, kwargs, given)}")


def _spelt(graph: Graph, variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Variant, Call]]:
    """The variants with the call as it is given, then those that were recorded with another spelling, or order of keys, with the call spelt
    so."""
    yield from ((variant, (args, kwargs)) for variant in variants)
    yield from graph._spellings.others(variants, args, kwargs)
    yield from in_recorded_order(variants, args, kwargs)


def _held(variant: Variant, given: Any) -> tuple[Any, ...]:
    """What the places of a variant hold; of what is ``given``, arrays where it has numbers of Python, which compiled functions give back,
    as numbers."""
    if variant.state is None:
        return ()
    held = variant.state.read(given)
    if not given or not isinstance(variant.state.tree, Branch):
        return held
    return tuple(_number(variant.target, tree, item) for tree, item in zip(variant.state.tree.children, held))


def _number(target: Target, tree: Tree, item: Any) -> Any:
    if not isinstance(tree, TypedLeaf) or tree.type not in (int, float) or type(item) is tree.type:
        return item
    array = target.convert(item)
    is_number = array is not None and not target.is_traced(array) and tuple(array.shape) == ()
    return tree.type(target.elements(array)) if is_number else item
