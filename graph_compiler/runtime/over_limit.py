"""Limit on the number of variants. By default the original runs the calls beyond it that it can run."""

from __future__ import annotations

import collections
import re
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import TooManyVariants
from ..trees import iterate_structure
from .boundary import level_of_user
from .calling.binding import positional
from .calling.mismatch import why_missed
from .foreign_objects import CallConverter
from .recorded_graph import RecordedGraph, recorded_types

if TYPE_CHECKING:
    from .pipeline import Pipeline

_REMEDY = "Raise max_variants, or pass what differs as an array"


class VariantLimit:
    """Maximum number of variants of a graph, and what happens to calls that would need one more.

    options: the maximum, and ``"original"`` (the original runs if it can) or ``"raise"``.
    calls: number of calls left to the original.
    """

    def __init__(self, variants: int = 16, on_limit: str = "original") -> None:
        self.options, self.calls = (variants, on_limit), 0

    def is_reached(self, graph: RecordedGraph) -> bool:
        return len(graph.variants) >= self.options[0]

    def lets_original_run(self, graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return (
            self.is_reached(graph)
            and self.options[1] != "raise"
            and _why_original_cannot_run(graph._pipeline, args, kwargs) is None
        )

    def run_original(self, graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.calls += 1
        if self.calls == 1:
            _warn(graph, args, kwargs)
        pipeline: Pipeline = graph._pipeline
        proxies = pipeline.proxies
        converter = (
            CallConverter(pipeline.frontend, pipeline.target.target, True)
            if proxies is None
            else proxies.converter
        )
        return converter.call(
            lambda *args, **kwargs: pipeline.call_original(args, kwargs),
            args,
            kwargs,
            recorded_types(graph.variants),
        )

    def raise_too_many_variants(
        self, graph: RecordedGraph, why: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> NoReturn:
        because = (
            None if self.options[1] == "raise" else _why_original_cannot_run(graph._pipeline, args, kwargs)
        )
        also = f" ({because})" if because else ""
        raise TooManyVariants(
            f"{graph.name} was recorded {len(graph.variants)} times and this call fits none: {why}{also}. "
            f"{_REMEDY}"
        )

    def explain(self) -> str:
        return f"beyond {self.options[0]} variants: the original ran {self.calls} calls" if self.calls else ""


def _why_original_cannot_run(pipeline: Pipeline, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    native, given = pipeline.target.target, list(iterate_structure((args, kwargs)))
    if not pipeline.has_original:
        return "there is no original"
    if pipeline.options.freeze or not pipeline.options.include_generators:
        return "the original would not keep to freeze= or include_generators="
    if pipeline.keeps_calls:
        return None
    if any(map(native.is_traced, given)):
        return f"{native.name} traces this call, in which the original cannot run"
    return (
        f"{native.name} follows this call for a gradient, which would stop at the original"
        if native.records_gradients_of(given)
        else None
    )


def _warn(graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    reason = _most_frequent_reason(graph, args, kwargs)
    warnings.warn(
        f"{graph.name} was recorded {len(graph.variants)} times, which is max_variants, and this call fits "
        f"none: {reason}. For such calls the original runs from now on, uncompiled. {_REMEDY}; "
        "on_limit='raise' makes it an error",
        RuntimeWarning,
        stacklevel=level_of_user(),
    )


def _most_frequent_reason(graph: RecordedGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    names = positional(graph._pipeline.function)
    reasons = [why_missed(variant, args, kwargs, names=names) for variant in graph.variants]
    # Sizes differ between variants, so reasons that differ in digits only count as one.
    kinds = [re.sub(r"\d+", "", reason) for reason in reasons]
    kind, count = collections.Counter(kinds).most_common(1)[0]
    return f"{reasons[-1 - kinds[::-1].index(kind)]} (so of {count} of {len(reasons)})"
