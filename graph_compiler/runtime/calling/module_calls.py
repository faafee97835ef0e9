"""Calls of a graph by a generated module of the target, which holds the arrays and a training mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import GuardFailed
from ..variant import Variant
from ..verify.synthetic_inputs import synthetic_call

if TYPE_CHECKING:
    from ..graph import Graph


def call_as_module(
    graph: Graph,
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
        return graph._purely(held(), args, kwargs, key() if draws else None, in_place=True)

    with in_mode(graph, training):
        if is_traced and not any(variant.environment.holds() for variant in graph.variants):
            _record_like(graph, _variant_like(graph, args, kwargs))
        try:
            return run()
        except GuardFailed as problem:
            if not graph.pipeline.has_original:
                raise
            if is_traced:
                raise GuardFailed(
                    f"{problem}. Call the module once with such arguments before it is compiled"
                ) from None
            graph.add_variant(args, kwargs, "called as a module")
        return run()


def _variant_like(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant:
    """Return the first variant that matches the arguments, whether its environment holds or not.

    Return the graph's first variant if none matches.
    """

    def fits(variant: Variant) -> bool:
        return variant.match(args, kwargs) is not None or bool(
            variant.match_unknown and variant.match_unknown(args, kwargs)
        )

    return next(filter(fits, graph.variants), graph.variants[0])


def _record_like(graph: Graph, variant: Variant) -> None:
    if variant.recording is not None and graph.pipeline.has_original:
        # Arrays that a recording stores outlive the trace, so they must not be tracers.
        with variant.target.untraced():
            graph.add_variant(
                *synthetic_call(variant, graph.pipeline.frontend.reference),
                "called as a module in another mode",
            )


@contextmanager
def in_mode(graph: Graph, training: bool | None) -> Iterator[None]:
    """Set the training mode of the original's modules inside the context; None leaves it."""
    with ExitStack() as stack:
        for variant in graph.variants if training is not None else ():
            if variant.recording is not None:
                stack.enter_context(variant.recording.weights.in_mode(training))
        yield
