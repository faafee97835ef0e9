"""The loop that a frame runs, found in its source by the position of the current instruction."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, NamedTuple, Union

from ..code.syntax import Position, nodes_around, nodes_at
from ..control_flow.jumps import Liveness, walk, writes

Loop = Union[ast.For, ast.While]
_OPNAME = dis.opname
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Found:
    """A loop in the source.

    names: variables that are live at the start of an iteration.
    after: variables that are read outside the loop.
    own: variables that its function assigns.
    """

    loop: Loop
    names: frozenset[str]
    after: frozenset[str]
    own: frozenset[str]


class Conditions(NamedTuple):
    """The conditions that the test of a ``while`` joins.

    negated: for each, True if it is under ``not``.
    any_of: True if they are joined by ``or``.
    """

    negated: tuple[bool, ...]
    any_of: bool


def for_over(frame: FrameType) -> Found | None:
    """Return the ``for`` loop whose iterable or iterator the current instruction of ``frame`` produces.

    Return None if there is none, if it has an ``else`` clause, or if it cannot be found in the source
    (always on Python 3.10).
    """
    around = _around(frame.f_code, frame.f_lasti)
    # In Python 3.11 this instruction has the position of the whole loop.
    begins = _OPNAME[frame.f_code.co_code[frame.f_lasti]] == "GET_ITER"
    if begins and around and isinstance(around[-1], ast.For):
        place = -1
    elif len(around) < 2 or not isinstance(around[-2], ast.For) or around[-1] is not around[-2].iter:
        return None
    else:
        place = -2
    return None if around[place].orelse else _found(frame.f_code, frame.f_lasti, place)


@functools.lru_cache(maxsize=1024)
def for_at(file: str, position: Position) -> Found | None:
    around = nodes_at(file, position)
    return _found_in(around) if around and isinstance(around[-1], ast.For) and not around[-1].orelse else None


def is_given_to(frame: FrameType, is_known: Callable[[str], bool]) -> bool:
    *outer, call = _around(frame.f_code, frame.f_lasti) or (None,)
    is_inner = bool(outer) and isinstance(outer[-1], ast.Call)
    while outer and isinstance(outer[-1], ast.Call):
        function = outer[-1].func
        if not isinstance(function, ast.Name) or not is_known(function.id) or call not in outer[-1].args:
            return False
        call = outer.pop()
    return is_inner and bool(outer) and isinstance(outer[-1], ast.For) and call is outer[-1].iter


def while_asking(frame: FrameType) -> tuple[Found, int, Conditions] | None:
    """Return the ``while`` whose condition the current instruction tests, its index, and all conditions.

    Return None if there is none, or if it has an ``else`` clause.
    """
    around = _around(frame.f_code, frame.f_lasti)
    place = next((place for place in reversed(range(len(around))) if _is_in_test(around, place)), None)
    if place is None or around[place].orelse:
        return None
    conditions = _conditions(around[place].test)
    number = _number_of(frame.f_code, frame.f_lasti, place, len(conditions.negated))
    if number is None:
        return None
    return _found(frame.f_code, frame.f_lasti, place), number, conditions


@functools.lru_cache(maxsize=1024)
def _conditions(test: ast.expr) -> Conditions:
    found: list[bool] = []
    any_of = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    for part in test.values if isinstance(test, ast.BoolOp) else (test,):
        is_negated = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
        inner = part.operand if isinstance(part, ast.UnaryOp) and is_negated else part
        count = len(inner.ops) if isinstance(inner, ast.Compare) and not is_negated else 1
        if any_of and count > 1:
            return Conditions((), False)
        if isinstance(inner, ast.Constant) or any(
            _jumps(node) for node in ast.walk(inner) if node is not inner or count == 1
        ):
            return Conditions((), False)
        found += [is_negated] * count
    return Conditions(tuple(found), any_of)


def _jumps(node: ast.AST) -> bool:
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return (
        is_not
        or isinstance(node, (ast.BoolOp, ast.IfExp))
        or (isinstance(node, ast.Compare) and len(node.ops) > 1)
    )


def _is_in_test(nodes: tuple[Any, ...], place: int) -> bool:
    return isinstance(nodes[place], ast.While) and (
        len(nodes) == place + 1 or nodes[place + 1] is nodes[place].test
    )


@functools.lru_cache(maxsize=1024)
def _number_of(code: CodeType, instruction: int, place: int, count: int) -> int | None:
    loop = nodes_around(code, instruction)[place]
    own, asks = [], set()
    for each in dis.get_instructions(code):
        is_jump = "JUMP" in each.opname and "_IF_" in each.opname
        if (
            is_jump
            and len(nodes := nodes_around(code, each.offset)) > place
            and nodes[place] is loop
            and _is_in_test(nodes, place)
        ):
            own.append(each.offset)
        # The other two instructions exist since Python 3.13.
        if is_jump or each.opname == "TO_BOOL" or each.argrepr.startswith("bool("):
            asks.add(each.offset)
    if instruction not in asks or not count or len(own) not in (count, 2 * count):
        return None
    return sum(offset < instruction for offset in own) % count


def _around(code: CodeType, instruction: int) -> tuple[Any, ...]:
    around = nodes_around(code, instruction)
    is_function = any(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name
        for node in around
    )
    return around if is_function and is_source(code) else ()


@functools.lru_cache(maxsize=1024)
def _found(code: CodeType, instruction: int, place: int) -> Found:
    around = nodes_around(code, instruction)
    return _found_in(around[: place + 1 or None])


def _found_in(around: tuple[Any, ...]) -> Found:
    loop = around[-1]
    function = next(node for node in reversed(around[:-1]) if isinstance(node, _FUNCTIONS))
    inside = set(ast.walk(loop))
    names = {node.id for node in inside if isinstance(node, ast.Name)} & _used_at(function, loop)
    outside = (node for node in ast.walk(function) if node not in inside and isinstance(node, ast.Name))
    after = frozenset(node.id for node in outside if isinstance(node.ctx, ast.Load))
    return Found(loop, frozenset(names), after, _own(function))


def _own(function: Any) -> frozenset[str]:
    declared = (node for node in walk(function.body) if isinstance(node, (ast.Global, ast.Nonlocal)))
    arguments = frozenset(node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))
    return (writes(function.body) | arguments).difference(*(node.names for node in declared))


def _used_at(function: Any, loop: Loop) -> frozenset[str]:
    Liveness(function.body)
    found: frozenset[str] = loop.uses.start  # type: ignore[union-attr]
    return found


@functools.lru_cache(maxsize=1024)
def is_source(code: CodeType) -> bool:
    return (code, _places(code)) in _codes(code.co_filename)


def _places(code: CodeType) -> tuple[Any, ...]:
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
