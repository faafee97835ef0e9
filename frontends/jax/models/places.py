"""Where code finds a model: closures, globals, attributes, containers, what a partial gives. Another object can stand there for a while."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from ....tracing import Reached
from ....tracing.reach.refers import cell_is_filled

Place = tuple[str, Any, Callable[[Any], None]]  # its name in the code, what stands there, and what puts something else there


def places_of(reach: Reached) -> list[Place]:
    """All places within reach."""
    return list(_places(reach))


def _places(reach: Reached) -> Iterator[Place]:
    for item in reach.found():
        if isinstance(item, types.FunctionType):
            yield from _of_closure(item)
    for function in reach.functions:
        yield from _of_dict(function.__globals__, reach.globals_of(function))
    for owner in reach.owners:
        own = getattr(owner, "__dict__", None)
        if isinstance(own, dict):
            yield from _of_dict(own, reach.attributes(owner))
    for items in reach.containers:
        if isinstance(items, dict):
            yield from _of_dict(items, items)
        elif isinstance(items, list):
            yield from ((str(place), item, functools.partial(items.__setitem__, place)) for place, item in enumerate(items))
    for partial in reach.partials:
        yield from _of_partial(partial)


def _of_closure(function: types.FunctionType) -> Iterator[Place]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if cell_is_filled(cell):
            yield name, cell.cell_contents, functools.partial(setattr, cell, "cell_contents")


def _of_dict(held: dict[Any, Any], names: Iterable[Any]) -> Iterator[Place]:
    return ((str(name), held[name], functools.partial(held.__setitem__, name)) for name in list(names) if name in held)


def _of_partial(partial: functools.partial[Any]) -> Iterator[Place]:
    yield "func", partial.func, lambda item: _refill(partial, item, partial.args, partial.keywords)
    for place, item in enumerate(partial.args):
        yield str(place), item, functools.partial(_put_positional, partial, place)
    for name, item in partial.keywords.items():
        yield name, item, functools.partial(_put_keyword, partial, name)


def _put_positional(partial: functools.partial[Any], place: int, item: Any) -> None:
    _refill(partial, partial.func, (*partial.args[:place], item, *partial.args[place + 1 :]), partial.keywords)


def _put_keyword(partial: functools.partial[Any], name: str, item: Any) -> None:
    _refill(partial, partial.func, partial.args, {**partial.keywords, name: item})


def _refill(partial: Any, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    partial.__setstate__((function, args, keywords, vars(partial)))


@contextmanager
def standing_there(places: Iterable[Place], stand_ins: Mapping[int, Any]) -> Iterator[None]:
    """Inside of the block other objects stand where those with these identities stand."""
    with ExitStack() as undo:
        for _, item, put in places:
            if id(item) in stand_ins:
                undo.callback(put, item)
                put(stand_ins[id(item)])
        yield
