"""Rewriting of a function's source (``convert_function``).

Statements become calls of :class:`.statements.Statements` with their blocks as functions, which share the
variables of the function as closure cells.
"""

from __future__ import annotations

import ast
import copy
import functools
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import NotCompilable
from ..code.syntax import runs_later, syntax_of
from .jumps import (
    PREFIX,
    RESULT,
    Liveness,
    VariableUses,
    assign,
    assigned_outside,
    assigns,
    at,
    exits_of,
    guarded_by_else,
    lower_jumps,
    name,
    walk,
    writes,
)

# Name of the variable that holds the statements.
OWN = PREFIX.rstrip("_") + "d"
_SOURCES = frozenset({"range", "enumerate", "zip", "reversed"})
_UNSEEN = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
# Builtins that consume an iterable completely.
_CONSUMERS = frozenset({"sum", "max", "min", "list", "tuple", "sorted"})
_KEEPING = (ast.Lambda, ast.GeneratorExp, ast.NamedExpr)
_COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def convert_function(function: types.FunctionType, statements: Any) -> types.FunctionType:
    """Return a copy of ``function`` with its statements rewritten to call ``statements``.

    The copy shares the closure cells of ``function``, which are added to ``statements.outside``. A converted
    function is returned itself. Raise ``NotCompilable`` for generators, coroutines and functions without
    usable source.
    """
    code = function.__code__
    if is_converted(function):
        return function
    # A generator's frame is suspended between items, so its statements are not blocks.
    if runs_later(code):
        raise NotCompilable(
            f"{_place(function)} gives its results one by one (yield, await): its statements cannot be traced"
        )
    made = _code_of(code, code.co_filename, _class_of(function))
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    statements.outside.update({id(cell): cell for cell in cells.values()})
    cells[OWN] = types.CellType(statements)
    closure = tuple(cells.get(text) or types.CellType() for text in made.co_freevars)
    found = types.FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
    for kept in ("__kwdefaults__", "__doc__", "__qualname__", "__module__", "__annotations__"):
        setattr(found, kept, getattr(function, kept))
    found.__dict__.update(function.__dict__)
    return found


def is_converted(function: types.FunctionType) -> bool:
    return OWN in function.__code__.co_freevars


def _place(function: types.FunctionType) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: {function.__qualname__}"


def _class_of(function: types.FunctionType) -> str:
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""


# The file is an argument because codes of two files may be equal.
@functools.lru_cache(maxsize=1024)
def _code_of(code: types.CodeType, file: str, owner: str) -> types.CodeType:
    found = syntax_of(code)
    if found is None:
        raise NotCompilable(
            f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} has no source that can be read, or "
            "its line holds several functions: its statements cannot be traced. Write it with def in a file"
        )
    return _code_in(_compiled(_function_of(copy.deepcopy(found)), code, owner), code.co_name)


def _function_of(found: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef:
    if isinstance(found, ast.Lambda):
        body: list[ast.stmt] = [at(ast.Return(found.body), found.body)]
        return at(ast.FunctionDef("<lambda>", found.args, body, []), found)
    return found


def _compiled(function: ast.FunctionDef, code: types.CodeType, owner: str) -> types.CodeType:
    """Return the code of a module that defines the rewritten function inside an outer function.

    ``function`` is changed in place. ``owner`` is the name of its class, or empty.
    """
    # Inside the function, its name must refer to the variable outside.
    function.name = f"{PREFIX}function"
    _without_values(function)
    made = _Conversion(function).function()
    around = ast.arguments(
        [],
        [ast.arg(text) for text in (*code.co_freevars, OWN) if text != "__class__"],
        None,
        [],
        [],
        None,
        [],
    )
    # ``super()`` without arguments needs the variable ``__class__``.
    classes = [assign("__class__", ast.Constant(None), function)] if "__class__" in code.co_freevars else []
    whole: ast.stmt = ast.FunctionDef("around", around, [*classes, made, ast.Pass()], [])
    # Names with two leading underscores are mangled with the class's name.
    if owner:
        whole = ast.ClassDef(owner, [], [], [whole], [])
    module = ast.Module([at(whole, function)], [])
    made_of: types.CodeType = compile(
        ast.fix_missing_locations(module),
        code.co_filename,
        "exec",
        # ``__future__`` imports of this module must not apply to the user's code.
        dont_inherit=True,
        flags=code.co_flags & _FUTURE,
    )
    return made_of


# Flag of ``from __future__ import annotations``.
_FUTURE = 0x1000000


def _without_values(function: ast.FunctionDef) -> None:
    # These belong to the function itself, and must not be evaluated again.
    function.decorator_list, function.returns = [], None
    arguments = function.args
    for arg in (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *filter(None, (arguments.vararg, arguments.kwarg)),
    ):
        arg.annotation = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [None if item is None else ast.Constant(None) for item in arguments.kw_defaults]


def _code_in(whole: types.CodeType, title: str) -> types.CodeType:
    inner = whole
    # The outer function is the one that has the variable ``OWN``; the rewritten function is inside of it.
    while OWN not in inner.co_varnames + inner.co_cellvars:
        inner = next(item for item in inner.co_consts if isinstance(item, types.CodeType))
    found = next(item for item in inner.co_consts if isinstance(item, types.CodeType))
    return found.replace(co_name=title)


# ------------------------------------------------------------------------------------- one function
class _Conversion(ast.NodeTransformer):
    """Rewriter of one function, in place, that turns control flow and calls into calls of ``Statements``."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.own = function
        # Variables that are read after the enclosing loop only if it was left.
        self.guarded: tuple[str, ...] = ()
        declared = [node for node in walk(function.body) if isinstance(node, (ast.Global, ast.Nonlocal))]
        self.outer = {text for node in declared for text in node.names}
        # Variables of enclosing functions.
        self.around = {text for node in declared if isinstance(node, ast.Nonlocal) for text in node.names}

    def function(self) -> ast.FunctionDef:
        function = self.own
        function.body = lower_jumps(function.body)
        self.always = Liveness(function.body).always
        self.changed = frozenset().union(*(assigned_outside(node) for node in function.body)) - self.outer
        arguments = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
        variables = writes(function.body) - arguments - self.outer
        function.body = self._bound(self._block(function.body), variables)
        return function

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def _bound(self, body: list[ast.stmt], variables: frozenset[str]) -> list[ast.stmt]:
        first = body[0]
        # An assignment that never runs makes a name a local variable here, which blocks can declare nonlocal.
        missing = [assign(text, ast.Constant(None), first) for text in sorted(variables - writes(body))]
        return [at(ast.If(ast.Constant(False), missing, []), first), *body] if missing else body

    # ------------------------------------------------------------------------------ statements
    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        if any(isinstance(inner, _UNSEEN) for inner in walk(node.body)):
            return node
        node.decorator_list = list(map(self.visit, node.decorator_list))
        return _Conversion(node).function()

    # The body of a class is a scope of its own, whose names no block could declare nonlocal.
    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_If(self, node: ast.If) -> Any:
        uses: VariableUses = node.uses  # type: ignore[attr-defined]
        shared = self._shared([*node.body, *node.orelse], uses)
        around = writes([*node.body, *node.orelse]) & self.around
        given = sorted(shared & (uses.after | self.changed | self.always) | around)
        test = self._truth(node.test)
        then = self._nested("then", [], node.body, shared, node)
        otherwise = self._nested("otherwise", [], node.orelse, shared, node)
        return [
            then,
            otherwise,
            self._call(
                "branch",
                node,
                test,
                name(then.name),
                name(otherwise.name),
                _texts(given),
                _texts(self.guarded),
            ),
        ]

    def visit_While(self, node: ast.While) -> Any:
        with self._inside(node):
            return self._while(node)

    def visit_For(self, node: ast.For) -> Any:
        with self._inside(node):
            return self._for(node)

    @contextmanager
    def _inside(self, loop: ast.For | ast.While) -> Iterator[None]:
        before, self.guarded = self.guarded, guarded_by_else(loop)
        try:
            yield
        finally:
            self.guarded = before

    def _while(self, node: ast.While) -> list[ast.stmt]:
        uses: VariableUses = node.uses  # type: ignore[attr-defined]
        shared = self._shared([node.test, *node.body], uses)
        asked = _AsSizes().visit(_with_truth_values(node.test))
        test = self._nested(
            "test", [], [at(ast.Return(asked), node.test)], shared & writes([node.test]), node
        )
        body = self._nested("body", [], node.body, shared, node)
        exits, guarded = self._exits(node), _texts(guarded_by_else(node))
        return [
            test,
            body,
            *exits[0],
            self._call("while_", node, name(test.name), name(body.name), exits[1], guarded),
        ]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        uses: VariableUses = node.uses  # type: ignore[attr-defined]
        place = ast.Tuple(
            list(map(ast.Constant, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))),
            ast.Load(),
        )
        shared = self._shared([node.target, *node.body], uses)
        item = f"{PREFIX}item"
        taken = at(ast.Assign([node.target], name(item)), node.target)
        body = self._nested("body", [item], [taken, *node.body], shared, node)
        exits, guarded = self._exits(node), _texts(guarded_by_else(node))
        return [
            body,
            *exits[0],
            self._call("for_", node, self._source(node.iter), name(body.name), exits[1], guarded, place),
        ]

    def visit_Return(self, node: ast.Return) -> Any:
        # Only the result of a lowered ``return`` may have been copied by a branch.
        if isinstance(node.value, ast.Name) and node.value.id == RESULT:
            node.value = at(_asked("returned", node.value), node)
            return node
        return self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = _asked("plain", node.subject)
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = self.visit(node.msg) if node.msg is not None else ast.Constant(None)
        return self._call("assert_", node, self._truth(node.test), _function(message))

    def _exits(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], ast.expr]:
        flags = exits_of(node)
        if not flags:
            return [], ast.Constant(None)
        asked = ast.Tuple([name(flag) for flag in flags], ast.Load())
        function = self._nested("exits", [], [at(ast.Return(asked), node)], frozenset(), node)
        return [function], name(function.name)

    def _shared(self, parts: Sequence[ast.AST], uses: VariableUses) -> frozenset[str]:
        assigned = (writes(parts) - self.outer) | (self.changed if _calls(parts) else frozenset())
        return assigned & (uses.after | uses.start | self.always | self.changed)

    def _nested(
        self,
        title: str,
        args: Sequence[str],
        body: Sequence[ast.stmt],
        shared: frozenset[str],
        place: ast.AST,
    ) -> ast.FunctionDef:
        own = self._block(body) or [at(ast.Pass(), place)]
        declared: list[ast.stmt] = []
        if shared:
            declared.append(at(ast.Nonlocal(sorted(shared)), place))
        if outside := sorted(writes(body) & self.outer):
            kind = {
                text: type(node)
                for node in walk(self.own.body)
                if isinstance(node, (ast.Global, ast.Nonlocal))
                for text in node.names
            }
            declared += [at(kind[text]([text]), place) for text in outside]
        own = [*declared, *self._bound(own, writes(body) - shared - self.outer)]
        around = ast.arguments([], [ast.arg(text) for text in args], None, [], [], None, [])
        return at(ast.FunctionDef(f"{PREFIX}{title}", around, list(own), []), place)

    def _call(self, method: str, place: ast.AST, *args: ast.expr) -> ast.stmt:
        return at(ast.Expr(_asked(method, *args)), place)

    def _source(self, node: ast.expr) -> ast.expr:
        """Rewrite the iterable of a loop so that ``range``, ``zip`` and the like accept arrays and sizes."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SOURCES:
            args = [self._source(arg) if node.func.id != "range" else self.visit(arg) for arg in node.args]
            made = ast.Call(
                _asked("source", node.func), args, [self.visit(keyword) for keyword in node.keywords]
            )
            return at(made, node)
        found: ast.expr = self.visit(node)
        return found

    # ------------------------------------------------------------------------------ expressions
    def visit_Call(self, node: ast.Call) -> Any:
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in _CONSUMERS
            and node.args
            and isinstance(node.args[0], ast.GeneratorExp)
        ):
            node.args[0] = self._comprehension(node.args[0], "consumed", node.func)
        self.generic_visit(node)
        if _is_own(node.func):
            return node
        # These read the frame or the variables of their caller, which has to be the function itself.
        if isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "locals",
            "globals",
            "eval",
            "exec",
            "vars",
            "dir",
        ):
            return node
        is_nested = any(
            isinstance(inner, ast.Call) for item in (*node.args, *node.keywords) for inner in ast.walk(item)
        )
        node.func = at(_asked("call", node.func, ast.Constant(is_nested)), node.func)
        return node

    def _truth(self, test: ast.expr) -> ast.expr:
        found: ast.expr = self.visit(_with_truth_values(test))
        return found

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._comprehension(node, "listed")

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, method: str, *args: ast.expr) -> Any:
        """Rewrite a comprehension as a call of ``method`` with its iterable and a function, if possible."""
        one = node.generators[0]
        is_plain = len(node.generators) == 1 and not one.ifs and not one.is_async
        if not is_plain or any(isinstance(inner, _KEEPING) for inner in ast.walk(node.elt)):
            return self.generic_visit(node)
        taken = name(f"{PREFIX}item")
        item: ast.expr = self.visit(node.elt)
        argument = one.target.id if isinstance(one.target, ast.Name) else taken.id
        if argument == taken.id:
            each = ast.ListComp(item, [ast.comprehension(one.target, ast.Tuple([taken], ast.Load()), [], 0)])
            item = ast.Subscript(each, ast.Constant(0), ast.Load())
        return at(_asked(method, *args, self._source(one.iter), _function(item, argument)), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test = _with_truth_values(node.test)
        self.generic_visit(node)
        if assigns(node):
            return node
        return at(_asked("choice", node.test, _function(node.body), _function(node.orelse)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        if assigns(node):
            return node
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        found = node.values[-1]
        for item in reversed(node.values[:-1]):
            found = _asked(method, item, _function(found))
        return at(found, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            node.operand = _with_truth_values(node.operand)
        self.generic_visit(node)
        return at(_asked("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1 or not all(type(op) in _COMPARISONS for op in node.ops):
            return self.generic_visit(node)
        first, middle, *others = node.left, *node.comparators
        # A name may be evaluated twice.
        if isinstance(middle, (ast.Name, ast.Constant)):
            rest = ast.Compare(middle, node.ops[1:], others)
            return self.visit(
                at(ast.BoolOp(ast.And(), [ast.Compare(first, node.ops[:1], [middle]), rest]), node)
            )
        # A variable that is assigned in a lambda would be one of the lambda, and ``super()`` reads its frame.
        if any(map(assigns, others)) or any(map(_names_super, others)):
            return self.generic_visit(node)
        # Any other operand may have effects, so it becomes an argument. Later operands are evaluated only if
        # the comparisons before them are true.
        left, right = name(f"{PREFIX}left"), name(f"{PREFIX}right")
        chain = self.visit(at(ast.Compare(left, node.ops, [right, *others]), node))
        return at(
            ast.Call(_function(chain, left.id, right.id), [self.visit(first), self.visit(middle)], []), node
        )


def _names_super(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == "super" for inner in ast.walk(node))


class _AsSizes(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
            return node
        return at(
            _asked("compared", ast.Constant(_COMPARISONS[type(node.ops[0])]), node.left, node.comparators[0]),
            node,
        )

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


def _with_truth_values(test: ast.expr) -> ast.expr:
    """Wrap operands of ``and`` and ``or`` in calls of ``truth``, in place, so that their types may differ."""
    if isinstance(test, ast.BoolOp):
        test.values = [
            at(_asked("truth", _with_truth_values(item)), item)
            if _is_value(item)
            else _with_truth_values(item)
            for item in test.values
        ]
    return test


def _is_value(item: ast.expr) -> bool:
    is_not = isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.Not)
    return not (is_not or isinstance(item, ast.BoolOp))


def _calls(parts: Sequence[ast.AST]) -> bool:
    return any(isinstance(node, ast.Call) for node in walk(parts))


def _is_own(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == OWN
    )


def _asked(method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(name(OWN), method, ast.Load()), list(args), [])


def _texts(items: Iterable[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(text) for text in items], ast.Load())


def _function(body: ast.expr, *names: str) -> ast.expr:
    return at(ast.Lambda(ast.arguments([], list(map(ast.arg, names)), None, [], [], None, []), body), body)
