"""Check by syntax that an iteration changes only its function's variables and array elements.

Each name and attribute that the statements read is looked up without running user code. It must be an
array, a number, a container of these, a module or a function. A called function must belong to a
framework, be a builtin without effects, or be the user's, which is checked likewise. Anything unknown
counts as an effect.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...errors import Signal
from ...registration import entry_method, packages
from ..code.ownership import owner_of, package_of
from ..code.syntax import syntax_of
from .syntax import Found, is_source

UNKNOWN = object()
"""Value that is known only at run time: an element of a container, a result of a call, an argument."""

_REFUSED = (
    ast.Global, ast.Nonlocal, ast.Try, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Yield, ast.YieldFrom,
    ast.Await, ast.FunctionDef,
    ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Delete, ast.Match,
    getattr(ast, "TryStar", ast.Try),
)  # fmt: skip
_BLOCKS = (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.Assert, ast.Break, ast.Continue, ast.Return)
_PURE = frozenset({
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "isinstance",
    "len", "list", "max", "min", "pow",
    "range", "reversed", "round", "slice", "sorted", "sum", "tuple", "zip",
})  # fmt: skip
_MODULES = frozenset({"math", "_operator", "operator"})
_SETTING = ("set", "seed", "manual_seed", "save", "enable", "disable", "default_", "use_", "put_")
_CHANGING = frozenset({
    "append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault",
    "sort", "reverse", "add", "discard", "send",
    "write", "appendleft", "popleft",
})  # fmt: skip
_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, type, types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType, types.MethodType,
)  # fmt: skip
_FUNCTIONS = (types.FunctionType, types.MethodType)
_MOST_PARTS = 64
# Depth of nested calls of the user's functions.
_DEEPEST = 8


class SideEffect(Signal):
    """An iteration may have an effect that a graph cannot have."""


class Purity:
    """Check of loops.

    ``is_value`` is True for arrays and symbolic numbers of the recording, whose operators are all
    recorded.
    """

    def __init__(self, is_value: Callable[[Any], bool]) -> None:
        self.is_value = is_value

    def of(self, found: Found, frame: types.FrameType, is_traced: bool = False) -> bool:
        """Return True if the iterations of a loop have no other effect.

        A loop in a traced function must have neither branches nor calls of the user's functions.
        """
        if is_traced and any(
            isinstance(node, _BLOCKS) or len(getattr(node, "ops", ())) > 1 for node in ast.walk(found.loop)
        ):
            return False
        loop, space = found.loop, _Space(frame.f_locals, frame.f_globals, found.own)
        try:
            statements = [*loop.body, *([loop.test] if isinstance(loop, ast.While) else [])]
            if isinstance(loop, ast.While) and any(
                isinstance(node, ast.Break) for part in loop.body for node in ast.walk(part)
            ):
                # It may be left and begun again without a test of its condition.
                return False
            _Statements(self, space, 0, not is_traced).look(statements)
        except SideEffect:
            return False
        return True

    def is_plain(self, item: Any) -> bool:
        if self.is_value(item) or isinstance(item, _PLAIN):
            return True
        if type(item) in (tuple, list, dict):
            parts = item.values() if type(item) is dict else item
            return len(item) <= _MOST_PARTS and all(map(self.is_plain, parts))
        return package_of(type(item).__module__) in packages()


class _Space:
    def __init__(self, known: Mapping[str, Any], space: Mapping[str, Any], own: frozenset[str]) -> None:
        self.known, self.globals, self.own = known, space, own

    def of(self, name: str) -> Any:
        if name in self.own or name in self.known:
            return self.known.get(name, UNKNOWN)
        return self.globals.get(name, getattr(builtins, name, UNKNOWN))


class _Statements:
    def __init__(self, purity: Purity, space: _Space, depth: int, calls: bool = True) -> None:
        self.purity, self.space, self.depth, self.calls = purity, space, depth, calls
        self.called: set[ast.AST] = set()

    def look(self, statements: Iterable[ast.AST]) -> None:
        nodes = [node for statement in statements for node in ast.walk(statement)]
        for node in nodes:
            if isinstance(node, _REFUSED):
                raise SideEffect
            if isinstance(node, ast.Call):
                self._call(node)
            self.called.update(self._bases(node))
        for node in nodes:
            self._look(node)

    @staticmethod
    def _bases(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Call):
            yield node.func
        if isinstance(node, ast.Attribute):
            yield node.value

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                raise SideEffect
            self._read(node)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            self._written(node.value)

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node)
        elif node.id not in self.space.own:
            raise SideEffect

    def _read(self, node: ast.Name | ast.Attribute) -> None:
        held = self.value(node)
        if held is UNKNOWN or node in self.called:
            return
        # It may be passed to a function that calls it.
        if isinstance(held, _FUNCTIONS) and not self._is_pure(held, node):
            raise SideEffect
        # A variable may refer to it without being noticed.
        if not self.purity.is_plain(held) or (self.depth and isinstance(held, (list, dict))):
            raise SideEffect

    def _written(self, base: ast.expr) -> None:
        while isinstance(base, ast.Subscript):
            base = base.value
        held = self.value(base) if isinstance(base, (ast.Name, ast.Attribute)) else UNKNOWN
        is_own = isinstance(base, ast.Name) and base.id in self.space.own
        if not self.purity.is_value(held) and not (
            is_own and (held is UNKNOWN or type(held) in (list, dict))
        ):
            raise SideEffect

    # ------------------------------------------------------------------------------ what expressions are
    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.space.of(node.id)
        if not isinstance(node, ast.Attribute):
            return UNKNOWN
        held = self.value(node.value)
        if held is UNKNOWN or self.purity.is_value(held):
            return UNKNOWN
        if isinstance(held, types.ModuleType):
            return getattr(held, node.attr, UNKNOWN)
        return self._attribute(held, node.attr)

    def _attribute(self, held: Any, name: str) -> Any:
        own = getattr(held, "__dict__", {}) if not isinstance(held, type) else {}
        for space in (
            own,
            own.get("_modules") or {},
            own.get("_parameters") or {},
            own.get("_buffers") or {},
        ):
            if name in space:
                return space[name]
        found = inspect.getattr_static(held, name, UNKNOWN)
        if isinstance(found, (property, types.MemberDescriptorType)) and owner_of(type(held)) not in (
            "framework",
            "python",
        ):
            raise SideEffect
        if isinstance(found, staticmethod):
            return found.__func__
        return (
            types.MethodType(found, held)
            if isinstance(found, types.FunctionType) and not isinstance(held, type)
            else found
        )

    # ------------------------------------------------------------------------------ calls
    def _call(self, node: ast.Call) -> None:
        function = self.value(node.func)
        if function is UNKNOWN:
            self._unknown(node.func)
        elif not self._is_pure(function, node.func):
            raise SideEffect

    def _unknown(self, function: ast.expr) -> None:
        if isinstance(function, ast.Call) and owner_of_function(self.value(function.func)) in (
            "framework",
            "own",
        ):
            return
        if not isinstance(function, ast.Attribute):
            raise SideEffect
        base = function.value
        if (
            isinstance(base, ast.Subscript)
            and isinstance(base.value, ast.Attribute)
            and base.value.attr == "at"
        ):
            # ``x.at[index].add(values)`` returns another array.
            return
        is_own = isinstance(base, ast.Name) and base.id in self.space.own and self.depth == 0
        if function.attr in _CHANGING and not (is_own or self.purity.is_value(self.value(base))):
            raise SideEffect

    def _is_pure(self, function: Any, node: ast.expr) -> bool:
        name = getattr(function, "__name__", node.id if isinstance(node, ast.Name) else "")
        if isinstance(node, ast.Name) and node.id in _PURE and self._is_builtin(function, node.id):
            return True
        module = getattr(function, "__module__", None) or getattr(
            type(getattr(function, "__self__", None)), "__module__", None
        )
        if isinstance(function, _FUNCTIONS) and owner_of(_function(function)) in ("user", "library"):
            return self._is_pure_function(function)
        if (inner := getattr(function, "__wrapped__", None)) is not None:
            # ``jax.grad`` and the like have wrapped this function.
            return self._is_pure(inner, node)
        is_shim = owner_of_function(function) == "own"
        if is_shim or package_of(module) in packages() or package_of(type(function).__module__) in packages():
            return self._is_frameworks(function, name)
        return module in _MODULES

    @staticmethod
    def _is_builtin(function: Any, name: str) -> bool:
        return (
            function is getattr(builtins, name)
            or owner_of(type(function)) == "own"
            or owner_of(_function(function)) == "own"
        )

    def _is_frameworks(self, function: Any, name: str) -> bool:
        code = entry_method(type(function))
        if isinstance(code, types.FunctionType) and owner_of(code) == "user":
            return self._is_pure_function(types.MethodType(code, function))
        return not name.startswith(_SETTING)

    def _is_pure_function(self, function: Any) -> bool:
        plain = _function(function)
        definition = syntax_of(plain.__code__) if is_source(plain.__code__) else None
        defaults = (*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values())
        if (
            not self.calls
            or definition is None
            or self.depth >= _DEEPEST
            or any(isinstance(item, (list, dict, set)) for item in defaults)
        ):
            return False
        code = plain.__code__
        cells = dict(zip(code.co_freevars, (cell.cell_contents for cell in plain.__closure__ or ())))
        known = {
            **cells,
            **({code.co_varnames[0]: function.__self__} if isinstance(function, types.MethodType) else {}),
        }
        space = _Space(known, plain.__globals__, frozenset((*code.co_varnames, *code.co_cellvars)))
        body = definition.body if isinstance(definition.body, list) else [definition.body]
        _Statements(self.purity, space, self.depth + 1).look(body)
        return True


def owner_of_function(function: Any) -> str:
    plain = _function(function)
    return owner_of(plain) if isinstance(plain, types.FunctionType) else ""


def _function(function: Any) -> Any:
    return function.__func__ if isinstance(function, types.MethodType) else function
