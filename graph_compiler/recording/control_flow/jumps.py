"""Rewriting of jumps to flags (:func:`lower_jumps`), and analysis of live variables (:class:`Liveness`)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

PREFIX = "_trace_"
RESULT, RETURNED = f"{PREFIX}result", f"{PREFIX}returned"
Statements = list[ast.stmt]
Flags = frozenset[str]
Node = TypeVar("Node", bound=ast.AST)
_NONE: Flags = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# Python 3.11 added ``except*``.
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))


@dataclass
class LoopFlags:
    """Names of the boolean variables that :func:`lower_jumps` adds for loop ``number`` of a function.

    stopped: set by ``break``.
    skipped: set by ``continue``.
    goes_on: the condition of a ``while`` whose test assigns variables.
    """

    number: int

    @property
    def stopped(self) -> str:
        return f"{PREFIX}stopped_{self.number}"

    @property
    def goes_on(self) -> str:
        return f"{PREFIX}goes_on_{self.number}"

    @property
    def skipped(self) -> str:
        return f"{PREFIX}skipped_{self.number}"


def value_name(variable: str) -> str:
    """Return the name for values of a variable, without the prefix and number of one that tracing added.

    >>> value_name("total"), value_name("_trace_stopped_0")
    ('total', 'stopped')
    """
    added = variable.removeprefix(PREFIX)
    return variable if added == variable else added.rstrip("_0123456789")


def lower_jumps(body: Statements) -> Statements:
    """Return the body of a function, in which flags replace the jumps inside of statements.

    The statements are changed in place.

    >>> program = ast.parse('''
    ... def first(xs):
    ...     for x in xs:
    ...         if x > 0:
    ...             return x
    ...     return None''')
    >>> print(ast.unparse(ast.Module(lower_jumps(program.body[0].body), [])))
    _trace_returned = False
    for x in xs:
        if x > 0:
            _trace_result = x
            _trace_returned = True
    if not _trace_returned:
        _trace_result = None
        _trace_returned = True
    return _trace_result
    """
    return _Lowering().function(body)


def exits_of(loop: ast.For | ast.While) -> tuple[str, ...]:
    return getattr(loop, "exits", ())


def guarded_by_else(loop: ast.For | ast.While) -> tuple[str, ...]:
    return getattr(loop, "guarded", ())


@dataclass
class _Lowering:
    loops: int = 0
    inside: list[LoopFlags] = field(default_factory=list)

    def function(self, body: Statements) -> Statements:
        returns = [node for node in walk(body) if isinstance(node, ast.Return)]
        if not returns:
            return self.block(body)[0]
        if returns == [body[-1]]:
            return [*self.block(body[:-1])[0], body[-1]]
        end = body[-1]
        whole = body if ends_control_flow(body) else [*body, at(ast.Return(None), end)]
        found, _ = self.block(whole)
        return [assign(RETURNED, ast.Constant(False), body[0]), *found, at(ast.Return(name(RESULT)), end)]

    # ------------------------------------------------------------------------------ blocks
    def block(self, body: Sequence[ast.stmt]) -> tuple[Statements, Flags]:
        """Return the rewritten statements of a block, and the flags that jumps out of it set."""
        made, flags = Statements(), _NONE
        for place, statement in enumerate(body):
            rest = body[place + 1 :]
            if isinstance(statement, ast.If) and rest and (joined := _joined(statement, rest)) is not None:
                statement, rest = joined, ()
            found, new = self.statement(statement)
            made += found
            flags |= new
            # What follows runs only if no flag of the statement is set.
            if new and rest:
                behind, more = self.block(rest)
                return [*made, at(ast.If(none_of(sorted(new)), behind, []), rest[0])], flags | more
            if not rest:
                break
        return made, flags

    def statement(self, statement: ast.stmt) -> tuple[Statements, Flags]:
        if isinstance(statement, ast.Return):
            return self._return(statement)
        if isinstance(statement, ast.Break):
            return [assign(self.inside[-1].stopped, ast.Constant(True), statement)], frozenset(
                {self.inside[-1].stopped}
            )
        if isinstance(statement, ast.Continue):
            return [assign(self.inside[-1].skipped, ast.Constant(True), statement)], frozenset(
                {self.inside[-1].skipped}
            )
        if isinstance(statement, (ast.For, ast.While)):
            return self._loop(statement)
        return self._compound(statement)

    def _return(self, statement: ast.Return) -> tuple[Statements, Flags]:
        value = statement.value or at(ast.Constant(None), statement)
        return [assign(RESULT, value, statement), assign(RETURNED, ast.Constant(True), statement)], frozenset(
            {RETURNED}
        )

    def _compound(self, statement: ast.stmt) -> tuple[Statements, Flags]:
        flags = _NONE
        for holder, kind in blocks_of(statement):
            found, new = self.block(getattr(holder, kind))
            setattr(holder, kind, found)
            flags |= new
        # ``else`` runs only if the body has reached its end.
        if isinstance(statement, _TRIES) and flags and statement.orelse:
            statement.orelse = [at(ast.If(none_of(sorted(flags)), statement.orelse, []), statement.orelse[0])]
        return [statement], flags

    def _loop(self, loop: ast.For | ast.While) -> tuple[Statements, Flags]:
        own = LoopFlags(self.loops)
        self.loops += 1
        breaks = list(_leaving(loop.body))
        self.inside.append(own)
        body, flags = self.block(loop.body)
        self.inside.pop()
        if own.skipped in flags:
            body = [assign(own.skipped, ast.Constant(False), loop.body[0]), *body]
        exits = tuple(flag for flag in (own.stopped, RETURNED) if flag in flags)
        asked = (
            []
            if isinstance(loop, ast.For) or not assigns(loop.test)
            else _asked_in_steps(loop, own, body, exits)
        )
        behind, more = self.block(loop.orelse)
        loop.body, loop.orelse = body, []
        loop.exits = exits  # type: ignore[union-attr]
        loop.guarded = _in_all([behind, *breaks]) if behind and breaks else ()  # type: ignore[union-attr]
        if exits and behind:
            behind = [at(ast.If(none_of(exits), behind, []), behind[0])]
        before = [assign(own.stopped, ast.Constant(False), loop)] if own.stopped in flags else []
        return [*before, *asked, loop, *behind], (flags & {RETURNED}) | more


def _asked_in_steps(loop: ast.While, own: LoopFlags, body: Statements, exits: Sequence[str]) -> Statements:
    """Replace the test of a ``while`` by a flag, in place, and return the statements that first compute it.

    A statement that computes it again is appended to ``body``.
    """
    again = assign(own.goes_on, copy.deepcopy(loop.test), loop.test)
    body.append(at(ast.If(none_of(exits), [again], []), loop.test) if exits else again)
    first, loop.test = assign(own.goes_on, loop.test, loop.test), at(name(own.goes_on), loop.test)
    return [first]


def _joined(statement: ast.If, rest: Sequence[ast.stmt]) -> ast.If | None:
    """Return ``statement`` with ``rest`` moved into one branch if the other one leaves the block, or None."""
    if ends_control_flow(statement.body):
        return at(ast.If(statement.test, statement.body, [*statement.orelse, *rest]), statement)
    if statement.orelse and ends_control_flow(statement.orelse):
        return at(ast.If(statement.test, [*statement.body, *rest], statement.orelse), statement)
    return None


def ends_control_flow(body: Sequence[ast.stmt]) -> bool:
    """Return True if code after a block is known not to run."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return ends_control_flow(last.body) and ends_control_flow(last.orelse)
    if isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and last.test.value:
        return not any(isinstance(node, ast.Break) for node in walk(last.body))
    return isinstance(last, (ast.Return, ast.Break, ast.Continue))


def _leaving(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    """Yield, for each ``break`` of a loop with this ``body``, the statements before it in its block."""
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Break):
            yield body[:place]
        for holder, kind in blocks_of(statement):
            # A ``break`` in the body of an inner loop leaves that loop, one in its ``else`` the outer one.
            if not (isinstance(statement, (ast.For, ast.While)) and kind == "body"):
                yield from _leaving(getattr(holder, kind))


def _in_all(blocks: Sequence[Sequence[ast.stmt]]) -> tuple[str, ...]:
    found = [
        {
            target.id
            for one in block
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Name)
        }
        for block in blocks
    ]
    return tuple(sorted(set.intersection(*found)))


# ------------------------------------------------------------------------------------- nodes and variables
def blocks_of(statement: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the blocks of control flow directly inside ``statement``, as (node, attribute) pairs."""
    if isinstance(statement, _FUNCTIONS):
        return
    for kind in ("body", "orelse", "finalbody"):
        if isinstance(getattr(statement, kind, None), list) and getattr(statement, kind):
            yield statement, kind
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner, "body"


def walk(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in body:
        yield node
        if not isinstance(node, _FUNCTIONS):
            yield from walk(list(ast.iter_child_nodes(node)))


def assigns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))


def at(node: Node, place: ast.AST) -> Node:
    ast.copy_location(node, place)
    for inner in ast.walk(node):
        if not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node


def name(text: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(text, context or ast.Load())


def assign(target: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    return at(ast.Assign([name(target, ast.Store())], value), place)


def none_of(flags: Sequence[str]) -> ast.expr:
    asked: list[ast.expr] = [name(flag) for flag in flags]
    return ast.UnaryOp(ast.Not(), asked[0] if len(asked) == 1 else ast.BoolOp(ast.Or(), asked))


Names = frozenset[str]
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Fields of functions and classes that are evaluated outside of their own scope.
_OUTSIDE_OF_BODY = frozenset({"decorator_list", "args", "returns", "bases", "keywords"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def reads(*nodes: ast.AST | None) -> Names:
    inside = (inner for node in nodes if node is not None for inner in ast.walk(node))
    return frozenset(
        inner.id for inner in inside if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    ) | frozenset(
        inner.target.id for node in nodes if node is not None for inner in ast.walk(node)
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name)
    )  # fmt: skip


def writes(nodes: Iterable[ast.AST]) -> Names:
    """Return the names that ``nodes`` bind or delete, without those inside of inner scopes.

    >>> code = "match x:\\n  case {1: a, **rest}:\\n    b = [c for c in a]"
    >>> sorted(writes(ast.parse(code).body))
    ['a', 'b', 'rest']
    """
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found |= {node.name} if node.name is not None else set()
        elif isinstance(node, ast.MatchMapping):
            found |= {node.rest} if node.rest is not None else set()
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        if isinstance(node, _COMPREHENSIONS):
            found |= {one.target.id for one in _walk_scope(node) if isinstance(one, ast.NamedExpr)}
        else:
            found |= writes(_parts_in_scope(node))
    return frozenset(found)


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for part in _parts_in_scope(node):
        yield from _walk_scope(part)


def _parts_in_scope(node: ast.AST) -> Iterator[ast.AST]:
    for field_name, part in ast.iter_fields(node):
        if not isinstance(node, _FUNCTIONS) or field_name in _OUTSIDE_OF_BODY:
            parts = part if isinstance(part, list) else [part]
            yield from (item for item in parts if isinstance(item, ast.AST))


def captured_variables(body: Sequence[ast.AST]) -> Names:
    inner = [node for node in walk(body) if isinstance(node, (*_SCOPES, ast.ClassDef))]
    return frozenset().union(*map(reads, inner), *(assigned_outside(node) for node in inner))


def assigned_outside(function: ast.AST) -> Names:
    return frozenset(
        text for node in ast.walk(function) if isinstance(node, ast.Nonlocal) for text in node.names
    )


@dataclass(frozen=True)
class VariableUses:
    """Live variables at two points of an ``if``, ``while`` or ``for``.

    after: variables that are live after the statement.
    start: variables that are live at the start of its blocks.
    """

    after: Names
    start: Names


class Liveness:
    """Live-variable analysis of the body of a function.

    The constructor sets the attribute ``uses`` of ``if``, ``while`` and ``for`` to a :class:`VariableUses`.

    always: variables that functions and classes inside read, or declare nonlocal.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.always = captured_variables(body)
        self.block(body, self.always)

    def block(self, body: Sequence[ast.stmt], after: Names, besides: Names = frozenset()) -> Names:
        for statement in reversed(body):
            after = self.statement(statement, after | besides, besides)
        return after | besides

    def statement(self, statement: ast.stmt, after: Names, besides: Names) -> Names:
        """Return the variables that are live before ``statement``, and set ``uses`` of statements in it.

        ``besides`` are variables live at any point of it, because an exception handler may follow.
        """
        if isinstance(statement, ast.If):
            start = self.block(statement.body, after, besides) | self.block(statement.orelse, after, besides)
            return self._noted(statement, after, start) | reads(statement.test)
        if isinstance(statement, ast.While):
            return self._loop(statement, after, besides, reads(statement.test), frozenset())
        if isinstance(statement, ast.For):
            return self._loop(statement, after, besides, frozenset(), writes([statement.target])) | reads(
                statement.iter
            )
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            inside = self.block(statement.body, after, besides)
            return (inside - writes(item for item in statement.items)) | reads(*statement.items)
        if isinstance(statement, (*_TRIES, ast.Match)):
            return self._any_order(statement, after, besides)
        return (after - writes([statement])) | reads(statement) | self.always

    def _loop(
        self, loop: ast.For | ast.While, after: Names, besides: Names, asked: Names, targets: Names
    ) -> Names:
        head = after | asked | frozenset(exits_of(loop))
        for _ in range(2):
            # The end of the body leads to its start, so a second pass is needed.
            head |= self.block(loop.body, head, besides) - targets
        return self._noted(loop, after, head)

    def _any_order(self, statement: ast.stmt, after: Names, besides: Names) -> Names:
        # Any block may follow any other, so what one reads is live in all of them after a second pass.
        for _ in range(2):
            found = [
                self.block(getattr(holder, kind), after, besides) for holder, kind in blocks_of(statement)
            ]
            besides = besides.union(*found)
        return after | besides | reads(getattr(statement, "subject", None))

    def _noted(self, statement: ast.stmt, after: Names, start: Names) -> Names:
        statement.uses = VariableUses(after, start)  # type: ignore[attr-defined]
        return start | after if not isinstance(statement, ast.If) else start
