"""Graphs that go through the canonical level, also from torch to torch, where a compilation leaves it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graph_compiler
from graph_compiler.runtime.deferred import DeferredPipeline
from graph_compiler.runtime.pipeline import Pipeline


def lifted(graph: Any) -> Any:
    """A lazy graph that will be lifted and lowered, whatever its target is."""
    pipeline = graph.pipeline
    if isinstance(pipeline, DeferredPipeline):
        settle = pipeline.settle
        pipeline.settle = lambda args, kwargs: _raising(settle(args, kwargs))
    else:
        _raising(pipeline)
    return graph


def _raising(pipeline: Pipeline) -> Pipeline:
    pipeline.same_framework = False
    return pipeline


def through_canonical(
    function: Callable[..., Any],
    to: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """``transpile(function, source="torch", to=to, args=args, kwargs=kwargs)``, lifted and lowered whatever
    the target is.
    """
    graph = lifted(graph_compiler.transpile(function, source="torch", to=to, **options))
    graph.add_variant(tuple(args), dict(kwargs or {}), "args= given")
    return graph
