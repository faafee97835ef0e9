"""Guards (``facts_outside``) on the objects that a function refers to, and on names that it did not find."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import os
import reprlib
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from ...errors import TracingError
from ...trees import containers
from ..code.names import globals_read, names_read
from ..environment_guards import EnvironmentGuard, dict_of_class, same_guard, same_items
from .containers import ALL_PARTS, NO_FREE_PARTS, FreeParts, answers_of, registered_with
from .libraries import library_guards
from .references import STOOD_IN, cell_is_filled, names_in, names_of_builtins
from .walk import MOST_ITEMS, Reached

# ----------------------------------------------------------------------------------------------- absent names
# Code looked up these names without success, and would find an object that gets such a name later.

_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})

# Python looks these up itself, and goes on without them.
_ASKED_BY_PYTHON = frozenset(
    {"__bool__", "__len__", "__contains__", "__eq__", "__getattr__", "__getattribute__"}
)


def absent_globals(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    """Yield guards on the absence of globals and builtins that functions of ``reach`` look up."""
    spaces = {id(function.__globals__): function.__globals__ for function in reach.functions}
    looked_up: dict[int, set[str]] = {key: set() for key in spaces}
    for function in reach.functions:
        looked_up[id(function.__globals__)] |= globals_read(function.__code__)
    for key, space in spaces.items():
        names = frozenset(
            name for name in looked_up[key] - STOOD_IN if name not in space and not free(space, name)
        )
        if names:
            yield EnvironmentGuard(
                "{}.isdisjoint({}.keys())", (names, space), "a global that was not there", space
            )
        # A name that is neither a global nor a builtin may become either.
        if nowhere := names - vars(builtins).keys():
            yield EnvironmentGuard(
                "{}.isdisjoint({}.keys())",
                (nowhere, vars(builtins)),
                "a name of builtins that was not there",
                vars(builtins),
            )


class MissingNames:
    """Names that code may look up on objects that lack them, and continue.

    They are names read by code that handles exceptions, and strings that may be names of attributes.

    all: True if code reads all attributes, or reads them by unknown strings.
    """

    def __init__(self, reach: Reached) -> None:
        self.reach = reach
        self.names = frozenset(reach.tried.union(name for name in reach.fragments if name.isidentifier()))
        self.all = "" in reach.fragments
        # Results are cached by class, because a large package has thousands of objects.
        self._not_in: dict[type, frozenset[str]] = {}
        self._not_above: dict[tuple[type, ...], frozenset[str]] = {}
        self._read_of: dict[int, list[str]] = {}

    def missing(self, owner: Any) -> frozenset[str]:
        cls = type(owner)
        if cls not in self._not_in:
            self._not_in[cls] = self.names.difference(*(vars(base) for base in cls.__mro__))
        names, own = self._not_in[cls], getattr(owner, "__dict__", {})
        return names if names.isdisjoint(own) else names.difference(own)

    def not_inherited(self, cls: type) -> frozenset[str]:
        metaclass: type = type(cls)
        above = (*cls.__mro__[1:], *metaclass.__mro__)
        if above not in self._not_above:
            self._not_above[above] = self.names.difference(*map(vars, above))
        return self._not_above[above]

    def read_of(self, cls: type) -> list[str]:
        if id(cls) not in self._read_of:
            methods = (name for name in vars(cls) if name in self.reach.names)
            self._read_of[id(cls)] = [*self.reach.attributes(cls), *methods]
        return self._read_of[id(cls)]


def absent_attributes(
    sought: MissingNames, owner: Any, own: Any, what: str, free: FreeParts
) -> Iterator[EnvironmentGuard]:
    """Yield guards on attributes that code may look up on ``owner`` without success."""
    if not isinstance(own, dict):
        return
    names = free.without(owner, sought.missing(owner))
    if names:
        yield EnvironmentGuard(
            "{}.isdisjoint({}.keys())", (names, own), f"an attribute that {what} had not", own
        )
    if sought.all:
        yield keys_guard(own, FreeParts(lambda _: free.keys_of(owner)), f"which attributes {what} has")


def keys_guard(held: dict[Any, Any], free: FreeParts, what: str) -> EnvironmentGuard:
    """Return the guard that a dict keeps its keys and their order, except for ``free`` keys.

    >>> counts = {"steps": 1, (3, 4): 2.0}
    >>> guard = keys_guard(counts, FreeParts(lambda _: ["steps"]), "keys")
    >>> now, before = guard.items
    >>> now() == before, counts.pop("steps"), now() == before, counts.update(more=1), now() == before
    (True, 1, True, None, False)
    """

    # Keys are compared by id, because a dict keeps its first key object and ``==`` of arrays is no bool.
    def keys() -> list[Any]:
        return [key if type(key) in _PLAIN else id(key) for key in held if not free(held, key)]

    return EnvironmentGuard("{}() == {}", (keys, keys()), what, held)


def names_of_whole(space: dict[str, Any], what: str) -> EnvironmentGuard:
    return EnvironmentGuard(
        "{}({}) == {}", (names_in, space, names_in(space)), f"which names {what} has", space
    )


def hidden_by_class(sought: MissingNames, cls: type, watched: set[int]) -> Iterator[EnvironmentGuard]:
    """Yield guards on which attributes ``cls`` itself defines, as far as code may depend on that."""
    above = [base for base in cls.__mro__[1:] if id(base) in watched]
    # Python itself looks up such a name, or the class would hide an attribute of a base.
    names = _ASKED_BY_PYTHON.union(*map(sought.read_of, above)).difference(vars(cls))
    what, held = f"an attribute of {cls.__name__} that it had not", dict_of_class(cls)
    if names:
        yield EnvironmentGuard("{}.isdisjoint({}.keys())", (names, vars(cls)), what, held)
    if names := sought.not_inherited(cls):
        # The class may define some of them itself, which must stay so.
        found = names.intersection(vars(cls))
        yield EnvironmentGuard("{}.intersection({}.keys()) == {}", (names, vars(cls), found), what, held)


# ---------------------------------------------------------------------------------------------- outer objects
_PLAIN_TYPES = (bool, int, float, complex, str, bytes, type(None))


def is_plain(held: Any) -> bool:
    return type(held) in _PLAIN_TYPES


def _own_attributes(item: Any) -> list[Any]:
    held = getattr(item, "__dict__", ())
    slots = (vars(base).get("__slots__", ()) for base in type(item).__mro__)
    names = (name for each in slots for name in ((each,) if isinstance(each, str) else each))
    # Python itself fills ``__dict__`` and ``__weakref__``.
    filled = (name for name in names if not name.startswith("__") and hasattr(item, name))
    return [*(() if held is item else held), *filled]


def refuse_attributed(value: Any) -> None:
    """Raise ``TracingError`` if ``value`` contains a list, tuple or dict that has attributes of its own.

    Dataclasses are allowed.

    >>> class Row(list):
    ...     pass
    >>> row = Row([1])
    >>> refuse_attributed({"row": row})
    >>> row.name = "first"
    >>> try:
    ...     refuse_attributed({"row": row})
    ... except TracingError as problem:
    ...     print(str(problem)[:39])
    a Row has attributes (name) beside what
    """
    for item in containers(value):
        may_have = isinstance(item, (list, tuple, dict)) and type(item) not in (list, tuple, dict)
        own = _own_attributes(item) if may_have else ()
        if own and not dataclasses.is_dataclass(item):
            base = next(base.__name__ for base in (list, tuple, dict) if isinstance(item, base))
            raise TracingError(
                f"a {type(item).__name__} has attributes ({', '.join(map(str, own))}) beside what it holds "
                f"as a {base}, which cannot be recorded; make these items, or keep the items in an attribute "
                "as well"
            )


_ENVIRONMENT = frozenset({"environ", "getenv"})
_UNSET = object()
# Functions of these modules may have shims while any thread records.
_STOOD_IN = frozenset({"builtins", "math"})
# Classes of most objects in guards. They have no buffer whose contents would have to be compared.
_NO_BUFFERS = frozenset(
    {dict, list, tuple, set, frozenset, str, int, float, bool, type(None), type, types.FunctionType}
)


def facts_outside(
    reach: Reached,
    facts_of: Callable[[Any], Iterable[EnvironmentGuard]] = lambda owner: (),
    contents: Callable[[Any], Any] = lambda item: None,
    free: FreeParts = NO_FREE_PARTS,
) -> list[EnvironmentGuard]:
    """Return guards on the objects in ``reach``, and on names that its code may look up without success.

    facts_of(owner): returns further guards on one of ``reach.owners``. If there are any, the class of the
        owner is not guarded here.
    contents(item): returns a copy of the elements of a buffer (NumPy array, bytearray), which are compared;
        None for other objects.
    free: parts that are not compared.

    >>> from graph_compiler.recording import EnvironmentGuards
    >>> settings = {"scale": 2}
    >>> function = eval("lambda x: x * settings['scale']", {"settings": settings})
    >>> environment = EnvironmentGuards(facts_outside(Reached([function])))
    >>> environment.holds(), settings.update(scale=3), environment.holds(), environment.reason()
    (True, None, False, 'an item of the global settings changed since')
    """
    found = [
        *_globals(reach, free),
        *_cells(reach, free),
        *_functions(reach, free),
        *_variables(reach, free),
        *_library_objects(reach),
        *_environment(reach, free),
        *library_guards(reach.functions),
        *_owners(reach, facts_of, free),
    ]
    found += _containers(reach, free, {id(guard.items[-1]): guard.what for guard in found})
    held = {
        id(item): item
        for item in (*(item for guard in found for item in guard.items), *reach.items())
        if type(item) not in _NO_BUFFERS
    }
    buffers = [(item, buffer) for item in held.values() if (buffer := contents(item)) is not None]
    return [
        *found,
        *(
            EnvironmentGuard("{}({}) == {}", (contents, *pair), "the elements of an array")
            for pair in buffers
        ),
    ]


def _globals(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    used = {
        (id(function.__globals__), name): function.__globals__
        for function in reach.functions
        for name in reach.globals_of(function)
    }
    for (_, name), held in used.items():
        # Modules are not compared, nor builtins that other recordings may replace.
        if not _stays(held[name]) and not free(held, name):
            yield _entry(f"the global {name}", held, name)
    for name in sorted({name for function in reach.functions for name in names_of_builtins(function)}):
        yield _entry(f"the name {name} of builtins", vars(builtins), name)
    yield from absent_globals(reach, free)


def _stays(item: Any) -> bool:
    is_plain = isinstance(item, (type, types.BuiltinFunctionType)) and item.__module__ in _STOOD_IN
    return is_plain or isinstance(item, types.ModuleType)


def _cells(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    for name, cell in reach.cells:
        if cell_is_filled(cell) and not free(cell, 0):
            yield same_guard(
                "{}.cell_contents",
                (cell,),
                cell.cell_contents,
                f"the variable {name} of an enclosing function",
            )


def code_guard(function: types.FunctionType) -> EnvironmentGuard:
    return same_guard("{}.__code__", (function,), function.__code__, f"the code of {function.__name__}")


def _functions(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    sought = MissingNames(reach)
    for function in reach.functions:
        yield code_guard(function)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                yield same_guard(
                    f"{{}}.{name}",
                    (function,),
                    getattr(function, name),
                    f"the defaults of {function.__name__}",
                )
        own, what = vars(function), function.__name__
        for name in (name for name in reach.attributes(function) if name in own and not free(own, name)):
            yield _entry(f"the attribute {name} of {what}", own, name)
        # The attributes of a function are the parts of its dict.
        yield from absent_attributes(
            sought, function, own, what, FreeParts(functools.partial(_keys_of, free, own))
        )


def _keys_of(free: FreeParts, own: dict[str, Any], _: Any) -> Collection[Any]:
    return free.keys_of(own)


def _variables(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    for variable in reach.variables:
        if not free(variable, 0):
            yield same_guard(
                "{}.get({})",
                (variable, _UNSET),
                variable.get(_UNSET),
                f"the context variable {variable.name}",
            )


def _library_objects(reach: Reached) -> Iterator[EnvironmentGuard]:
    for reference in reach.references:
        yield EnvironmentGuard(
            "({}() is None) is {}", (reference, reference() is None), "the target of a weak reference"
        )
    for partial in reach.partials:
        for name in ("func", "keywords"):
            yield same_guard(f"{{}}.{name}", (partial,), getattr(partial, name), f"{name} of a partial")
        yield EnvironmentGuard(
            "{}({}.args, {})", (same_items, partial, partial.args), "the arguments of a partial"
        )
    for cls in reach.abstract:
        yield EnvironmentGuard(
            "{}({}) == {}",
            (registered_with, cls, registered_with(cls)),
            f"the classes that are registered with {cls.__name__}",
        )
    for item in reach.asked:
        for row in answers_of(item, reach.names):
            yield EnvironmentGuard("{}({}) == {}", (row.read, item, row.read(item)), row.what)


def _environment(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    if not any(_ENVIRONMENT & names_read(function.__code__) for function in reach.functions):
        return

    def now() -> dict[str, str]:
        return {name: text for name, text in os.environ.items() if not free(os.environ, name)}

    yield EnvironmentGuard("{}() == {}", (now, now()), "an environment variable")


def _owners(
    reach: Reached, facts_of: Callable[[Any], Iterable[EnvironmentGuard]], free: FreeParts
) -> Iterator[EnvironmentGuard]:
    watched = {id(cls) for cls in reach.owners if isinstance(cls, type)}
    # A guard must not keep the target of a weak reference alive.
    fleeting = {id(reference()) for reference in reach.references}
    sought, of_class = (
        MissingNames(reach),
        {cls: _of_class(reach, cls, watched) for cls in set(map(type, reach.owners))},
    )
    for owner in reach.owners:
        is_scope = isinstance(owner, (type, types.ModuleType))
        what = owner.__name__ if is_scope else f"a {type(owner).__name__}"
        own = getattr(owner, "__dict__", {})
        for name, item in reach.read_of(owner).items():
            fixed = is_scope and _stays(item)
            if not fixed and not free(owner, name):
                yield _attribute(f"the attribute {name} of {what}", owner, own, name, item)
        may_hide = not is_scope and hasattr(owner, "__dict__")
        hiding = (
            [name for name in of_class[type(owner)] if name not in own and not free(owner, name)]
            if may_hide
            else []
        )
        if hiding:
            yield EnvironmentGuard(
                "{}.isdisjoint({})",
                (frozenset(hiding), own),
                f"an attribute of {what} that hides its class's",
                own,
            )
        if isinstance(owner, type):
            yield from hidden_by_class(sought, owner, watched)
        else:
            yield from absent_attributes(sought, owner, own, what, free)
        if reach.is_whole(owner):
            yield names_of_whole(own, what)
        of_kind = list(facts_of(owner))
        yield from of_kind
        # The class decides which methods run.
        if not (is_scope or of_kind or free(owner, "__class__") or id(owner) in fleeting):
            yield EnvironmentGuard(
                "{}({}) is {}", (type, owner, type(owner)), f"the class of {what}", class_of=owner
            )


def _attribute(what: str, owner: Any, own: Any, name: str, item: Any) -> EnvironmentGuard:
    # A slot is not in the dict, and a ``threading.local`` has another dict in each thread.
    if name not in own or isinstance(owner, threading.local):
        return same_guard("{}({}, {})", (getattr, owner, name), item, what)
    of = dict_of_class(owner) if isinstance(owner, type) else own if isinstance(own, dict) else None
    return same_guard("{}[{}]", (own, name), item, what, of)


def _of_class(reach: Reached, cls: type, watched: set[int]) -> list[str]:
    return [name for base in cls.__mro__ if id(base) in watched for name in reach.attributes(base)]


def _containers(reach: Reached, free: FreeParts, known_as: dict[int, str]) -> Iterator[EnvironmentGuard]:
    for items in reach.containers:
        # Tuples and frozensets cannot change.
        if isinstance(items, (tuple, frozenset)) or free(items, ALL_PARTS):
            continue
        which = known_as.get(id(items)) or _described(items)
        what = f"an item of {which}"
        if isinstance(items, dict) and any(free(items, key) for key in items):
            yield from (_entry(what, items, key) for key in items if not free(items, key))
            yield keys_guard(items, free, f"which items {which} has")
        elif isinstance(items, list) and any(free(items, place) for place in range(len(items))):
            yield _length_guard(items, which)
            yield from (
                same_guard("{}[{}]", (items, place), item, what)
                for place, item in enumerate(items)
                if not free(items, place)
            )
        elif len(items) > MOST_ITEMS and not isinstance(items, set):
            yield _length_guard(items, which)
        else:
            text, objects = _as_it_is(items)
            # The version of the dict below does not change with the order of an ``OrderedDict``.
            counts = isinstance(items, dict) and not isinstance(items, OrderedDict)
            yield EnvironmentGuard(text, objects, what, items if counts else None)


def _described(items: Any) -> str:
    text = reprlib.repr(items)[:60] if len(items) <= MOST_ITEMS else ""
    return f"the {type(items).__name__} {text}".rstrip()


def _length_guard(items: Any, which: str) -> EnvironmentGuard:
    return EnvironmentGuard("len({}) == {}", (items, len(items)), f"the length of {which}")


def _as_it_is(items: Any) -> tuple[str, tuple[Any, ...]]:
    if not items:
        return "not {}", (items,)
    if isinstance(items, set):
        return "{} == {}", (items, set(items))
    if isinstance(items, dict):
        keys, values = list(items), list(items.values())
        return "{}({}, {}) and {}({}.values(), {})", (same_items, items, keys, same_items, items, values)
    return "{}({}, {})", (same_items, items, list(items))


def _entry(what: str, held: dict[Any, Any], key: Any) -> EnvironmentGuard:
    return same_guard("{}[{}]", (held, key), held[key], what, held)
