"""Recognition of reads whose result only decides whether an error is raised, or only appears in a message.

An example of the first is ``if not valid.all(): raise ValueError(...)`` (:func:`in_check`). For the second
see :func:`is_message`.
"""

from __future__ import annotations

import ast
import functools
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ...ir.quotation import nodes_around
from ...registration import trait
from .ownership import OWN, owner_of
from .syntax import definition_of, resolve_name

_WAYS_OUT = (ast.Return, ast.Yield, ast.YieldFrom, ast.Break, ast.Continue)
_HANDLES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_BLOCKS = ("body", "orelse")


def only_raises(function: Any, call: ast.Call, argument: ast.AST | None) -> bool:
    """Return True if ``function`` is found to use a parameter only to raise, or in comparisons by ``is``.

    The parameter is the one to which ``call`` passes ``argument``.
    """
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType):
        return False
    # A method's first parameter is bound, so positions shift by one.
    name = _parameter(plain.__code__, call, argument, plain is not function)
    return name is not None and _is_only_raised(plain.__code__, name)


def is_handled(frame: FrameType | None) -> bool:
    while frame is not None and owner_of(frame) != "own":
        if any(isinstance(node, _HANDLES) for node in nodes_around(frame.f_code, frame.f_lasti)):
            return True
        frame = frame.f_back
    return False


def _parameter(code: CodeType, call: ast.Call, argument: ast.AST | None, is_bound: bool) -> str | None:
    if isinstance(argument, ast.keyword):
        return (
            argument.arg
            if argument.arg in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            else None
        )
    if argument not in call.args or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    place = call.args.index(argument) + is_bound
    return code.co_varnames[place] if place < code.co_argcount else None


@functools.lru_cache(maxsize=256)
def _is_only_raised(code: CodeType, name: str) -> bool:
    function = definition_of(code)
    if function is None or any(isinstance(node, _HANDLES) for node in ast.walk(function)):
        return False
    raised = {id(node) for part in _raised(function) for node in ast.walk(part)}
    return all(
        id(node) in raised for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name
    )


def _raised(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in which reading a parameter counts as raising or as a comparison by ``is``."""
    for node in ast.walk(function):
        if isinstance(node, ast.Raise):
            yield node
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif isinstance(node, ast.Compare) and all(
            isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops
        ):
            yield from (item for item in (node.left, *node.comparators) if isinstance(item, ast.Name))
        for block in (getattr(node, field, None) for field in _BLOCKS):
            if isinstance(block, list) and _ends_in_raise(block):
                yield from block


def _ends_in_raise(block: list[Any]) -> bool:
    return isinstance(block[-1] if block else None, ast.Raise) and not any(
        isinstance(node, _WAYS_OUT) for statement in block for node in ast.walk(statement)
    )


_LOG_METHODS = frozenset({
    "debug", "info", "warning", "warn", "warning_once", "warning_advice", "error", "critical", "fatal",
    "exception", "log",
})  # fmt: skip
# Calls are followed only if they build a string.
_SHOWN = (
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Tuple,
    ast.keyword,
    ast.Starred,
    ast.Call,
)
_MAKES_TEXT = frozenset({"str", "repr", "format"})


def is_message(frame: FrameType | None) -> bool:
    """Return True if the string that ``frame`` makes now seems to be used only in a message."""
    if frame is None:
        return False
    # ``logging`` formats its arguments into the message itself.
    if frame.f_globals.get("__name__") == logging.__name__:
        return True
    given = _receiver(frame.f_code, frame.f_lasti)
    if given is None:
        return False
    function = resolve_name(given[0].func, frame)
    if _reports(function):
        # Text printed to a file or a buffer can be read back by the program.
        return not (function is print and _is_kept(given[0]))
    return (_raises(function) or only_raises(function, *given)) and not is_handled(frame)


def _is_kept(call: ast.Call) -> bool:
    files = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg in (None, "file")]
    # ``contextlib.redirect_stdout`` may have replaced the stream by a buffer.
    return isinstance(sys.stdout, io.StringIO) or any(file != "sys.stderr" for file in files)


def _receiver(code: CodeType, instruction: int) -> tuple[ast.Call, ast.AST | None] | None:
    """Return the call that receives the string made at ``instruction`` and its part with the string, or None.

    The part is None if the instruction is the call itself.
    """
    around = list(nodes_around(code, instruction))
    for node, inner in zip(reversed(around), (None, *reversed(around))):
        if isinstance(node, ast.Call) and not _makes_text(node):
            return node, inner
        if isinstance(
            node, (ast.stmt, ast.Lambda, ast.Compare, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await)
        ):
            return None
        if _is_shown(node, around):
            continue
        return None
    return None


def _is_shown(node: ast.AST, around: list[Any]) -> bool:
    return (
        isinstance(node, _SHOWN)
        or _is_text(node)
        or any(
            isinstance(outer, (ast.FormattedValue, ast.JoinedStr)) for outer in around[: around.index(node)]
        )
    )


def _is_text(node: ast.AST) -> bool:
    # Strings are also built by ``"text" % value`` and ``"text" + text``.
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Mod, ast.Add)) and (_is_text(node.left) or _is_text(node.right))
    return (
        isinstance(node, ast.JoinedStr)
        or isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        or _makes_text(node)
    )


def _makes_text(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (
        isinstance(function, ast.Name)
        and function.id in _MAKES_TEXT
        or isinstance(function, ast.Attribute)
        and function.attr == "format"
    )


def _reports(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    if isinstance(getattr(function, "__self__", None), (logging.Logger, logging.LoggerAdapter)):
        return name in _LOG_METHODS
    if name in _LOG_METHODS and function is vars(logging).get(name):
        return True
    return function is print or function is warnings.warn or function is warnings.warn_explicit


def _raises(function: Any) -> bool:
    inner = getattr(function, "__wrapped__", function)
    return f"{getattr(inner, '__module__', '')}.{getattr(inner, '__qualname__', '')}" in trait(
        "message_functions"
    )


def in_check() -> bool:
    """Return True if the statement that reads a value now is recognised as a check that raises an error."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _passes_on(f"{frame.f_globals.get('__name__')}."):
        frame = frame.f_back
    if frame is None:
        return False
    around = nodes_around(frame.f_code, frame.f_lasti)
    # The exception may be caught, and the function may go on.
    if any(isinstance(node, _HANDLES) for node in around):
        return False
    return _only_raises(next((node for node in reversed(around) if isinstance(node, ast.stmt)), None))


def _passes_on(module: str) -> bool:
    return module.startswith((f"{OWN}.", *trait("skipped_modules")))


def _only_raises(statement: Any) -> bool:
    if isinstance(statement, ast.If):
        return not statement.orelse and all(isinstance(inner, ast.Raise) for inner in statement.body)
    return isinstance(statement, ast.Assert)
