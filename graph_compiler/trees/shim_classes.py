"""Shim classes: subclasses that replace a class of the user while it is recorded."""

from __future__ import annotations

from typing import Any

STANDS_FOR = "_graph_compiler_stands_for"


def plain_class(cls: Any) -> Any:
    """Return the class that a shim class replaces, or `cls` itself if it is no shim.

    >>> class Layer: ...
    >>> shim = type("Layer", (Layer,), {STANDS_FOR: Layer})
    >>> plain_class(shim) is plain_class(Layer) is Layer
    True
    """
    return cls.__dict__.get(STANDS_FOR, cls)
