"""Arguments that say how many steps a loop has: numbers that are inputs from the first recording on."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any

from ...registration import entry_method
from ...trees import Path
from ..control_flow.conversion import is_converted
from ..reach.origin import is_users
from ..source.syntax import definition_of
from .syntax import is_source

_NUMBERS = frozenset({int, float})
_DEEPEST = 3  # calls of functions in each other that an argument goes through


def counting_arguments(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> frozenset[Path]:
    """Where in ``(args, kwargs)`` stand whole numbers that bound a ``for`` over ``range`` in the function's own code; of a traced function
    all numbers, for its statements may ask for any.

    >>> def add(x, n, y): return [x + y for _ in range(n)]
    >>> counting_arguments(add, (1, 2, 3), {})
    frozenset()
    """
    if _NUMBERS.isdisjoint(map(type, (*args, *kwargs.values()))):
        return frozenset()
    function = function if isinstance(function, types.FunctionType) else entry_method(function, function)
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(plain, types.FunctionType):
        return frozenset()
    if is_converted(plain):
        given = [*(((0, place), item) for place, item in enumerate(args)), *(((1, name), item) for name, item in kwargs.items())]
        return frozenset(path for path, item in given if type(item) in _NUMBERS)
    names = _counting(plain, _DEEPEST)
    own = _positional(plain)[int(isinstance(function, types.MethodType)) :]
    found: list[tuple[Path, Any]] = [((0, place), item) for place, (name, item) in enumerate(zip(own, args)) if name in names]
    found += [((1, name), item) for name, item in kwargs.items() if name in names]
    return frozenset(path for path, item in found if type(item) is int)


def _counting(function: types.FunctionType, depth: int) -> frozenset[str]:
    """The names of variables that bound ranges of a function, or of functions that it calls with them."""
    code = function.__code__
    found = set(_bounds(code))
    for name, given in _calls(code) if depth else ():
        called = _held(function, name)
        if isinstance(called, types.FunctionType) and is_users(called):
            inner = _counting(called, depth - 1)
            found.update(own for own, theirs in zip(given, _positional(called)) if theirs in inner)
    return frozenset(found)


def _held(function: types.FunctionType, name: str) -> Any:
    """What a function finds under a name of its module, or of the function around it."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    try:
        return cells[name].cell_contents if name in cells else function.__globals__.get(name)
    except ValueError:  # an empty cell
        return None


def _positional(function: types.FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


@functools.lru_cache(maxsize=1024)
def _definition(code: types.CodeType) -> ast.FunctionDef | None:
    return definition_of(code) if is_source(code) else None


@functools.lru_cache(maxsize=1024)
def _calls(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names that a function calls, and the names that it gives to each."""
    definition = _definition(code)
    calls = (node for node in ast.walk(definition) if isinstance(node, ast.Call)) if definition is not None else ()
    return tuple((call.func.id, tuple(getattr(item, "id", "") for item in call.args)) for call in calls if isinstance(call.func, ast.Name))


@functools.lru_cache(maxsize=1024)
def _bounds(code: types.CodeType) -> frozenset[str]:
    """The names in the bounds of the ranges that a function's loops run over."""
    definition = _definition(code) if "range" in code.co_names else None
    loops = (node for node in ast.walk(definition) if isinstance(node, ast.For)) if definition is not None else ()
    calls = (call for loop in loops for call in ast.walk(loop.iter) if isinstance(call, ast.Call) and _is_range(call))
    return frozenset(part.id for call in calls for argument in call.args for part in ast.walk(argument) if isinstance(part, ast.Name))


def _is_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "range"
