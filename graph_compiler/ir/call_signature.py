"""Signature of a recorded call."""

from __future__ import annotations

import inspect

from ..trees import unflatten
from .graph import Graph
from .node import Value


def call_signature(graph: Graph) -> inspect.Signature:
    """Return a signature with the names of the recorded arguments, for originals without a signature or
    names.

    Each parameter can be passed by position or by keyword, and has no default. A positional argument that
    is a container or a constant is named ``argument_<position>``.
    """
    args, kwargs = unflatten(graph.input_tree, graph.inputs)
    names = [item.name if isinstance(item, Value) else f"argument_{place}" for place, item in enumerate(args)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in dict.fromkeys((*names, *kwargs))])
