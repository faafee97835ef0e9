"""The user's source at an origin: the expression as messages quote it, and the syntax nodes around it."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
from itertools import islice
from types import CodeType
from typing import Any

from .node import Origin

# Longest quotation, and longest value in a message.
MOST_COLUMNS = 80
# Nodes that decide by a condition, which is their field ``test``, with the keyword before it.
_DECISIONS: dict[type[ast.AST], str] = {
    ast.If: "if",
    ast.IfExp: "if",
    ast.While: "while",
    ast.Assert: "assert",
}
# Functions and methods that return the elements that Python reads from an array.
_CONVERSIONS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (float,),
    "complex": (complex,),
    "item": (bool, int, float, complex),
    "tolist": (list, bool, int, float, complex),
}


def place_of(origin: Origin) -> str:
    """Return the location ``origin`` for a message, with the user's code if it is found."""
    around = _nodes(origin)
    return f"`{_quoted(origin, around)}` at {origin.place}" if around else str(origin)


def value_at(origin: Origin, value: Any) -> str:
    """Return the location of a ``value`` that was read from an array, for a message."""
    around = _nodes(origin)
    if not around or _has_value(around, value):
        return place_of(origin)
    kind = "a condition" if isinstance(value, bool) else "a list" if isinstance(value, list) else "a number"
    return f"{kind} in {place_of(origin)}"


def recorded(origin: Origin, value: Any) -> str:
    return f"{value_at(origin, value)} was {shortened(repr(value))} when recorded"


def shortened(text: str) -> str:
    return text if len(text) <= MOST_COLUMNS else f"{text[: MOST_COLUMNS - 3]}..."


def _nodes(origin: Origin) -> tuple[Any, ...]:
    """Return the syntax nodes around ``origin``, outermost first; empty if they are unknown."""
    # Without an instruction the line need not be the user's, and the file need not be the recorded one.
    if origin.instruction is None:
        return ()
    code, offset = origin.instruction
    if around := nodes_around(code, offset):
        return around
    statement = statement_at(code.co_filename, origin.line)
    return () if statement is None else (statement,)


def _quoted(origin: Origin, around: tuple[Any, ...]) -> str:
    file, node = origin.file, around[-1]
    if isinstance(node, ast.stmt):
        return shortened(_head(node))
    outer = around[-2]
    if isinstance(outer, (ast.For, ast.AsyncFor)) and node is outer.iter:
        return shortened(_head(outer))
    keyword = f"{_DECISIONS[type(outer)]} " if _is_test(node, outer) else ""
    return shortened(keyword + _source(file, node))


def _is_test(node: ast.AST, outer: Any) -> bool:
    return type(outer) in _DECISIONS and outer.test is node


def _has_value(around: tuple[Any, ...], value: Any) -> bool:
    """Return True if ``value`` is assumed to be the value of the innermost node in ``around``."""
    node = around[-1]
    # Python reads the parts of ``a and b``, ``not a`` and ``a < b < c``.
    if isinstance(node, (ast.stmt, ast.BoolOp, ast.UnaryOp)):
        return False
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1
    outer = around[-2]
    # In ``if table[n]``, an int is the index.
    if isinstance(value, bool) and (isinstance(outer, (ast.BoolOp, ast.UnaryOp)) or _is_test(node, outer)):
        return True
    function = node.func if isinstance(node, ast.Call) else None
    name = getattr(function, "id", None) or getattr(function, "attr", None) or ""
    return type(value) in _CONVERSIONS.get(name, ())


def _head(statement: ast.stmt) -> str:
    head: Any = copy.copy(statement)
    if isinstance(head, ast.Assert):
        # The condition alone is quoted, without the message.
        head.msg = None
    elif hasattr(head, "body"):
        head.body, head.orelse = [ast.Pass()], []
    first, _, rest = ast.unparse(head).partition("\n")
    return first.removesuffix(":") if rest else first


def _source(file: str, node: ast.AST) -> str:
    text = ast.get_source_segment(text_of(file), node) or ""
    # ``unparse`` writes an expression of several lines in one, without its comments.
    return text if "\n" not in text else ast.unparse(node)


# ----------------------------------------------------------------------------------------------- syntax nodes
# Nodes in the user's source files: those around an instruction, a position or a line.

# First line, last line, first column, last column.
Position = tuple[int, int, int, int]


def nodes_around(code: CodeType, instruction: int) -> tuple[Any, ...]:
    """Return the syntax nodes around the instruction at a byte offset, outermost first; empty if unknown."""
    return _nodes_around(code, code.co_filename, instruction)


# Code objects of different files may be equal.
@functools.lru_cache(maxsize=1024)
def _nodes_around(code: CodeType, file: str, instruction: int) -> tuple[Any, ...]:
    # Python 3.10 does not store the columns of an instruction.
    if not hasattr(code, "co_positions"):
        return ()
    # There is one position for each code unit, which has two bytes.
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    if position is None or None in position:
        return ()
    return nodes_at(file, position)  # type: ignore[arg-type]


def nodes_at(file: str, position: Position) -> tuple[Any, ...]:
    tree = tree_of(file)
    return () if tree is None else tuple(_around(tree, position))


def statement_at(file: str, line: int) -> ast.stmt | None:
    """Return the outermost statement that begins at ``line``, else the innermost one around it, or None."""
    tree = tree_of(file)
    # ``walk`` yields outer nodes before inner ones.
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree is not None else []
    around = [node for node in found if node.lineno <= line <= (node.end_lineno or 0)]
    return next((node for node in around if node.lineno == line), around[-1] if around else None)


def _around(tree: ast.AST, position: Position) -> list[Any]:
    first, last = (position[0], position[2]), (position[1], position[3])
    found: list[Any] = []
    node: Any = tree
    while node is not None:
        node = next((child for child in ast.iter_child_nodes(node) if _holds(child, first, last)), None)
        if node is not None:
            found.append(node)
    return found


def _holds(node: Any, first: tuple[int, int], last: tuple[int, int]) -> bool:
    if not hasattr(node, "lineno"):
        return False
    return (node.lineno, node.col_offset) <= first and last <= (node.end_lineno, node.end_col_offset)


@functools.lru_cache(maxsize=16)
def tree_of(file: str) -> ast.Module | None:
    try:
        return ast.parse(text_of(file))
    except (SyntaxError, ValueError):
        return None


# Cached like the tree, whose positions belong to this text: an edited file would have others.
@functools.lru_cache(maxsize=16)
def text_of(file: str) -> str:
    return "".join(linecache.getlines(file))
