"""Signature of a recorded call."""

from __future__ import annotations

import inspect

from ..trees import unflatten
from .graph import Graph
from .node import Value


def call_signature(graph: Graph) -> inspect.Signature:
    """Return a signature with the names of the recorded arguments, by position or keyword.

    It has no defaults. It serves originals without a signature, or without argument names.
    """
    args, kwargs = unflatten(graph.input_tree, graph.inputs)
    names = [item.name if isinstance(item, Value) else f"argument_{place}" for place, item in enumerate(args)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in dict.fromkeys((*names, *kwargs))])
