"""Classes that stand in for a user's class, whose objects are in all else what those of that class are."""

from __future__ import annotations

from typing import Any

STANDS_FOR = "_graph_compiler_stands_for"


def plain_class(cls: Any) -> Any:
    """The class that a class stands in for; any other itself.

    >>> class Layer: ...
    >>> stand_in = type("Layer", (Layer,), {STANDS_FOR: Layer})
    >>> plain_class(stand_in) is plain_class(Layer) is Layer
    True
    """
    return cls.__dict__.get(STANDS_FOR, cls)
