"""What the user's code reads by name from modules that are not followed, Python's own and those of frameworks: their settings and
tables."""

from __future__ import annotations

import decimal
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..environment.conjunction import EnvironmentGuard
from ..environment.same_value import ATOMS, same_fact, same_items
from ..source.code_names import names_read, texts_of
from .library import answers_of, is_asked
from .origin import is_users
from .refers import enclosed

_DEEPEST = 4
_CONTAINERS = (list, set, dict)
_FEW = 100  # of a dict with more items those count whose keys are texts in the code
_MISSING = object()


def _of_decimal() -> str:
    """The context of decimals, without the signals that it has seen, which computing sets."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return repr(context)


# Modules whose functions and objects are steered by a setting that nobody has to ask for.
_STEERED: dict[str, tuple[str, Callable[[], Any]]] = {"decimal": ("the context of decimal", _of_decimal)}


class _Reader(NamedTuple):
    """The names in the code of one function, and the texts in that of all."""

    names: frozenset[str]
    texts: frozenset[str]


def library_facts(functions: Iterable[types.FunctionType]) -> Iterator[EnvironmentGuard]:
    """That modules which these functions name, and which are not the user's, hold under the names in the code what they hold now.

    Functions, classes and what has no parts that the code names are taken for constant; of a large dict (``sys.modules``) the items count
    whose keys are texts in the code.

    >>> import types, warnings
    >>> [fact.what for fact in library_facts([eval("lambda: warnings.filters", {"warnings": warnings})])]
    ['warnings.filters']
    """
    known: set[tuple[int, str]] = set()
    functions = list(functions)
    texts = frozenset[str]().union(*(texts_of(function.__code__) for function in functions))
    for function in functions:
        reader = _Reader(names_read(function.__code__), texts)
        held = list(_held(function, reader.names))
        for module in held:
            if isinstance(module, types.ModuleType) and not is_users(module):
                yield from _parts(module, vars(module), module.__name__, reader, known, _DEEPEST)
        yield from _steering(held, known)


def _held(function: types.FunctionType, names: frozenset[str]) -> Iterator[Any]:
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
    yield from enclosed(function)


def _steering(held: Iterable[Any], known: set[tuple[int, str]]) -> Iterator[EnvironmentGuard]:
    for item in held:
        module = item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", None) or type(item).__module__
        if module in _STEERED and (0, module) not in known:
            known.add((0, module))
            what, ask = _STEERED[module]
            yield EnvironmentGuard("{}() == {}", (ask, ask()), what)


def _parts(
    holder: Any, own: dict[str, Any], where: str, reader: _Reader, known: set[tuple[int, str]], depth: int
) -> Iterator[EnvironmentGuard]:
    """What stands under the names that the code reads."""
    for name in sorted(reader.names & own.keys()):
        if (id(holder), name) not in known and depth:
            known.add((id(holder), name))
            yield from _part(own, name, f"{where}.{name}", reader, known, depth)


def _part(
    own: dict[str, Any], name: str, what: str, reader: _Reader, known: set[tuple[int, str]], depth: int
) -> Iterator[EnvironmentGuard]:
    item = own[name]
    if type(item) in ATOMS:
        yield same_fact("{}[{}]", (own, name), item, what, own)
    elif isinstance(item, _CONTAINERS):
        yield EnvironmentGuard("{}({}, {}, {}, {})", (_holds, own, name, reader.texts, _snapshot(item, reader.texts)), what)
    elif is_asked(item):
        yield from (EnvironmentGuard("{}({}) == {}", (row.read, item, row.read(item)), row.what) for row in answers_of(item, reader.names))
    elif not callable(item) and isinstance(held := getattr(item, "__dict__", None), dict):
        yield from _parts(item, held, what, reader, known, depth - 1)


def _snapshot(items: Any, texts: frozenset[str]) -> list[Any]:
    """The contents of a container; of a large dict only under these keys. Empty if it is no container any more."""
    if isinstance(items, dict):
        return [items.get(text, _MISSING) for text in texts] if len(items) > _FEW else [*items, *items.values()]
    return [*items] if isinstance(items, _CONTAINERS) else []


def _holds(own: dict[str, Any], name: str, texts: frozenset[str], before: list[Any]) -> bool:
    return same_items(_snapshot(own.get(name), texts), before)
