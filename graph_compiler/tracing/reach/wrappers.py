"""Objects of Python's own that stand in front of others, which code reads and changes through them."""

from __future__ import annotations

import functools
import gc
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

_BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_CHANGED_BY_METHODS = (list, dict, set, deque, bytearray, Iterator)  # by those of modules and arrays, other parts of a recording are


def _of_bound(method: Any) -> tuple[Any, ...]:
    return (method.__self__,) if isinstance(method.__self__, _CHANGED_BY_METHODS) else ()


_ROWS: tuple[tuple[Any, Callable[[Any], tuple[Any, ...]]], ...] = (
    (types.MethodType, lambda method: (method.__func__, method.__self__)),
    (_BOUND, _of_bound),
    (functools.partial, lambda partial: (partial.func, partial.args, partial.keywords)),
    (types.MappingProxyType, lambda proxy: tuple(gc.get_referents(proxy))),
    (_VIEWS, lambda view: tuple(gc.get_referents(view.mapping))),
    (weakref.ref, lambda reference: (reference(),)),
)
WRAPPERS = tuple(cls for classes, _ in _ROWS for cls in (classes if isinstance(classes, tuple) else (classes,)))


def wrapped_by(item: Any) -> tuple[Any, ...]:
    """What an object stands in front of: what a method is bound to, what is called by a partial and what it gives, the dict of a view or of
    a read-only proxy, the target of a weak reference.

    >>> settings = {"scale": 2}
    >>> [wrapped_by(one)[0] is settings for one in (settings.get, settings.values(), types.MappingProxyType(settings))]
    [True, True, True]
    >>> wrapped_by(len), wrapped_by(settings)
    ((), ())
    """
    if not isinstance(item, WRAPPERS):  # as most
        return ()
    return next(found(item) for classes, found in _ROWS if isinstance(item, classes))
