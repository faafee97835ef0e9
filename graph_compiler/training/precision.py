"""Mixed precision: matrix products, convolutions and attention in a half type, everything else, and all that is kept, in float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import InvalidOption
from ..passes import half_products
from ..runtime import Graph

_HALF = {"float32": None, "f32": None, "bfloat16": "bfloat16", "bf16": "bfloat16", "float16": "float16", "f16": "float16"}


def precision_of(name: Any) -> str | None:
    """The half type of a precision; None of float32."""
    if not isinstance(name, str) or name not in _HALF:
        raise InvalidOption(f"precision= is {name!r}, and has to be 'float32', 'bf16' or 'f16'")
    return _HALF[name]


def with_precision(graph: Graph, half: str | None) -> Graph:
    """The graph with its products in the half type: the same recordings, written as canonical operations, for the pass knows those."""
    if half is None:
        return graph
    pipeline: Any = graph.pipeline
    options = replace(pipeline.options, passes=(*pipeline.options.passes, half_products(half)))
    return graph._written_by(replace(pipeline, same_framework=False, options=options))
