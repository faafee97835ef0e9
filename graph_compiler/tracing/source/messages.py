"""Text that is made for a message alone: what stands in it ties a recording to nothing.

``check(n == m, f"{n} and {m} differ")`` writes its text whether or not anybody will read it. Where the source of the running line shows
that a text is an argument of a function that only reports (a check of torch or of the user's own, a warning, a log), no result can depend
on what it says.
"""

from __future__ import annotations

import ast
import io
import logging
import sys
import warnings
from types import CodeType, FrameType
from typing import Any

from ...registration import trait
from .checkers import is_handled, only_raises
from .syntax import nodes_around, resolved

_LOG_METHODS = frozenset({"debug", "info", "warning", "warning_once", "warning_advice", "error", "critical", "exception", "log"})
_SHOWN = (ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.keyword, ast.Starred, ast.Call)  # calls only where they make text
_MAKES_TEXT = frozenset({"str", "repr", "format"})


def is_message(frame: FrameType | None) -> bool:
    """Whether the text that the frame's running line makes right now goes nowhere but into a message."""
    if frame is None:
        return False
    if frame.f_globals.get("__name__") == logging.__name__:  # which puts numbers into its texts itself
        return True
    given = _receiver(frame.f_code, frame.f_lasti)
    if given is None:
        return False
    function = resolved(given[0].func, frame)
    if _reports(function):
        return not (function is print and _is_kept(given[0]))
    return (_raises(function) or only_raises(function, *given)) and not is_handled(frame)


def _is_kept(call: ast.Call) -> bool:
    """Whether what is printed goes into a text that the program can read again."""
    files = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg in (None, "file")]
    return isinstance(sys.stdout, io.StringIO) or any(file != "sys.stderr" for file in files)


def _receiver(code: CodeType, instruction: int) -> tuple[ast.Call, ast.AST | None] | None:
    """The call to which the text that the instruction makes is an argument, directly, and that argument, unless the call itself makes the
    text."""
    around = list(nodes_around(code, instruction))
    for node, inner in zip(reversed(around), (None, *reversed(around))):
        if isinstance(node, ast.Call) and not _makes_text(node):
            return node, inner
        if isinstance(node, (ast.stmt, ast.Lambda, ast.Compare, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await)):
            return None
        if _is_shown(node, around):
            continue
        return None
    return None


def _is_shown(node: ast.AST, around: list[Any]) -> bool:
    """Whether the value of the node becomes text, or is part of one."""
    return (
        isinstance(node, _SHOWN)
        or _is_text(node)
        or any(isinstance(outer, (ast.FormattedValue, ast.JoinedStr)) for outer in around[: around.index(node)])
    )


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):  # "text" % value, "text" + text
        return isinstance(node.op, (ast.Mod, ast.Add)) and (_is_text(node.left) or _is_text(node.right))
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str) or _makes_text(node)


def _makes_text(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (
        isinstance(function, ast.Name) and function.id in _MAKES_TEXT or isinstance(function, ast.Attribute) and function.attr == "format"
    )


def _reports(function: Any) -> bool:
    if isinstance(getattr(function, "__self__", None), (logging.Logger, logging.LoggerAdapter)):
        return getattr(function, "__name__", "") in _LOG_METHODS
    return function is print or function is warnings.warn or function is warnings.warn_explicit


def _raises(function: Any) -> bool:
    """Whether this is a check of a library, which shows a text only in what it raises."""
    inner = getattr(function, "__wrapped__", function)
    return f"{getattr(inner, '__module__', '')}.{getattr(inner, '__qualname__', '')}" in trait("reporting")
