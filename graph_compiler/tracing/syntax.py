"""The syntax that a running instruction stands in, from the source of its file."""

from __future__ import annotations

import ast
import functools
import linecache
from itertools import islice
from types import CodeType
from typing import Any

Position = tuple[int, int, int, int]  # first line, last line, first column, last column


@functools.lru_cache(maxsize=1024)
def nodes_around(code: CodeType, instruction: int) -> tuple[Any, ...]:
    """The syntax nodes that hold an instruction (``frame.f_lasti``), the outermost first; none where that cannot be told."""
    if not hasattr(code, "co_positions"):  # Python 3.10 does not tell where in a line it is
        return ()
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    tree = _parsed(code.co_filename)
    if tree is None or position is None or None in position:
        return ()
    return tuple(_around(tree, position))  # type: ignore[arg-type]  # none of the four is None


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
def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
