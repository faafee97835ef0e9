"""Syntax of the loop that a frame runs, and a check by syntax of what its iterations change (``Purity``)."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import linecache
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, NamedTuple, Union

from ..errors import Signal
from ..ir.quotation import Position, nodes_around, nodes_at
from ..registration import entry_method, packages, responds_to
from .code.ownership import owner_of, package_of
from .code.syntax import parameters_of, syntax_of
from .control_flow.jumps import Liveness, walk, writes
from .reachability.references import cell_is_filled

# ----------------------------------------------------------------------------------------------- loop syntax
# The position of the current instruction of a frame leads to the loop in the source.

Loop = Union[ast.For, ast.While]
_OPNAME = dis.opname
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Found:
    """Loop in the source of a function.

    names: variables in the loop that are live at the start of an iteration.
    after: names that occur outside the loop with the context ``ast.Load``.
    own: parameters of the function, and variables that it assigns, without globals and nonlocals.
    """

    loop: Loop
    names: frozenset[str]
    after: frozenset[str]
    own: frozenset[str]


class Conditions(NamedTuple):
    """Conditions that make up the test of a ``while``, joined by ``and`` or by ``or``.

    negated: for each condition, True if it is under ``not``; empty if the test has another form.
    any_of: True if the conditions are joined by ``or``.
    """

    negated: tuple[bool, ...]
    any_of: bool


def for_over(frame: FrameType) -> Found | None:
    """Return the ``for`` loop that ``frame`` is about to begin, or None."""
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
    """Return the ``while`` whose test ``frame`` evaluates, the current condition's index, and all conditions.

    Return None if there is no such loop of a supported form.
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
    return (
        writes(function.body)
        .union(parameters_of(function.args))
        .difference(*(node.names for node in declared))
    )


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


# ------------------------------------------------------------------------------------------ iteration effects
# Check by syntax that an iteration changes only its function's variables, the items of lists and dicts in
# these, and array elements.
#
# Names and attributes that the statements read are looked up where possible, without evaluating properties.
# An object that is found, and is used by more than its attributes, must be an array, an instance of a class
# in `_PLAIN`, a container of these, or an object of a framework. A called function that is found must belong
# to a framework, this package or `_MODULES`, be in `_PURE`, or be the user's, which is checked likewise. A
# method of an object that is known only at run time is judged by its name, and by the methods of that name
# of the user's objects that the framework's containers and methods may return.

UNKNOWN = object()
"""Value that is known only at run time, such as an element of a container or a result of a call."""

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
_FUNCTION_TYPES = (types.FunctionType, types.MethodType)
_COMPUTED = (property, functools.cached_property, types.MemberDescriptorType)
# Owners of code that may do anything.
_OTHERS = ("user", "library")
_MOST_PARTS = 64
# Depth of nested calls of the user's functions.
_DEEPEST = 8


@dataclass
class _Aliases:
    """Findings on objects that names and results within the statements may refer to.

    is_shared: True if they may refer to a container whose items the marks do not compare.
    is_written: True if items of a container that is known only at run time may change, or if ``+=`` or the
        like may change a list or dict.
    returning: containers and objects of a framework; their items, or results of their methods, may be the
        user's objects.
    methods: expressions (``item.method``) that are called on arrays and on objects known only at run time.
    """

    is_shared: bool = False
    is_written: bool = False
    returning: list[Any] = field(default_factory=list)
    methods: list[ast.Attribute] = field(default_factory=list)


class SideEffect(Signal):
    """Signal that an iteration may have an effect that a graph cannot have."""


class Purity:
    """Check by syntax of what the iterations of loops change.

    The user's code may change local variables of the function, items of lists and dicts in these, and array
    elements.

    is_value(item): True for an array or symbolic number of the recording.
    """

    def __init__(self, is_value: Callable[[Any], bool]) -> None:
        self.is_value = is_value

    def of(self, found: Found, frame: types.FrameType, is_traced: bool = False) -> bool:
        """Return True if the iterations of the loop ``found`` in ``frame`` pass the check of this class.

        ``is_traced`` is True for a loop in a function whose control flow was rewritten.
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
            checked = _Statements(self, space, 0, _Aliases(), not is_traced)
            checked.look(statements)
            checked.check_aliases()
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
    def __init__(
        self, purity: Purity, space: _Space, depth: int, aliases: _Aliases, calls: bool = True
    ) -> None:
        self.purity, self.space, self.depth, self.aliases, self.calls = purity, space, depth, aliases, calls
        self.called: set[ast.AST] = set()
        # Expressions of which only the items are read.
        self.opened: set[ast.AST] = set()

    def look(self, statements: Iterable[ast.AST]) -> None:
        nodes = [node for statement in statements for node in ast.walk(statement)]
        for node in nodes:
            if isinstance(node, _REFUSED):
                raise SideEffect
            if isinstance(node, ast.Call):
                self._call(node)
            self.called.update(self._bases(node))
            if isinstance(node, (ast.Subscript, ast.For, ast.comprehension)):
                self.opened.add(node.value if isinstance(node, ast.Subscript) else node.iter)
        for node in nodes:
            self._look(node)

    def check_aliases(self) -> None:
        if self.aliases.is_shared and self.aliases.is_written:
            raise SideEffect
        objects = list(_users_objects(self.aliases.returning)) if self.aliases.methods else []
        # Methods may call further ones, which are appended.
        for method in self.aliases.methods:
            for item in objects:
                found = self._attribute(item, method.attr)
                if found is not UNKNOWN and not self._is_pure(found, method):
                    raise SideEffect

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
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            # This changes a list in place. The variable may refer to another one than when the loop begins.
            held = self.space.of(node.target.id)
            self.aliases.is_written |= held is UNKNOWN or isinstance(held, (list, dict))

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
        if isinstance(held, _FUNCTION_TYPES) and not self._is_pure(held, node):
            raise SideEffect
        # A variable may refer to it without being noticed.
        if not self.purity.is_plain(held) or (self.depth and isinstance(held, (list, dict))):
            raise SideEffect
        if not self.purity.is_value(held) and not isinstance(held, _PLAIN):
            is_own = isinstance(node, ast.Name) and node.id in self.space.own
            self.aliases.is_shared |= _is_shared(held, is_own, is_own or node in self.opened)
            self.aliases.returning.append(held)

    def _written(self, base: ast.expr) -> None:
        while isinstance(base, ast.Subscript):
            base = base.value
        held = self.value(base) if isinstance(base, (ast.Name, ast.Attribute)) else UNKNOWN
        is_own = isinstance(base, ast.Name) and base.id in self.space.own
        if not self.purity.is_value(held) and not (
            is_own and (held is UNKNOWN or type(held) in (list, dict))
        ):
            raise SideEffect
        self.aliases.is_written |= held is UNKNOWN

    # ------------------------------------------------------------------------------ values of expressions
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
        if isinstance(found, _COMPUTED) and owner_of(type(held)) not in ("framework", "python"):
            raise SideEffect
        if found is UNKNOWN and owner_of_function(getattr(type(held), "__getattr__", None)) in _OTHERS:
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
        self.aliases.is_written |= function.attr in _CHANGING
        self.aliases.methods.append(function)

    def _is_pure(self, function: Any, node: ast.expr) -> bool:
        name = getattr(function, "__name__", node.id if isinstance(node, ast.Name) else "")
        if isinstance(node, ast.Name) and node.id in _PURE and self._is_builtin(function, node.id):
            return True
        module = getattr(function, "__module__", None) or getattr(
            type(getattr(function, "__self__", None)), "__module__", None
        )
        if isinstance(function, _FUNCTION_TYPES) and owner_of(_function(function)) in _OTHERS:
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
        if isinstance(function, types.MethodType):
            self.aliases.returning.append(function.__self__)
        # A container of modules calls those of the user.
        called = [(item, entry_method(type(item))) for item in _users_objects([function], is_deep=False)]
        return not name.startswith(_SETTING) and all(
            self._is_pure_function(types.MethodType(code, item))
            for item, code in called
            if isinstance(code, types.FunctionType) and owner_of(code) == "user"
        )

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
        cells = zip(code.co_freevars, plain.__closure__ or ())
        known = {
            **{name: cell.cell_contents for name, cell in cells if cell_is_filled(cell)},
            **({code.co_varnames[0]: function.__self__} if isinstance(function, types.MethodType) else {}),
        }
        own = frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars))
        space = _Space(known, plain.__globals__, own)
        body = definition.body if isinstance(definition.body, list) else [definition.body]
        _Statements(self.purity, space, self.depth + 1, self.aliases).look(body)
        return True


def _is_shared(held: Any, is_own: bool, is_opened: bool) -> bool:
    """Return True if a variable may refer to a container in ``held`` whose items the marks do not compare."""
    if type(held) is tuple or (is_opened and type(held) in (list, dict)):
        parts = held.values() if type(held) is dict else held
        return any(_is_shared(part, is_own, is_own) for part in parts)
    return hasattr(type(held), "__setitem__") and not responds_to(type(held), "__array__")


def _users_objects(roots: Iterable[Any], is_deep: bool = True) -> Iterator[Any]:
    """Yield objects whose class is the user's or a library's, among ``roots`` and what is inside these.

    Inside of yielded objects, others are searched only if ``is_deep``.
    """
    known: set[int] = set()
    waiting = list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) in known or isinstance(item, _PLAIN) or responds_to(type(item), "__array__"):
            continue
        known.add(id(item))
        if owner_of(type(item)) in _OTHERS:
            yield item
            if not is_deep:
                continue
        if isinstance(item, (list, tuple, dict)):
            waiting += item.values() if isinstance(item, dict) else item
        waiting += getattr(item, "__dict__", {}).values()


def owner_of_function(function: Any) -> str:
    plain = _function(function)
    return owner_of(plain) if isinstance(plain, types.FunctionType) else ""


def _function(function: Any) -> Any:
    return function.__func__ if isinstance(function, types.MethodType) else function
