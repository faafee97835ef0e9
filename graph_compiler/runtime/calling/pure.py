"""Calls of a graph as a pure function of its parameters, and by a generated module that holds them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...contracts import Target
from ...errors import CallMismatch, GuardFailed
from ...recording.control_flow.regions import Regions, regions
from ...trees import Branch, Tree, TypedLeaf, flatten, unflatten
from ..variant import Variant
from ..verify import synthetic_call
from .binding import calls_in_recorded_order, recording_call

if TYPE_CHECKING:
    from ...contracts import Target
    from ..recorded_graph import RecordedGraph
    from ..variant import Variant
    from .binding import Call


_NUMBERS = (bool, int, float, complex)
# Larger integers do not fit the narrowest integer dtype of a target (int32).
_INT32_END = 1 << 31


class TracedAlternative(NamedTuple):
    """Variant that fits a traced call if its ``checks`` on array values hold.

    found: the variant's ``(result, state)``.
    checks: values of the guards, of which some are traced.
    run(): computes ``found`` and ``checks`` again, for a branch of the program that traces them itself.
    """

    variant: Variant
    found: Any
    checks: tuple[Any, ...]
    run: Callable[[], Any]


def select_alternative(name: str, alternatives: Sequence[TracedAlternative]) -> tuple[Any, dict[str, Any]]:
    """Return ``(result, state)`` of a traced call, whose program selects among ``alternatives`` if it can.

    Raise ``CallMismatch`` if the selection fails because their results differ.
    """
    target = alternatives[0].variant.target
    if len(alternatives) == 1 or target.branch is None:
        return _check(alternatives[0], alternatives[0].found, alternatives[0].checks)
    *others, last = alternatives
    trees: list[Tree] = []
    # The Python numbers that the variants return, for each leaf.
    numbers: list[set[tuple[str, Any]]] = []

    def arrays(found: Any) -> list[Any]:
        leaves, tree = flatten(found, lambda item: _is_number(item) or target.convert(item) is not None)
        if not trees:
            numbers.extend(set() for _ in leaves)
        trees.append(tree)
        if tree != trees[0]:
            raise CallMismatch(
                f"{name}: {target.name} traces this call, and recorded variants for it differ in the "
                "structure of results"
            )
        for seen, leaf in zip(numbers, leaves):
            # The repr is part of the key because -0.0 and 0.0 are equal.
            seen.add((repr(leaf), leaf) if _is_number(leaf) else ("", None))
        return [target.convert(np.asarray(leaf) if _is_number(leaf) else leaf) for leaf in leaves]

    # The checks have no values while a function is recorded, so a guard of the recording tests them.
    if (recording := regions()) is not None:
        _expect_any(recording, alternatives)
        chosen: Callable[[], list[Any]] = lambda: arrays(last.run()[0])  # noqa: E731
    else:
        chosen = lambda: arrays(_check(last, *last.run()))  # noqa: E731
    for other in reversed(others):
        chosen = functools.partial(_either, name, other, functools.partial(_arrays_of, arrays, other), chosen)
    found = chosen()
    result, state = unflatten(trees[0], [_number(seen, array) for seen, array in zip(numbers, found)])
    return result, state


def _expect_any(recording: Regions, alternatives: Sequence[TracedAlternative]) -> None:
    target = alternatives[0].variant.target
    assert target.branch is not None
    holds: Callable[[], list[Any]] = functools.partial(_truth, target, False)
    for one in reversed(alternatives):
        holds = functools.partial(
            target.branch,
            one.checks,
            one.variant.program.checks,
            functools.partial(_truth, target, True),
            holds,
        )
    recording.expect(holds()[0])


def _truth(target: Target, value: bool) -> list[Any]:
    return [target.convert(np.asarray(value))]


def _is_number(item: Any) -> bool:
    # The class is compared exactly, because NumPy's float64 is a subclass of float.
    return type(item) in _NUMBERS and (type(item) is not int or -_INT32_END <= item < _INT32_END)


def _number(seen: set[tuple[str, Any]], array: Any) -> Any:
    (_, number), *others = seen
    return array if number is None or others else number


def _check(one: TracedAlternative, found: Any, checks: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    result, state = one.variant.target.require_guards(found, checks, one.variant.program.checks)
    return result, state


def _arrays_of(arrays: Callable[[Any], list[Any]], one: TracedAlternative) -> list[Any]:
    return arrays(one.run()[0])


def _either(
    name: str, one: TracedAlternative, run: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]
) -> list[Any]:
    target = one.variant.target
    assert target.branch is not None
    try:
        found: list[Any] = target.branch(one.checks, one.variant.program.checks, run, otherwise)
    except (CallMismatch, GuardFailed):
        raise
    except (TypeError, ValueError) as problem:
        raise CallMismatch(
            f"{name}: {target.name} traces this call, in which elements decide between recorded variants "
            f"that give arrays of other sizes or types ({str(problem).splitlines()[0]}): no program gives "
            "either. Let all ways through the function give the same, or call it outside of what traces it"
        ) from problem
    return found


def call_purely(
    graph: RecordedGraph,
    parameters: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    rng: Any,
    given: Any,
    compiled: bool = False,
    in_place: bool = False,
) -> tuple[Any, dict[str, Any]]:
    if not isinstance(parameters, Mapping):
        raise CallMismatch(
            f"{graph.name}: parameters come first, a dict of arrays by their names: "
            "functional(graph.parameters, ...)"
        )
    variants = [variant for variant in graph.variants if variant.environment.holds()]
    problem: GuardFailed | None = None
    open_ones: list[TracedAlternative] = []
    for variant, call in _candidate_calls(graph, variants, args, kwargs):
        # A variant may fit the call in several forms, which compute the same.
        if any(one.variant is variant for one in open_ones):
            continue
        variant.matching.mark()
        held = _state_values(variant, given)
        leaves = variant.matching.match(*call, held) if variant.state else variant.matching.match(*call)
        if leaves is not None:
            run = functools.partial(variant.unchecked, parameters, leaves, rng, held, compiled, in_place)
            try:
                whole, checks = run()
                if any(map(variant.target.is_traced, checks)):
                    open_ones.append(TracedAlternative(variant, whole, checks, run))
                    # Each alternative draws the same random numbers.
                    variant.matching.rewind()
                else:
                    return (
                        variant.target.require_guards(whole, checks, variant.program.checks)
                        if checks
                        else whole
                    )
            except GuardFailed as failed:
                # A guard on values failed; another variant may fit these, with the same random numbers.
                problem = failed
                variant.matching.rewind()
    if open_ones:
        # The generators were rewound, but the call has drawn.
        _state_values(open_ones[-1].variant, given)
        return select_alternative(graph.name, open_ones)
    if problem is not None:
        raise problem
    # Tried last, because these variants check the sizes when the program runs.
    for variant, call in _candidate_calls(graph, variants, args, kwargs):
        found = variant.matching.match_unknown(*call) if variant.matching.match_unknown else None
        if found is not None:
            outcome = variant.pure(parameters, found[0], rng)
            fitting: tuple[Any, dict[str, Any]] = variant.target.where_sizes_fit(outcome, found[1])
            return fitting
    random = next((variant for variant in variants if variant.is_random), None)
    key = f" (its random key is rng={random.target.a_key})" if random is not None and rng is None else ""
    raise _no_fit(graph, args, kwargs, given, key)


def _no_fit(
    graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any, key: str
) -> GuardFailed:
    how = (
        f"with {recording_call(args, kwargs)}" if graph._pipeline.has_original else "and save the graph again"
    )
    return GuardFailed(
        f"{graph.name}: no recorded variant fits this call{key}: {graph._why_missed(args, kwargs, given)}. "
        f"A pure call records none: record one before, {how}"
    )


def _candidate_calls(
    graph: RecordedGraph, variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[Variant, Call]]:
    yield from ((variant, (args, kwargs)) for variant in variants)
    yield from graph._alternative_calls.others(variants, args, kwargs)
    yield from calls_in_recorded_order(variants, args, kwargs)


def _state_values(variant: Variant, given: Any) -> tuple[Any, ...]:
    if variant.state is None:
        return ()
    held = variant.state.read(given)
    if not given or not isinstance(variant.state.tree, Branch):
        return held
    return tuple(
        _pure_number(variant.target, tree, item) for tree, item in zip(variant.state.tree.children, held)
    )


def _pure_number(target: Target, tree: Tree, item: Any) -> Any:
    if not isinstance(tree, TypedLeaf) or tree.type not in (int, float) or type(item) is tree.type:
        return item
    array = target.convert(item)
    # Compiled functions return numbers as 0-d arrays.
    is_number = array is not None and not target.is_traced(array) and tuple(array.shape) == ()
    return tree.type(target.elements(array)) if is_number else item


# ----------------------------------------------------------------------------------------------- module calls
# Calls of a graph by a generated module of the target, which holds the arrays and a training mode.


def call_as_module(
    graph: RecordedGraph,
    held: Callable[[], Mapping[str, Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    key: Callable[[], Any],
    training: bool | None,
    is_traced: bool,
) -> tuple[Any, dict[str, Any]]:
    def run() -> tuple[Any, dict[str, Any]]:
        # Each key advances the module's generator, so one is made only if it may be used.
        draws = any(variant.is_random for variant in graph.variants if variant.environment.holds())
        arrays = held()
        result, state = graph._functional(arrays, args, kwargs, key() if draws else None, in_place=True)
        if state.keys() - arrays.keys():
            raise CallMismatch(
                f"{graph.name} changes what its module does not hold, such as its arguments: call the graph "
                "itself, or functional, which returns the new values"
            )
        return result, state

    with in_mode(graph, training):
        if is_traced and not any(variant.environment.holds() for variant in graph.variants):
            _record_like(graph, _variant_like(graph, args, kwargs))
        try:
            return run()
        except GuardFailed as problem:
            if not graph._pipeline.has_original:
                raise
            if is_traced:
                raise GuardFailed(
                    f"{problem}. Call the module once with such arguments before it is compiled"
                ) from None
            graph.add_variant(args, kwargs, "called as a module")
        return run()


def _variant_like(graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant:
    def fits(variant: Variant) -> bool:
        return variant.matching.fits(args, kwargs) or bool(
            variant.matching.match_unknown and variant.matching.match_unknown(args, kwargs)
        )

    return next(filter(fits, graph.variants), graph.variants[0])


def _record_like(graph: RecordedGraph, variant: Variant) -> None:
    if variant.recording is not None and graph._pipeline.has_original:
        # Arrays that a recording stores outlive the trace, so they must not be tracers.
        with variant.target.untraced():
            graph.add_variant(
                *synthetic_call(variant, graph._pipeline.frontend.reference),
                "called as a module in another mode",
            )


@contextmanager
def in_mode(graph: RecordedGraph, training: bool | None) -> Iterator[None]:
    with ExitStack() as stack:
        for variant in graph.variants if training is not None else ():
            if variant.recording is not None:
                stack.enter_context(variant.recording.weights.in_mode(training))
        yield
