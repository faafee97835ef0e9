"""Graphs that are lifted to canonical operations and lowered, even from torch to torch, where `compile` skips
these stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graph_compiler
from graph_compiler.runtime.lazy import DeferredPipeline
from graph_compiler.runtime.pipeline import Pipeline


def lifted(graph: Any) -> Any:
    """Make the lazy ``graph`` lift and lower what it records, even if its target is its source framework, and
    return it.

    The graph is changed in place.
    """
    pipeline = graph._pipeline
    if isinstance(pipeline, DeferredPipeline):
        settle = pipeline.settle
        pipeline.settle = lambda args, kwargs: _raising(settle(args, kwargs))
    else:
        _raising(pipeline)
    return graph


def _raising(pipeline: Pipeline) -> Pipeline:
    pipeline.keeps_calls = False
    return pipeline


def through_canonical(
    function: Callable[..., Any],
    to: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Transpile a torch function to the framework ``to``, lifting and lowering it even if ``to`` is torch.

    Return a graph that has recorded ``args`` and ``kwargs``.
    """
    graph = lifted(graph_compiler.transpile(function, source="torch", to=to, **options))
    graph.add_variant(tuple(args), dict(kwargs or {}), "args= given")
    return graph
