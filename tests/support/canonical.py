"""Graphs that go through the canonical level, also from torch to torch, where a compilation leaves it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graph_compiler


def raised(graph: Any) -> Any:
    """A lazy graph that will be raised and lowered, whatever its target is."""
    graph.pipeline.same_framework = False
    return graph


def through_canonical(
    function: Callable[..., Any], to: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """``transpile(function, source="torch", to=to, args=args, kwargs=kwargs)``, raised and lowered whatever the target is."""
    graph = raised(graph_compiler.transpile(function, source="torch", to=to, **options))
    graph.add_variant(tuple(args), dict(kwargs or {}), "args= given")
    return graph
