"""Attributes of the original that its graph has too, such as ``config``, ``device`` and ``encode``."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from ..registration import entry_method, trait

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType)


def forwarded_attribute(graph: Any, name: str) -> Any:
    """Return the attribute ``name`` of the original.

    Plain attributes and class methods are returned unchanged, and the graph itself for an entry method
    (``forward``). In the same framework, other methods are bound to an object whose entry method is the
    graph. For another framework, where they would run the original, they raise ``AttributeError``, as do
    names with a leading underscore and attributes of functions.
    """
    # ``copy`` and ``pickle`` look for attributes of an object before it has any.
    original = vars(graph)["pipeline"].function if "pipeline" in vars(graph) else None
    if name.startswith("_") or isinstance(original, _FUNCTIONS):
        raise AttributeError(f"{type(graph).__name__!r} object has no attribute {name!r}")
    item = getattr(original, name)
    # Other libraries inspect the signature of the entry method and may call it, so it is the graph.
    if name in trait("entry_methods"):
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
        f"{name} of the original {graph.name} would run that and not its graph, which has its plain "
        f"attributes (config, device, dtype), and in the same framework its methods. Call {name} of the "
        "original"
    )


def _as_original(graph: Any, original: Any) -> Any:
    """Return an object that shares the original's attributes and whose entry method is the graph."""
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
