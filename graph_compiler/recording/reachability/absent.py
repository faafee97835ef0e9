"""Guards on names that code looked up without success: an object of that name would be found later."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from ..code.names import globals_read
from ..environment_guards.guards import EnvironmentGuard
from ..environment_guards.versions import dict_of_class
from .free_parts import FreeParts
from .references import STOOD_IN, names_in
from .walk import Reached

_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})

# Python looks these up itself, and goes on without them.
_ASKED_BY_PYTHON = frozenset(
    {"__bool__", "__len__", "__contains__", "__eq__", "__getattr__", "__getattribute__"}
)


def absent_globals(reach: Reached, free: FreeParts) -> Iterator[EnvironmentGuard]:
    """Yield guards on names that functions look up in their module, and that are builtins or do not exist.

    Builtins that a recording replaces (``STOOD_IN``) and names that are ``free`` are left out.
    """
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
    """Names that code may look up on an object without success and go on.

    They are names read by code that handles exceptions, and strings that may be names of attributes.
    Results are cached by class, because a large package has thousands of objects.

    names: those names.
    all: True if code reads all attributes, or reads them by unknown strings.
    """

    def __init__(self, reach: Reached) -> None:
        self.reach = reach
        self.names = frozenset(reach.tried.union(name for name in reach.fragments if name.isidentifier()))
        self.all = "" in reach.fragments
        self._not_in: dict[type, frozenset[str]] = {}
        self._not_above: dict[tuple[type, ...], frozenset[str]] = {}
        self._read_of: dict[int, list[str]] = {}

    def missing(self, owner: Any) -> frozenset[str]:
        """Return the names that neither ``owner`` nor its class has. No property is evaluated."""
        cls = type(owner)
        if cls not in self._not_in:
            self._not_in[cls] = self.names.difference(*(vars(base) for base in cls.__mro__))
        names, own = self._not_in[cls], getattr(owner, "__dict__", {})
        return names if names.isdisjoint(own) else names.difference(own)

    def not_inherited(self, cls: type) -> frozenset[str]:
        """Return the names that neither a base of ``cls`` nor its metaclass defines; ``cls`` itself may."""
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
    """Yield guards on attributes that code may look up on ``owner`` without success.

    Code does so by string (``hasattr``, ``getattr`` with a default), or where it handles exceptions. If it
    reads all attributes, a guard covers the names of all. ``own`` is the dict of ``owner``: nothing is
    yielded for an owner without one.
    """
    if not isinstance(own, dict):
        return
    names = free.without(owner, sought.missing(owner))
    if names:
        yield EnvironmentGuard(
            "{}.isdisjoint({}.keys())", (names, own), f"an attribute that {what} had not", own
        )
    if sought.all:
        yield keys_fact(own, FreeParts(lambda _: free.keys_of(owner)), f"which attributes {what} has")


def keys_fact(held: dict[Any, Any], free: FreeParts, what: str) -> EnvironmentGuard:
    """Return the guard that a dict keeps its keys and their order, except for ``free`` keys.

    Keys other than strings, numbers and None are compared by identity.

    >>> counts = {"steps": 1, (3, 4): 2.0}
    >>> fact = keys_fact(counts, FreeParts(lambda _: ["steps"]), "keys")
    >>> now, before = fact.items
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
    """Yield guards that ``cls`` gets no attribute of a name that it does not define and code may look up.

    Such an attribute would hide that of a base in ``watched`` (ids of classes), or would be found by
    Python itself (``__bool__``) or by code that looks for it.
    """
    above = [base for base in cls.__mro__[1:] if id(base) in watched]
    names = _ASKED_BY_PYTHON.union(*map(sought.read_of, above)).difference(vars(cls))
    what, held = f"an attribute of {cls.__name__} that it had not", dict_of_class(cls)
    if names:
        yield EnvironmentGuard("{}.isdisjoint({}.keys())", (names, vars(cls)), what, held)
    if names := sought.not_inherited(cls):
        # The class may define some of them itself, which must stay so.
        found = names.intersection(vars(cls))
        yield EnvironmentGuard("{}.intersection({}.keys()) == {}", (names, vars(cls), found), what, held)
