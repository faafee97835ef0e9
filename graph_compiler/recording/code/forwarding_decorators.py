"""Decorators that forward their arguments unchanged.

Nothing depends then on whether a call passes an argument by position or by keyword.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from ...registration import trait
from .ownership import package_of
from .syntax import definition_of

# With these a function may look at its own arguments.
_LOOKING = frozenset({"locals", "vars", "eval", "exec", "sys", "inspect"})


def unwrap_forwarding(function: Any) -> tuple[Any, frozenset[str]] | None:
    """Return the function inside a chain of decorators, and strings that may name arguments.

    The strings are the constants in the code of those decorators that come from libraries
    (:func:`is_of_library`). Return None if another decorator may treat positional and keyword arguments
    differently.

    >>> import functools
    >>> def counting(function):
    ...     @functools.wraps(function)
    ...     def counted(*args, **kwargs):
    ...         return function(*args) if kwargs else function(*args, **kwargs)
    ...     return counted
    >>> unwrap_forwarding(len) == (len, frozenset()), unwrap_forwarding(counting(len))
    (True, None)
    """
    texts: set[str] = set()
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        if not _forwards_to(function, inner):
            if not is_of_library(function):
                return None
            texts.update(_texts(getattr(function, "__code__", None)))
        function = inner
    return function, frozenset(texts)


def is_of_library(function: Any) -> bool:
    """Return True if ``function`` comes from a package whose decorators treat all arguments alike.

    They do not distinguish positional and keyword arguments; such packages are registered under the trait
    ``handing_on``. They may still look up arguments whose names, or prefixes of them, are strings in their
    code.
    """
    module = (
        function.__globals__.get("__name__")
        if isinstance(function, FunctionType)
        else type(function).__module__
    )
    return package_of(module) in trait("handing_on")


def _texts(code: Any) -> Iterator[str]:
    waiting = [code]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (tuple, frozenset)):
            waiting += item
        elif isinstance(item, CodeType):
            waiting += item.co_consts


def _forwards_to(function: Any, inner: Callable[..., Any]) -> bool:
    """Return True if ``function`` passes all its arguments on to ``inner``, in order.

    It must take ``*args`` and ``**kwargs``, use these for nothing else, and not inspect its arguments, as
    by ``locals``. Its named parameters may be used elsewhere too, as their values do not depend on how
    they are passed. Return False if there are defaults or keyword-only parameters, or if the source is not
    found.
    """
    definition = definition_of(function.__code__) if isinstance(function, FunctionType) else None
    # A default changes the arguments that reach ``inner``.
    if definition is None or definition.args.kwonlyargs or definition.args.defaults:
        return False
    own = definition.args
    names = {one.arg for one in (*own.posonlyargs, *own.args, own.vararg, own.kwarg) if one is not None}
    calls = [node for node in ast.walk(definition) if isinstance(node, ast.Call) and _is_whole(node, own)]
    handed = {id(name) for call in calls for part in (*call.args, *call.keywords) for name in ast.walk(part)}
    elsewhere = [
        node
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and node.id in names and id(node) not in handed
    ]
    spread = {one.arg for one in (own.vararg, own.kwarg) if one is not None}
    is_looked_at = any(isinstance(node, ast.Name) and node.id in _LOOKING for node in ast.walk(definition))
    return (
        bool(calls)
        and not is_looked_at
        and not any(node.id in spread for node in elsewhere)
        and all(_is_call_of(call, function, inner) for call in calls)
    )


def _is_whole(call: ast.Call, own: ast.arguments) -> bool:
    leading = [one.arg for one in (*own.posonlyargs, *own.args)]
    wanted = [
        *leading,
        *([f"*{own.vararg.arg}"] if own.vararg else []),
        *([f"**{own.kwarg.arg}"] if own.kwarg else []),
    ]
    return (
        [ast.unparse(part) for part in (*call.args, *call.keywords)] == wanted
        and own.vararg is not None
        and own.kwarg is not None
    )


def _is_call_of(call: ast.Call, function: FunctionType, inner: Callable[..., Any]) -> bool:
    return (
        isinstance(call.func, ast.Name)
        and inspect.getclosurevars(function).nonlocals.get(call.func.id) is inner
    )
