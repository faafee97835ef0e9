"""Syntax nodes of a running instruction or a function, and decorators that forward their arguments."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

from ...errors import GuardFailed, TracingError
from ...ir.quotation import nodes_around, tree_of
from ...registration import entry_method, trait
from .ownership import package_of


def resolve_name(expression: ast.expr, frame: FrameType) -> Any:
    """Return the object that a name or dotted name refers to in ``frame``; unknown names count as None.

    >>> expression = ast.parse("unknown.__class__", mode="eval").body
    >>> print(resolve_name(expression, inspect.currentframe()))
    None
    """
    if isinstance(expression, ast.Name):
        held = (frame.f_locals, frame.f_globals, frame.f_builtins)
        return next((names[expression.id] for names in held if expression.id in names), None)
    if isinstance(expression, ast.Attribute):
        base = resolve_name(expression.value, frame)
        # None has attributes of its own.
        return None if base is None else getattr(base, expression.attr, None)
    return None


def callee_of(frame: FrameType) -> Any:
    around = nodes_around(frame.f_code, frame.f_lasti)
    return resolve_name(around[-1].func, frame) if around and isinstance(around[-1], ast.Call) else None


def runs_later(code: CodeType) -> bool:
    # A call of such a function returns before its code has run.
    return bool(code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR))


def definition_of(code: CodeType) -> ast.FunctionDef | None:
    """Return the ``def`` of a function in its file, or None if it is not found or not unique."""
    tree = tree_of(code.co_filename)
    found = (
        []
        if tree is None
        else [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and _first_line(node) == code.co_firstlineno
        ]
    )
    # It is unknown which of several functions on one line runs.
    return found[0] if len(found) == 1 and found[0].name == code.co_name else None


def syntax_of(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    if code.co_name != "<lambda>":
        return definition_of(code)
    tree = tree_of(code.co_filename)
    nodes = () if tree is None else ast.walk(tree)
    found = [node for node in nodes if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
    return found[0] if len(found) == 1 else None


def parameters_of(arguments: ast.arguments) -> list[str]:
    """Return the names of the parameters, without those of lambdas in their defaults and annotations.

    >>> function = ast.parse("lambda x, *, key=lambda y: y: x", mode="eval").body
    >>> parameters_of(function.args)
    ['x', 'key']
    """
    several = (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    )
    return [one.arg for one in several if one]


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


_PLACE = re.compile(r":\d+")


@contextmanager
def adding_location(function: Any) -> Iterator[None]:
    """Add the line of ``function``, if known, to a ``TracingError`` or ``GuardFailed`` that shows none.

    >>> try:
    ...     with adding_location(adding_location):
    ...         raise TracingError("f starts a thread")
    ... except TracingError as problem:
    ...     print(str(problem).split(" (")[0], "syntax.py:" in str(problem))
    f starts a thread True
    """
    try:
        yield
    except (TracingError, GuardFailed) as problem:
        code = None if _PLACE.search(str(problem)) else code_of(function)
        if code is not None:
            problem.args = (
                f"{problem} ({code.co_name} stands at {code.co_filename}:{code.co_firstlineno})",
                *problem.args[1:],
            )
        raise


def place_of(function: Any) -> str:
    """Return the file and line of ``function`` in parentheses, or an empty string if they are unknown.

    >>> "syntax.py:" in place_of(place_of), place_of(len)
    (True, '')
    """
    code = code_of(function)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def code_of(function: Any) -> CodeType | None:
    """Return the code of a function, a callable object or a model, or None if none is found."""
    # A partial has no line of its own.
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not hasattr(function, "__code__"):
        function = inspect.unwrap(entry_method(type(function), type(function).__call__))
    return getattr(function, "__code__", None)


# -------------------------------------------------------------------------------------- forwarding decorators
# If decorators forward their arguments unchanged, nothing depends on whether a call passes an argument by
# position or by keyword.

# With these a function may look at its own arguments.
_LOOKING = frozenset({"locals", "vars", "eval", "exec", "sys", "inspect"})


def unwrap_forwarding(function: Any) -> tuple[Any, frozenset[str]] | None:
    """Return the function inside a chain of decorators, and strings that may name arguments.

    Return None if a decorator may change its arguments and is of no known library.

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
    module = (
        function.__globals__.get("__name__")
        if isinstance(function, FunctionType)
        else type(function).__module__
    )
    return package_of(module) in trait("forwarding_packages")


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
        # Named parameters may be used elsewhere, too, because their values do not depend on how they are
        # passed.
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
