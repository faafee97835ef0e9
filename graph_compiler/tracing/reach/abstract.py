"""Classes that pass for subclasses of an abstract one because they were registered with it."""

from __future__ import annotations

import abc
from typing import Any


def registered_with(cls: abc.ABCMeta) -> frozenset[Any]:
    """Weak references to the classes that were registered with an abstract class, or with one below it, which counts as well.

    >>> class Scaled(abc.ABC): ...
    >>> before = registered_with(Scaled)
    >>> Scaled.register(int) is int, len(registered_with(Scaled) - before)
    (True, 1)
    """
    own: frozenset[Any] = frozenset(abc._get_dump(cls)[0])  # type: ignore[attr-defined]
    below: list[Any] = cls.__subclasses__()  # each is of the class of its base, or of one below that
    return own.union(*map(registered_with, below))
