"""Which variables of a function have a use behind each statement: what a branch or a loop gives to the code after it.

A variable that a nested function reads has one everywhere, for it may be called anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .jumps import blocks_of, exits_of, walk

Names = frozenset[str]
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def reads(*nodes: ast.AST | None) -> Names:
    """The variables that are read, also by functions inside."""
    inside = (inner for node in nodes if node is not None for inner in ast.walk(node))
    return frozenset(inner.id for inner in inside if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)) | frozenset(
        inner.target.id for node in nodes if node is not None for inner in ast.walk(node)
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name)
    )  # fmt: skip


def writes(nodes: Iterable[ast.AST]) -> Names:
    """The variables that statements assign, import, define or delete; not those of functions and comprehensions inside."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found |= {node.name} if node.name is not None else set()
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        if isinstance(node, _COMPREHENSIONS):
            found |= {one.target.id for one in ast.walk(node) if isinstance(one, ast.NamedExpr) and isinstance(one.target, ast.Name)}
        elif not isinstance(node, (*_SCOPES, ast.ClassDef)):
            found |= writes(ast.iter_child_nodes(node))
    return frozenset(found)


def captured(body: Sequence[ast.AST]) -> Names:
    """What functions inside of a body read or assign of the variables around them."""
    inner = [node for node in walk(body) if isinstance(node, (*_SCOPES, ast.ClassDef))]
    return frozenset().union(*map(reads, inner), *(assigned_outside(node) for node in inner))


def assigned_outside(function: ast.AST) -> Names:
    """The variables that a function, or one in it, declares ``nonlocal``."""
    return frozenset(text for node in ast.walk(function) if isinstance(node, ast.Nonlocal) for text in node.names)


@dataclass(frozen=True)
class Uses:
    """Variables with a use: ``behind`` a statement, and at the ``start`` of its blocks."""

    behind: Names
    start: Names


class Liveness:
    """The uses of the statements of one function, in the ``uses`` of each branch and loop."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.always = captured(body)
        self.block(body, self.always)

    def block(self, body: Sequence[ast.stmt], behind: Names, besides: Names = frozenset()) -> Names:
        """The variables that have a use before a block, of those ``behind`` it; those ``besides`` have one in all of it."""
        for statement in reversed(body):
            behind = self.statement(statement, behind | besides, besides)
        return behind | besides

    def statement(self, statement: ast.stmt, behind: Names, besides: Names) -> Names:
        """Those before one statement."""
        if isinstance(statement, ast.If):
            start = self.block(statement.body, behind, besides) | self.block(statement.orelse, behind, besides)
            return self._noted(statement, behind, start) | reads(statement.test)
        if isinstance(statement, ast.While):
            return self._loop(statement, behind, besides, reads(statement.test), frozenset())
        if isinstance(statement, ast.For):
            return self._loop(statement, behind, besides, frozenset(), writes([statement.target])) | reads(statement.iter)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            inside = self.block(statement.body, behind, besides)
            return (inside - writes(item for item in statement.items)) | reads(*statement.items)
        if isinstance(statement, (ast.Try, ast.Match)):
            return self._any_order(statement, behind, besides)
        return (behind - writes([statement])) | reads(statement) | self.always

    def _loop(self, loop: ast.For | ast.While, behind: Names, besides: Names, asked: Names, targets: Names) -> Names:
        head = behind | asked | frozenset(exits_of(loop))
        for _ in range(2):
            head |= self.block(loop.body, head, besides) - targets
        return self._noted(loop, behind, head)

    def _any_order(self, statement: ast.stmt, behind: Names, besides: Names) -> Names:
        """``try`` and ``match``: any of the blocks may follow any other, or what stands before the statement."""
        for _ in range(2):
            found = [self.block(getattr(holder, kind), behind, besides) for holder, kind in blocks_of(statement)]
            besides = besides.union(*found)
        return behind | besides | reads(getattr(statement, "subject", None))

    def _noted(self, statement: ast.stmt, behind: Names, start: Names) -> Names:
        statement.uses = Uses(behind, start)  # type: ignore[attr-defined]
        return start | behind if not isinstance(statement, ast.If) else start
