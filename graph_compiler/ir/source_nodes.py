"""Syntax nodes in the user's source files: those around an instruction, a position or a line."""

from __future__ import annotations

import ast
import functools
import linecache
from itertools import islice
from types import CodeType
from typing import Any

# First line, last line, first column, last column.
Position = tuple[int, int, int, int]


def nodes_around(code: CodeType, instruction: int) -> tuple[Any, ...]:
    """Return the syntax nodes that contain an instruction (``frame.f_lasti``), outermost first.

    Return an empty tuple if the source or the instruction's columns are unknown (always on Python 3.10).
    """
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
    """Return the outermost statement that begins at ``line``, else the innermost one that contains it.

    Return None if there is no such statement, or no source.
    """
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
    """Return the syntax tree of a source file; None if it is not Python. Without a file the tree is empty."""
    try:
        return ast.parse(text_of(file))
    except (SyntaxError, ValueError):
        return None


# Cached like the tree, whose positions belong to this text: an edited file would have others.
@functools.lru_cache(maxsize=16)
def text_of(file: str) -> str:
    return "".join(linecache.getlines(file))
