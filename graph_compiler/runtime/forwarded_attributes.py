"""Attributes of the original that a graph of it has as well: what pipelines of other libraries ask a model
for (``config``, ``device``, ``encode``).
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from ..registration import entry_method, trait

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType)


def passed_on(graph: Any, name: str) -> Any:
    """An attribute of a model: plain ones as they are, and methods with the graph in the place of the model's
    entry method.

    ``AttributeError`` of others, and where the graph is for another framework of methods too: they would run
    the original, not the graph.
    """
    original = vars(graph)["pipeline"].function if "pipeline" in vars(graph) else None
    if name.startswith("_") or isinstance(original, _FUNCTIONS):
        raise AttributeError(f"{type(graph).__name__!r} object has no attribute {name!r}")
    item = getattr(original, name)
    if name in trait("entry_methods"):  # which is asked for its signature, and may be called
        return graph
    if isinstance(getattr(item, "__self__", item), type) or not callable(item):
        return item
    is_method = (
        isinstance(item, MethodType)
        and item.__self__ is original
        and entry_method(type(original)) is not None
    )
    if is_method and getattr(graph.pipeline, "same_framework", False):
        return MethodType(item.__func__, _as_original(graph, original))
    raise AttributeError(
        f"{name} of the original {graph.name} would run that and not its graph, which has its plain attributes (config, device, dtype), "
        f"and in the same framework its methods. Call {name} of the original"
    )


def _as_original(graph: Any, original: Any) -> Any:
    """An object with everything that the original holds, of a class whose entry method is the graph."""
    cls = type(original)
    methods = [name for name in trait("entry_methods") if hasattr(cls, name)]
    made: Any = object.__new__(
        type(
            cls.__name__,
            (cls,),
            {**dict.fromkeys(methods, staticmethod(graph)), "__module__": cls.__module__},
        )
    )
    made.__dict__ = original.__dict__
    return made
