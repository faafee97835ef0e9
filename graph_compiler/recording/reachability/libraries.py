"""Library code that the user's code may run, guards on data in modules, and the framework of a callable."""

from __future__ import annotations

import decimal
import dis
import functools
import inspect
import sys
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from ...errors import GraphCompilerError, SourceNotFound, TracingError
from ...registration import FrontendEntry, frameworks_by_package, frontends, responds_to, trait
from ...trees import iterate_structure
from ..code.names import HANDLERS, names_read, texts_of
from ..code.ownership import OWN, is_internal, is_users, owner_of, package_of
from ..code.syntax import place_of
from ..environment_guards import ATOMS, EnvironmentGuard, same_guard, same_items
from .containers import answers_of, is_asked
from .namespaces import entry_of, spaces_of
from .references import (
    closure_values,
    function_layers,
    imported_modules,
    named_objects,
    original_of,
    wrapped_by,
)
from .walk import MOST_ITEMS

_CONTAINERS = (list, tuple, set, frozenset, Mapping)
_NO_CODE = (str, bytes, int, float, complex, type(None), types.CodeType)


class LibraryCode(NamedTuple):
    """Library code that the user's code may run.

    functions: functions of libraries.
    spaces: the namespaces (``__dict__``) of the modules that define these functions, and of library modules
        that the search found.
    """

    functions: list[types.FunctionType]
    spaces: list[dict[str, Any]]


def library_code(roots: Iterable[Any], opened: Collection[str] = ()) -> LibraryCode:
    """Return the library code that a search from the functions, classes and objects in ``roots`` finds.

    Packages in ``opened`` count as libraries, too.
    """
    # The search passes through the user's functions, which are not in the result.
    return _Walk(roots, opened).found()


class _Walk:
    def __init__(self, roots: Iterable[Any], opened: Collection[str]) -> None:
        self._opened = opened
        self._seen: dict[int, Any] = {}
        self._functions: list[types.FunctionType] = []
        self._spaces: dict[int, dict[str, Any]] = {}
        self._modules: list[dict[str, Any]] = []
        self._names: set[str] = set()
        self._waiting = deque(roots)

    def found(self) -> LibraryCode:
        while self._waiting:
            while self._waiting:
                item = original_of(self._waiting.popleft())
                if id(item) not in self._seen and not isinstance(item, _NO_CODE):
                    self._seen[id(item)] = item
                    self._waiting.extend(self._behind(item))
            # Modules are passed as values (``xp.asarray``), so a name counts in each of them, whichever
            # function uses it.
            for held in self._modules:
                self._waiting.extend(
                    item for name in self._names & held.keys() if self._is_new(item := held[name])
                )
        return LibraryCode(self._functions, list(self._spaces.values()))

    def _is_new(self, item: Any) -> bool:
        return id(item) not in self._seen and not isinstance(item, (*_NO_CODE, types.ModuleType))

    def _behind(self, item: Any) -> Iterator[Any]:
        if isinstance(item, types.FunctionType):
            yield from self._of_function(item)
        elif isinstance(item, type):
            yield from (
                part
                for part in list(vars(item).values())
                if self._is_open(item) and any(function_layers(part))
            )
            yield from item.__bases__
        elif isinstance(item, types.ModuleType):
            if self._is_open(item):
                self._spaces[id(vars(item))] = vars(item)
                self._modules.append(vars(item))
        elif isinstance(item, _CONTAINERS):
            yield from islice(list(item.values() if isinstance(item, Mapping) else item), MOST_ITEMS)
        else:
            yield from (*function_layers(item), *wrapped_by(item), type(item))

    def _of_function(self, function: types.FunctionType) -> Iterator[Any]:
        yield from islice(function_layers(function), 1, None)
        if not (self._is_open(function) or owner_of(function) == "user"):
            return
        if self._is_open(function):
            self._functions.append(function)
            self._spaces[id(function.__globals__)] = function.__globals__
        yield from named_objects(function, lambda module: is_internal(module) and not self._is_open(module))
        names = names_read(function.__code__)
        self._names |= names
        for module in imported_modules(function):
            yield module
            yield from (vars(module)[name] for name in names & vars(module).keys())
        yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())

    def _is_open(self, item: Any) -> bool:
        if owner_of(item) == "library":
            return True
        name = (
            item.__globals__.get("__name__")
            if isinstance(item, types.FunctionType)
            else getattr(item, "__module__", None)
        )
        return package_of(item.__name__ if isinstance(item, types.ModuleType) else name) in self._opened


_DEEPEST = 4
_DATA_CONTAINERS = (list, set, dict)
# In a dict with more items, only the values under string constants of the code are compared.
_FEW = 100
_MISSING = object()


def _of_decimal() -> str:
    context = decimal.getcontext().copy()
    context.clear_flags()
    return repr(context)


# Modules whose functions and objects depend on a setting that code need not name.
_STEERED: dict[str, tuple[str, Callable[[], Any]]] = {"decimal": ("the context of decimal", _of_decimal)}


class _CodeReads(NamedTuple):
    names: frozenset[str]
    texts: frozenset[str]


def library_guards(functions: Iterable[types.FunctionType]) -> Iterator[EnvironmentGuard]:
    """Yield guards on data and settings of modules outside the user's code that ``functions`` may read.

    >>> import types, warnings
    >>> [guard.what for guard in library_guards([eval("lambda: warnings.filters", {"warnings": warnings})])]
    ['warnings.filters']
    """
    known: set[tuple[int, str]] = set()
    functions = list(functions)
    texts = frozenset[str]().union(*(texts_of(function.__code__) for function in functions))
    for function in functions:
        reader = _CodeReads(names_read(function.__code__), texts)
        held = list(_held(function, reader.names))
        for module in held:
            if isinstance(module, types.ModuleType) and not is_users(module):
                yield from _parts(module, vars(module), module.__name__, reader, known, _DEEPEST)
        yield from _steering(held, known)


def _held(function: types.FunctionType, names: frozenset[str]) -> Iterator[Any]:
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
    yield from closure_values(function)


def _steering(held: Iterable[Any], known: set[tuple[int, str]]) -> Iterator[EnvironmentGuard]:
    for item in held:
        module = (
            item.__name__
            if isinstance(item, types.ModuleType)
            else getattr(item, "__module__", None) or type(item).__module__
        )
        if module in _STEERED and (0, module) not in known:
            known.add((0, module))
            what, ask = _STEERED[module]
            yield EnvironmentGuard("{}() == {}", (ask, ask()), what)


def _parts(
    holder: Any, own: dict[str, Any], where: str, reader: _CodeReads, known: set[tuple[int, str]], depth: int
) -> Iterator[EnvironmentGuard]:
    for name in sorted(reader.names & own.keys()):
        if (id(holder), name) not in known and depth:
            known.add((id(holder), name))
            yield from _part(own, name, f"{where}.{name}", reader, known, depth)


def _part(
    own: dict[str, Any], name: str, what: str, reader: _CodeReads, known: set[tuple[int, str]], depth: int
) -> Iterator[EnvironmentGuard]:
    item = own[name]
    if type(item) in ATOMS or item is None or isinstance(item, tuple):
        yield same_guard("{}[{}]", (own, name), item, what, own)
    elif isinstance(item, _DATA_CONTAINERS):
        yield EnvironmentGuard(
            "{}({}, {}, {}, {})", (_holds, own, name, reader.texts, _snapshot(item, reader.texts)), what
        )
    elif is_asked(item):
        yield from (
            EnvironmentGuard("{}({}) == {}", (row.read, item, row.read(item)), row.what)
            for row in answers_of(item, reader.names)
        )
    elif not callable(item) and isinstance(held := getattr(item, "__dict__", None), dict):
        yield from _parts(item, held, what, reader, known, depth - 1)


def _snapshot(items: Any, texts: frozenset[str]) -> list[Any]:
    if isinstance(items, dict):
        return (
            [items.get(text, _MISSING) for text in texts] if len(items) > _FEW else [*items, *items.values()]
        )
    return [*items] if isinstance(items, _DATA_CONTAINERS) else []


def _holds(own: dict[str, Any], name: str, texts: frozenset[str], before: list[Any]) -> bool:
    return same_items(_snapshot(own.get(name), texts), before)


# ---------------------------------------------------------------------------------------- framework detection
# The class of a callable, its arguments and the objects that its code refers to decide.

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def is_self_contained(function: Any) -> bool:
    """Return True if ``function`` is found to use no globals but frameworks' modules, and functions in these.

    >>> import numpy as np
    >>> scale = 2
    >>> functions = (lambda x: np.sqrt(x.T) * 2), (lambda x: x * scale), (lambda x: len(x) * np.pi)
    >>> [is_self_contained(function) for function in functions]
    [True, False, False]
    """
    if type(function) is not types.FunctionType:
        return False
    if (
        function.__defaults__
        or function.__kwdefaults__
        or function.__dict__
        or (names := _plain_names(function.__code__)) is None
    ):
        return False
    for name in names[0]:
        module = function.__globals__.get(name)
        if type(module) is not types.ModuleType or owner_of(module) != "framework":
            return False
        held = vars(module)
        for member in names[1]:
            if member in held and (not callable(item := held[member]) or isinstance(item, type)):
                return False
    return True


def packages_named(function: types.FunctionType) -> list[str]:
    names = _plain_names(function.__code__)
    return [package_of(function.__globals__[name].__name__) for name in names[0]] if names else []


@functools.lru_cache(maxsize=4096)
def _plain_names(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the names of globals and attributes that ``code`` reads, or None if it may use other objects."""
    if code.co_freevars or code.co_cellvars:
        return None
    globals_read, others = dict[str, None](), dict[str, None]()
    for step in dis.get_instructions(code):
        if step.opname in HANDLERS or type(step.argval) is types.CodeType:
            return None
        if step.opname == "LOAD_GLOBAL":
            globals_read[step.argval] = None
        elif step.opcode in dis.hasname:
            if step.opname not in _READS or step.argval.startswith("_"):
                return None
            others[step.argval] = None
    return tuple(globals_read), tuple(others)


def framework_of(
    obj: Any, call: tuple[Sequence[Any], Mapping[str, Any]] | None = None, arrays: bool = True
) -> str | None:
    """Return the framework that ``obj`` seems to be written in, or None.

    The arguments in ``call``, ``(args, kwargs)``, decide if the code does not. Unless ``arrays``, arrays that
    the code names are ignored.

    >>> import numpy as np
    >>> framework_of(lambda x: x + np.pi), framework_of(lambda x: x + np.pi, ((1.0,), {}))
    (None, 'numpy')
    """
    given = [package for item in iterate_structure(call or ()) for package in _of_class(type(item))]
    named = list(dict.fromkeys(_of_object(obj, arrays)))
    entries: Mapping[str, FrontendEntry] = frontends.own
    found = _told(named, given, entries)
    # Entry points of other packages are read only if needed, because that is slow.
    if not (first := _first(found, entries)) and any(map(_is_unknown, (*named, *given))):
        found = _told(named, given, entries := frontends.all())
        first = _first(found, entries)
    return first or (found[0] if call is not None and found else None)


def _told(named: Iterable[str], given: Iterable[str], entries: Mapping[str, FrontendEntry]) -> list[str]:
    """Return the frameworks of packages that the code names and of those of the arguments, likelier first."""
    table = frameworks_by_package(entries.values())
    by_code, by_arrays = (
        [table[package] for package in dict.fromkeys(items) if package in table] for items in (named, given)
    )
    theirs = {framework for framework in by_code if not entries[framework].is_everywhere}
    return [*by_code, *by_arrays] if len(theirs) == 1 else [*by_arrays, *by_code]


def _first(found: Iterable[str], entries: Mapping[str, FrontendEntry]) -> str | None:
    return next((framework for framework in found if not entries[framework].is_everywhere), None)


def _is_unknown(package: str) -> bool:
    return (
        package not in ("", "__main__", OWN, *frameworks_by_package(frontends.own.values()))
        and package not in sys.stdlib_module_names
    )


@contextmanager
def telling_framework(obj: Any, written_in: str) -> Iterator[None]:
    """Raise ``SourceNotFound`` for a ``TypeError`` in the block if ``obj`` seems to use another framework."""
    try:
        yield
    except (TypeError, TracingError) as problem:
        # A frontend may have explained the TypeError.
        said = problem.__cause__ if isinstance(problem, TracingError) else problem
        is_plain = isinstance(said, TypeError) and not isinstance(said, GraphCompilerError)
        found = _told(_of_object(obj), (), frontends.known()) if is_plain else []
        other = _first(found, frontends.known())
        # The error has another cause if the code uses the framework it is recorded in.
        if other is None or written_in in found:
            raise
        raise SourceNotFound(
            f"this is recorded as {written_in}, and refers to {other} alone{place_of(obj)}: pass "
            f"source={other!r}; {said}"
        ) from problem


def is_of_framework(cls: type) -> bool:
    """Return True if a known frontend entry lists the package of ``cls``, as a framework or model library.

    >>> is_of_framework(dict)
    False
    """
    return package_of(cls.__module__) in frameworks_by_package(frontends.known().values())


def _of_object(obj: Any, arrays: bool = True) -> Iterator[str]:
    """Yield the packages that a callable belongs to or refers to, some of them several times."""
    if is_self_contained(obj):
        yield from packages_named(obj)
        return
    if isinstance(obj, functools.partial):
        for item in (*obj.args, *obj.keywords.values()):
            yield from _of_instance(item)
        yield from _of_object(obj.func, arrays)
        return
    yield from _of_class(type(obj))
    # ``jax.vmap`` of a model is a function that wraps it.
    yield from _of_class(type(inspect.unwrap(obj)))
    owner = getattr(obj, "__self__", obj)
    yield from _of_class(type(owner))
    for item in (*_held_by(owner), *wrapped_by(obj)):
        yield from _of_instance(item)
    yield from _packages_referenced(obj, arrays)


def _held_by(owner: Any) -> list[Any]:
    return (
        []
        if isinstance(owner, types.FunctionType | types.ModuleType)
        else list(getattr(owner, "__dict__", {}).values())
    )


def _of_class(cls: type) -> Iterator[str]:
    return (package_of(base.__module__) for base in cls.__mro__)


def _of_instance(item: Any) -> Iterator[str]:
    return iter(()) if _is_tracking(item) else _of_class(type(item))


def _is_tracking(item: Any) -> bool:
    return isinstance(item, (list, tuple, dict)) and str(type(item).__module__).startswith(trait("tracking"))


def _called(obj: Any) -> Iterable[types.FunctionType]:
    # The function may be a framework's own.
    of_obj = [*function_layers(obj)]
    return dict.fromkeys(
        (*of_obj, *(function for space in spaces_of([entry_of(obj)]) for function in space.functions))
    )


def _packages_referenced(obj: Any, arrays: bool) -> Iterator[str]:
    for item in (item for function in _called(obj) for item in named_objects(function)):
        item = item.func if isinstance(item, functools.partial) else item
        if not arrays and responds_to(item, "shape", "dtype"):
            continue
        if not _is_tracking(item):
            yield package_of(
                item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", None)
            )
        # A model of the user's is recognised by the base classes of its class.
        yield from (_of_class(item) if isinstance(item, type) else _of_instance(item))
