"""Shims for ``int``, ``float``, ``complex``, ``len`` and ``type`` in the modules of the user's functions.

The builtins return Python numbers, which symbolic numbers are not, and ``type`` of a proxy should be the
class that it represents.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import linecache
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...forwarding import forwards
from ...sizes import apply
from ..code.names import names_read
from ..code.syntax import parameters_of
from .host_math import Symbols, called
from .patch import Replacement

_NAMES = frozenset(vars(builtins))
_FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASK = frozenset({"isinstance", "issubclass"})
_BY_KEY = frozenset({"max", "min", "sorted"})


class _Use(NamedTuple):
    """One use of a builtin's name in a file.

    inside: first lines of the functions whose scope contains the use, outermost first. For a parameter, this
        includes the function that has it.
    is_called: True if the name is called.
    is_harmless: True if a shim may stand in for the builtin there.
    is_argument: True if the use is a parameter of that name.
    """

    name: str
    inside: tuple[int, ...]
    is_called: bool = False
    is_harmless: bool = False
    is_argument: bool = False


def only_called(file: str, names: tuple[str, ...]) -> frozenset[str]:
    """Return the ``names`` that ``file`` calls and that its functions use only where a shim works."""
    uses = [use for use in _uses(file) if use.name in names]
    return frozenset(
        {use.name for use in uses if use.is_called}
        - {use.name for use in uses if use.inside and not use.is_harmless}
    )


def lines_passing_as_value(file: str, name: str) -> frozenset[int]:
    """Return the first lines of functions that may pass ``name`` as a value, and of functions around them."""
    uses = (use for use in _uses(file) if use.name == name and not use.is_harmless and not use.is_argument)
    return frozenset(line for use in uses for line in use.inside)


@functools.lru_cache(maxsize=256)
def _uses(file: str) -> tuple[_Use, ...]:
    try:
        return tuple(_uses_in(ast.parse("".join(linecache.getlines(file)))))
    except (SyntaxError, ValueError):
        return ()


def _uses_in(tree: ast.Module) -> Iterator[_Use]:
    # With ``from __future__ import annotations``, annotations stay strings.
    texts = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    called: set[int] = set()
    harmless: set[int] = set()
    to_see: list[tuple[Any, tuple[int, ...]]] = [(tree, ())]
    while to_see:
        node, inside = to_see.pop()
        if isinstance(node, ast.Name) and node.id in _NAMES:
            yield _Use(node.id, inside, id(node) in called, id(node) in harmless)
        elif isinstance(node, ast.Call):
            called.add(id(node.func))
            harmless.update(map(id, _of_call(node)))
        else:
            harmless.update(map(id, _annotated(node, texts)))
        if isinstance(node, _FUNCTION_NODES):
            # Decorators, defaults and annotations are evaluated outside of the function, its body inside.
            within = (*inside, _first_line(node))
            yield from (
                _Use(name, within, is_argument=True) for name in parameters_of(node.args) if name in _NAMES
            )
            to_see += [(part, within) for part in (node.body if isinstance(node.body, list) else [node.body])]
            to_see += [
                (part, inside)
                for part in (node.args, *getattr(node, "decorator_list", ()), getattr(node, "returns", None))
                if part
            ]
        else:
            to_see += [(part, inside) for part in ast.iter_child_nodes(node)]


def _first_line(function: Any) -> int:
    first: int = min([function.lineno, *(one.lineno for one in getattr(function, "decorator_list", ()))])
    return first


def _annotated(node: Any, texts: bool) -> Iterator[ast.AST]:
    kinds = (ast.AnnAssign, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef) if texts else (ast.AnnAssign,)
    annotation = (
        (node.returns if isinstance(node, _FUNCTION_NODES) else node.annotation)
        if isinstance(node, kinds)
        else None
    )
    if annotation is not None:
        yield from ast.walk(annotation)


def _of_call(call: ast.Call) -> Iterator[ast.AST]:
    yield call.func
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name == "map":
        yield from call.args[:1]
    if name in _BY_KEY:
        yield from (keyword.value for keyword in call.keywords if keyword.arg == "key")
    if name in _ASK:
        yield from _classes(call.args[-1]) if call.args else ()


def _classes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for part in (
        node.elts
        if isinstance(node, ast.Tuple)
        else (node.left, node.right)
        if isinstance(node, ast.BinOp)
        else ()
    ):
        yield from _classes(part)


_LOWEST_BIT_SAYS_CALLED = sys.version_info >= (3, 11)
# A larger argument needs an ``EXTENDED_ARG`` instruction, which would move all that follow.
_MOST_NAMES = 128


def alias_of(name: str) -> str:
    """Return the global name under which rewritten calls of ``name`` are looked up.

    >>> alias_of("int")
    'int(...)'
    """
    # Code cannot assign this name by accident, because it is no valid identifier.
    return f"{name}(...)"


def with_aliases(code: types.CodeType, names: Iterable[str]) -> types.CodeType:
    """Return ``code`` with calls of the globals ``names`` changed to look up their aliases, where possible.

    Return ``code`` itself if no call is changed.

    >>> def whole(x): return x.astype(int) + int(x)
    >>> changed = with_aliases(whole.__code__, ["int"])
    >>> changed is whole.__code__ or changed.co_names == ("astype", "int", "int(...)")
    True
    """
    if not _LOWEST_BIT_SAYS_CALLED:
        return code
    consts = tuple(
        with_aliases(item, names) if isinstance(item, types.CodeType) else item for item in code.co_consts
    )
    own, text = list(code.co_names), bytearray(code.co_code)
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in names and (instruction.arg or 0) & 1:
            alias = alias_of(instruction.argval)
            place = own.index(alias) if alias in own else len(own)
            # Such calls keep the builtin.
            if place >= _MOST_NAMES or (instruction.arg or 0) > 0xFF:
                continue
            if place == len(own):
                own.append(alias)
            text[instruction.offset + 1] = place << 1 | 1
    # Returning the same object shows that nothing has to be replaced.
    if len(own) == len(code.co_names) and all(map(_is, consts, code.co_consts)):
        return code
    return code.replace(co_names=tuple(own), co_consts=consts, co_code=bytes(text))


def _is(item: object, other: object) -> bool:
    return item is other


# Globals, a name in them, the file of the code that looks it up, and the functions with that code.
LookedUp = tuple[dict[str, Any], str, str, tuple[types.FunctionType, ...]]
_FUNCTIONS: dict[type, str] = {int: "trunc", float: "float"}
CONVERTED = ("int", "float")
COUNTED = ("len",)
_ORIGINALS: dict[str, Any] = {"int": int, "float": float, "complex": complex, "len": len}
_BUILT_IN = {type.__name__: type}


class ClassShim:
    """Proxy that replaces a class, or ``len``, in a module. Calls of it go to ``call``.

    >>> asked = ClassShim(type, type)
    >>> asked(1), isinstance(int, asked), asked("Made", (), {}).__name__
    (<class 'int'>, True, 'Made')
    """

    def __init__(self, cls: Any, call: Callable[..., Any]) -> None:
        self._class, self._call, self.__wrapped__ = cls, call, cls

    @forwards
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __instancecheck__(self, item: Any) -> bool:
        return isinstance(item, self._class)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self._class)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._class,)

    def __or__(self, other: Any) -> Any:
        return self._class | (other._class if isinstance(other, ClassShim) else other)

    def __ror__(self, other: Any) -> Any:
        return other | self._class

    def __getattr__(self, name: str) -> Any:
        return getattr(self._class, name)


def _converting(cls: Any, symbols: Symbols) -> ClassShim:
    def convert(*args: Any, **kwargs: Any) -> Any:
        item: Any = symbols.number_of(args[0]) if len(args) == 1 and not kwargs else None
        if symbols.is_recorded(item):
            return _recorded_as(cls, item, symbols)
        operands = symbols.opened((item,)) if symbols.is_symbolic(item) else None
        if operands is None:
            return item if item.__class__ is cls else cls(*args, **kwargs)
        return (
            item
            if isinstance(item, cls)
            else symbols.made(functools.partial(apply, _FUNCTIONS[cls]), operands)
        )

    return ClassShim(cls, convert)


def _recorded_as(cls: Any, item: Any, symbols: Symbols) -> Any:
    if item.__class__ is cls:
        return item
    found: Any = NotImplemented
    if cls is int and isinstance(item, float):
        found = symbols.call("math.trunc", math.trunc, (item,))
    elif cls is float and isinstance(item, int):
        found = item * 1.0
    return cls(item) if found is NotImplemented else found


def _of_parts(symbols: Symbols) -> ClassShim:
    def convert(*args: Any, **kwargs: Any) -> Any:
        found = NotImplemented if kwargs else called(symbols, complex, args)
        return complex(*args, **kwargs) if found is NotImplemented else found

    return ClassShim(complex, convert)


def _counting(symbols: Symbols) -> ClassShim:
    def count(*args: Any, **kwargs: Any) -> Any:
        length = symbols.length_of(args[0]) if len(args) == 1 and not kwargs else None
        return len(*args, **kwargs) if length is None else length

    # AutoGraph reads the source of a called function. It finds that of ``count`` in a shim of a class, but
    # not in a function that wraps ``len``.
    return ClassShim(len, count)


def builtin_lookups(functions: Iterable[types.FunctionType]) -> Iterator[LookedUp]:
    """Yield a ``LookedUp`` for each of ``int``, ``float``, ``complex`` and ``len`` that a function names.

    >>> def length(x): return len(x)
    >>> [name for _, name, *_ in builtin_lookups([length])]
    ['len']
    """
    for function in functions:
        names = _ORIGINALS.keys() & names_read(function.__code__)
        yield from (
            (function.__globals__, name, function.__code__.co_filename, (function,)) for name in names
        )


def conversion_replacements(places: Iterable[LookedUp], symbols: Symbols) -> list[Replacement]:
    """Return the patches for ``int``, ``float``, ``complex`` and ``len`` where ``places`` look them up."""
    spaces: dict[tuple[int, str], dict[str, Any]] = {}
    files: dict[tuple[int, str], set[str]] = {}
    functions: dict[tuple[int, str], dict[int, types.FunctionType]] = {}
    for space, name, file, calling in places:
        key = id(space), name
        spaces[key] = space
        files.setdefault(key, set()).add(space.get("__file__") or file)
        functions.setdefault(key, {}).update((id(function), function) for function in calling)
    known = [key for key, space in spaces.items() if _is_pythons_own(space, key[1])]
    # A name that a file also passes on as a value (``dtype=float``) keeps the builtin there. The shim gets an
    # alias, which the rewritten code of calls looks up.
    shimmed = [key for key in known if _is_only_called(key[1], files[key])]
    passed_on = [key for key in known if key not in shimmed]
    names: dict[int, set[str]] = {}
    for key in passed_on:
        for function in functions[key]:
            names.setdefault(function, set()).add(key[1])
    calling_functions = {place: function for key in passed_on for place, function in functions[key].items()}
    return [
        *((spaces[key], key[1], _shim(key[1], symbols)) for key in shimmed),
        *((spaces[key], alias_of(key[1]), _shim(key[1], symbols)) for key in passed_on),
        *(
            (function, "__code__", with_aliases(function.__code__, names[place]))
            for place, function in calling_functions.items()
        ),
    ]


def _shim(name: str, symbols: Symbols) -> Any:
    if name in COUNTED:
        return _counting(symbols)
    return _of_parts(symbols) if name == "complex" else _converting(_ORIGINALS[name], symbols)


def _is_pythons_own(space: dict[str, Any], name: str) -> bool:
    # The module may define the name itself.
    held = space.get(name, _ORIGINALS)
    return held is _ORIGINALS or isinstance(held, ClassShim)


def _is_only_called(name: str, files: Iterable[str]) -> bool:
    return all(name in only_called(file, tuple(_ORIGINALS)) for file in files)


def type_replacements(
    places: Iterable[tuple[dict[str, Any], str]],
    stands: Callable[[Any], bool],
    class_of: Callable[[Any], type] = lambda item: item.__class__,
) -> list[Replacement]:
    """Return the patches that replace ``type`` by a shim where ``places`` (namespaces and names) refer to it.

    The shim returns ``class_of(item)`` if it is called with an item for which ``stands(item)`` is True.
    """

    def ask(*args: Any, **kwargs: Any) -> Any:
        return (
            class_of(args[0]) if len(args) == 1 and not kwargs and stands(args[0]) else type(*args, **kwargs)
        )

    shim = ClassShim(type, ask)
    return [(space, name, shim) for space, name in places if space.get(name, _BUILT_IN.get(name)) is type]
