"""Where code finds a model: closures, globals, attributes, containers, what a partial gives. Another object can stand there for a while."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from .containers import kind_of
from .walk import Reached

Place = tuple[str, Any, Callable[[Any], None]]  # its name in the code, what stands there, and what puts something else there


def places_of(reach: Reached) -> list[Place]:
    """All places within reach."""
    return list(_places(reach))


def _places(reach: Reached) -> Iterator[Place]:
    for function in (item for item in reach.found() if isinstance(item, types.FunctionType)):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            yield from _in(cell, (0,), name)
    for function in reach.functions:
        yield from _in(function.__globals__, reach.globals_of(function))
    for owner in reach.owners:
        if isinstance(own := getattr(owner, "__dict__", None), dict):
            yield from _in(own, reach.attributes(owner))
    for items in reach.containers:
        if isinstance(items, (dict, list)):
            yield from _in(items)
    for partial in reach.partials:
        yield from _of_partial(partial)


def _in(held: Any, keys: Iterable[Any] | None = None, name: str = "") -> Iterator[Place]:
    """Parts of a container, all or those with these keys."""
    kind = kind_of(held)
    parts = kind.pairs(held) if kind is not None else {}
    for key in parts if keys is None else [key for key in keys if key in parts]:
        yield name or str(key), parts[key], functools.partial(kind.put, held, key)  # type: ignore[union-attr]


def _of_partial(partial: functools.partial[Any]) -> Iterator[Place]:
    names = ("func", *map(str, range(len(partial.args))), *partial.keywords)
    for place, (name, item) in enumerate(zip(names, _parts(partial))):
        yield name, item, functools.partial(_put, partial, place)


def _parts(partial: functools.partial[Any]) -> list[Any]:
    return [partial.func, *partial.args, *partial.keywords.values()]


def _put(partial: Any, place: int, item: Any) -> None:
    parts, count = _parts(partial), 1 + len(partial.args)
    parts[place] = item
    partial.__setstate__((parts[0], tuple(parts[1:count]), dict(zip(partial.keywords, parts[count:])), vars(partial)))


@contextmanager
def replaced(places: Iterable[Place], replacements: Mapping[int, Any]) -> Iterator[None]:
    """Inside of the block other objects stand where those with these identities stand."""
    with ExitStack() as undo:
        for _, item, put in places:
            if id(item) in replacements:
                undo.callback(put, item)
                put(replacements[id(item)])
        yield
