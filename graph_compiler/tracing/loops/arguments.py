"""Arguments that say how many steps a loop has: numbers that are inputs from the first recording on."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any

from ...registration import entry_method
from ...trees import Path
from ..syntax import definition_of
from .syntax import is_source


def counting_arguments(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> frozenset[Path]:
    """Where in ``(args, kwargs)`` stand whole numbers that bound a ``for`` over ``range`` in the function's own code.

    >>> def add(x, n, y): return [x + y for _ in range(n)]
    >>> counting_arguments(add, (1, 2, 3), {})
    frozenset()
    """
    function = function if isinstance(function, types.FunctionType) else entry_method(function, function)
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(plain, types.FunctionType):
        return frozenset()
    code = plain.__code__
    names = _bounds(code)
    own = code.co_varnames[: code.co_argcount][int(isinstance(function, types.MethodType)) :]
    found = [((0, place), item) for place, (name, item) in enumerate(zip(own, args)) if name in names]
    found += [((1, name), item) for name, item in kwargs.items() if name in names]
    return frozenset(path for path, item in found if type(item) is int)


@functools.lru_cache(maxsize=1024)
def _bounds(code: types.CodeType) -> frozenset[str]:
    """The names in the bounds of the ranges that a function's loops run over."""
    definition = definition_of(code) if "range" in code.co_names and is_source(code) else None
    loops = (node for node in ast.walk(definition) if isinstance(node, ast.For)) if definition is not None else ()
    calls = (call for loop in loops for call in ast.walk(loop.iter) if isinstance(call, ast.Call) and _is_range(call))
    return frozenset(part.id for call in calls for argument in call.args for part in ast.walk(argument) if isinstance(part, ast.Name))


def _is_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "range"


__all__ = ["counting_arguments"]
