"""Calls of a graph inside a function that is itself recorded, compiled or differentiated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CallMismatch, GuardFailed, TracingError
from ...recording import active
from ...recording.patches.patch import paused, sessions_here
from ...recording.reachability.snapshot import ObjectSnapshot
from ...recording.state.places import reserved
from ...trees import iterate_structure, map_structure
from ..variant import run_traced

if TYPE_CHECKING:
    from ...contracts import Tracer
    from ..pipeline import Pipeline
    from ..recorded_graph import RecordedGraph


def call_nested(graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``graph`` inside the recording of another function.

    The recording continues into the original, or into the operations of the graph as written for the
    framework that is being recorded.
    """
    pipeline = graph._pipeline.settled(args, kwargs)
    framework = active.framework
    if framework is None or not _runs_as_written(pipeline, framework, args, kwargs):
        return _call_original(pipeline, args, kwargs)
    result, state = _run(_graph_for(graph, pipeline, framework, args, kwargs), args, kwargs)
    if state:
        raise TracingError(
            f"{graph.name} changes {', '.join(map(str, state))} and is called with arrays of {framework} by "
            "a function that is being recorded, which cannot be seen to reach them. Call its functional "
            "there, which returns what it changes beside the result"
        )
    return result


def _call_original(pipeline: Pipeline, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner = getattr(pipeline.function, "__self__", pipeline.function)
    with reserved() as locks:
        world = ObjectSnapshot([(type(owner).__name__, owner)], called=[pipeline.function])
        owners = world.owners()
        locks.only(lambda owner: id(owner) in owners)
        result = pipeline.call_original(args, kwargs)
        if changed := [change.where for change in world.changes() if not active.knows(change.held.item)]:
            world.restore()
            raise TracingError(
                f"{pipeline.name} keeps state ({', '.join(dict.fromkeys(changed))}) and is compiled by "
                "itself, where the function that calls it cannot be seen to reach it, so this cannot be "
                "recorded; call the original there, or hold the compiled one in an attribute, a closure or a "
                "global"
            )
        return result


def _runs_as_written(
    pipeline: Pipeline, framework: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> bool:
    if pipeline.frontend.name == framework:
        return False
    leaves = [
        leaf
        for leaf in iterate_structure((args, kwargs))
        if hasattr(leaf, "dtype") and not isinstance(leaf, np.generic)
    ]
    if any(map(pipeline.frontend.array_access.is_own, filterfalse(_stands_for_array, leaves))):
        return False
    # NumPy's own arrays go to either: to the original, unless the graph is written for the framework.
    return any(not isinstance(leaf, np.ndarray) or _stands_for_array(leaf) for leaf in leaves) or (
        bool(leaves) and pipeline.target.target.name == framework
    )


def _stands_for_array(item: Any) -> bool:
    return bool(getattr(type(item), "stands_for_array", False))


def _graph_for(
    graph: RecordedGraph, pipeline: Pipeline, framework: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> RecordedGraph:
    if pipeline.target.target.name == framework:
        return graph
    if not graph.variants:
        _add_variant(graph, args, kwargs)
    known = graph._written_for
    made = known.get(framework)
    # Variants that were recorded since are written for the framework, too.
    if made is None or len(made.variants) < len(graph.variants):
        with _unrecorded():
            known[framework] = made = graph.to(framework)
    return made


def _add_variant(graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    concrete = sessions_here()[-1].concrete if sessions_here() else lambda leaf: leaf
    with _unrecorded():
        # The arrays have made-up values, so what decides on values becomes a guard.
        args, kwargs = map_structure(
            lambda leaf: concrete(leaf) if hasattr(leaf, "dtype") else leaf, (args, kwargs)
        )
        graph.add_variant(args, kwargs, "called by a function that is recorded")


def _run(graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    try:
        return _purely(graph, args, kwargs)
    except GuardFailed:
        if graph._on_miss == "error":
            raise
        _add_variant(graph, args, kwargs)
        return _purely(graph, args, kwargs)


def _purely(
    graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    if not graph.variants:
        raise GuardFailed(f"{graph.name} has no variant yet")
    with _unrecorded():
        # Reading the parameters may convert them, which must not become part of the recording.
        held = dict(graph.parameters)
    # The recording may hold the parameters as inputs of its own. Otherwise it has to assume that they stay.
    given = None if not held or not sessions_here() else sessions_here()[-1].hold(graph, held)
    if given is not held:
        _assume_parameters(graph, held)
    target = graph.variants[0].target
    if any(variant.is_random for variant in graph.variants) and target.next_key() is not None:
        raise CallMismatch(
            f"{graph.name} draws random numbers and is called by a function that is being recorded, in which "
            f"{target.name} needs a key for them: call its functional(parameters, ..., rng=key) there, with "
            "a key that is an argument of that function"
        )
    return graph._functional(held if given is None else given, args, kwargs, None, in_place=False)


def _assume_parameters(graph: RecordedGraph, held: Mapping[str, Any]) -> None:
    def are_the_same() -> bool:
        now = graph.parameters
        return now.keys() == held.keys() and all(array is held[name] for name, array in now.items())

    for session in sessions_here() if held else ():
        session.assume(f"the parameters of {graph.name}", ("parameters", id(graph)), are_the_same)


@contextmanager
def _unrecorded() -> Iterator[None]:
    with ExitStack() as stack:
        sessions = sessions_here()
        stack.enter_context(paused())
        for session in reversed(sessions):
            stack.enter_context(session.outside())
        yield


# --------------------------------------------------------------------------------------------- torch.compile
# Calls of a graph inside ``torch.compile``, written in code that Dynamo can trace.


def run_any_traced(
    graph: RecordedGraph,
    weights: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    mode: bool | None,
) -> tuple[Any, dict[str, Any]] | None:
    for variant in graph.variants:
        found = run_traced(variant, args, kwargs, weights, mode)
        if found is not None:
            return found
    force_graph_break(graph, tracer_of(graph))
    return None


def tracer_of(graph: RecordedGraph) -> Tracer | None:
    target = getattr(graph._pipeline, "target", None)
    return None if target is None else target.target.tracer


def force_graph_break(graph: RecordedGraph, tracer: Any) -> None:
    graph._hide_calls()
    tracer.graph_break(
        f"{graph.name}: no recorded variant fits this call. Call it once with such arguments before it is "
        "compiled, so that one is recorded"
    )
