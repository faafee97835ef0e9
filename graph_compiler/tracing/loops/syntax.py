"""The loop of the source that a frame runs: found by the place of its instruction, in a text that is checked to be the code that runs."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Union

from ..syntax import nodes_around

Loop = Union[ast.For, ast.While]
_OPNAME = dis.opname
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Found:
    """A loop and the function that it stands in. ``names`` are the variables that its steps read or assign, ``after`` those that other
    code of the function reads."""

    loop: Loop
    names: frozenset[str]
    after: frozenset[str]


def for_over(frame: FrameType) -> Found | None:
    """The ``for`` over what the running instruction gives."""
    around = _around(frame.f_code, frame.f_lasti)
    begins = _OPNAME[frame.f_code.co_code[frame.f_lasti]] == "GET_ITER"  # which stands, in Python 3.11, at the place of the whole loop
    if begins and around and isinstance(around[-1], ast.For):
        place = -1
    elif len(around) < 2 or not isinstance(around[-2], ast.For) or around[-1] is not around[-2].iter:
        return None
    else:
        place = -2
    return None if around[place].orelse else _found(frame.f_code, frame.f_lasti, place)


def is_given_to(frame: FrameType, is_known: Callable[[str], bool]) -> bool:
    """Whether what the running instruction gives goes to functions of ``known`` names, for a ``for`` to go through what these give."""
    *outer, call = _around(frame.f_code, frame.f_lasti) or (None,)
    is_inner = bool(outer) and isinstance(outer[-1], ast.Call)
    while outer and isinstance(outer[-1], ast.Call):
        function = outer[-1].func
        if not isinstance(function, ast.Name) or not is_known(function.id) or call not in outer[-1].args:
            return False
        call = outer.pop()
    return is_inner and bool(outer) and isinstance(outer[-1], ast.For) and call is outer[-1].iter


def while_asking(frame: FrameType) -> Found | None:
    """The ``while`` whose whole condition the running instruction looks at."""
    around = _around(frame.f_code, frame.f_lasti)
    if len(around) < 2 or not isinstance(around[-2], ast.While) or around[-1] is not around[-2].test or around[-2].orelse:
        return None
    return _found(frame.f_code, frame.f_lasti, -2)


def _around(code: CodeType, instruction: int) -> tuple[Any, ...]:
    around = nodes_around(code, instruction)
    is_function = any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name for node in around)
    return around if is_function and is_source(code) else ()


@functools.lru_cache(maxsize=1024)
def _found(code: CodeType, instruction: int, place: int) -> Found:
    around = nodes_around(code, instruction)
    loop = around[place]
    function = next(node for node in reversed(around[:place]) if isinstance(node, _FUNCTIONS))
    inside = set(ast.walk(loop))
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    outside = (node for node in ast.walk(function) if node not in inside and isinstance(node, ast.Name))
    return Found(loop, frozenset(names), frozenset(node.id for node in outside if isinstance(node.ctx, ast.Load)))


@functools.lru_cache(maxsize=1024)
def is_source(code: CodeType) -> bool:
    """Whether the file, as it is now, has this code: compiled again, one of its functions is equal to it, and stands in the same place."""
    return (code, _places(code)) in _codes(code.co_filename)


def _places(code: CodeType) -> tuple[Any, ...]:
    """Where each instruction stands; nothing in Python 3.10, which tells no more than lines."""
    return tuple(code.co_positions()) if hasattr(code, "co_positions") else ()


@functools.lru_cache(maxsize=64)
def _codes(file: str) -> frozenset[tuple[CodeType, tuple[Any, ...]]]:
    try:
        to_see = [compile("".join(linecache.getlines(file)), file, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return frozenset()
    found: set[tuple[CodeType, tuple[Any, ...]]] = set()
    while to_see:
        code = to_see.pop()
        found.add((code, _places(code)))
        to_see += [item for item in code.co_consts if isinstance(item, CodeType)]
    return frozenset(found)


__all__ = ["Found", "Loop", "for_over", "is_source", "while_asking"]
