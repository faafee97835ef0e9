"""Shim classes: each stands for a class of the user, and its objects are otherwise like those of that class."""

from __future__ import annotations

from typing import Any

STANDS_FOR = "_graph_compiler_stands_for"


def plain_class(cls: Any) -> Any:
    """The class that a shim class stands for; other classes are returned unchanged.

    >>> class Layer: ...
    >>> shim = type("Layer", (Layer,), {STANDS_FOR: Layer})
    >>> plain_class(shim) is plain_class(Layer) is Layer
    True
    """
    return cls.__dict__.get(STANDS_FOR, cls)
