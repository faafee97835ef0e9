"""Functions of the user's that show a text in an exception alone: ``check(n == m, f"{n} and {m} differ")``, as their syntax tells.

Where such a call raises, and nothing around it handles that, the recording ends and the original runs; where it does not, nobody has seen
the text.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ..reach.origin import owner_of
from .syntax import definition_of, nodes_around

_WAYS_OUT = (ast.Return, ast.Yield, ast.YieldFrom, ast.Break, ast.Continue)
_HANDLES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_BLOCKS = ("body", "orelse")


def only_raises(function: Any, call: ast.Call, argument: ast.AST | None) -> bool:
    """Whether a call's argument can be seen nowhere but in what the function raises."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType):
        return False
    name = _parameter(plain.__code__, call, argument, plain is not function)
    return name is not None and _is_only_raised(plain.__code__, name)


def is_handled(frame: FrameType | None) -> bool:
    """Whether code of the user's handles, around the running instruction, what may be raised there."""
    while frame is not None and owner_of(frame) != "own":
        if any(isinstance(node, _HANDLES) for node in nodes_around(frame.f_code, frame.f_lasti)):
            return True
        frame = frame.f_back
    return False


def _parameter(code: CodeType, call: ast.Call, argument: ast.AST | None, is_bound: bool) -> str | None:
    """The parameter that an argument is given for; None where that cannot be told."""
    if isinstance(argument, ast.keyword):
        return argument.arg if argument.arg in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] else None
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
    return all(id(node) in raised for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name)


def _raised(function: ast.AST) -> Iterator[ast.AST]:
    """What runs only where an exception follows, and questions whether something is None."""
    for node in ast.walk(function):
        if isinstance(node, ast.Raise):
            yield node
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif isinstance(node, ast.Compare) and all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops):
            yield from (item for item in (node.left, *node.comparators) if isinstance(item, ast.Name))
        for block in (getattr(node, field, None) for field in _BLOCKS):
            if isinstance(block, list) and _ends_in_raise(block):
                yield from block


def _ends_in_raise(block: list[Any]) -> bool:
    return isinstance(block[-1] if block else None, ast.Raise) and not any(
        isinstance(node, _WAYS_OUT) for statement in block for node in ast.walk(statement)
    )
