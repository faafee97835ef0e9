"""Whether what a function refers to outside of its arguments is still what it was while recording."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any

from .conjunction import Fact, conjunction
from .reach import MOST_ITEMS, Reach, attributes_of, cell_is_filled
from .surroundings import Surroundings

_NOT_REBOUND = (type, types.ModuleType, types.BuiltinFunctionType)
_GONE = (KeyError, AttributeError, ValueError)
Free = Callable[[Any, Any], bool]  # whether a part of a container (a whole one: None) is read anew at each call
Described = tuple[str, Fact]  # what it is in words, and the fact that it is as it was


class Outside:
    """Everything within reach, compared by identity in generated code.

    Numbers and strings are compared by identity too: what nobody touched is the same object, and to record once too often does no harm.
    What is ``free`` is not compared. ``facts_of`` are more facts of one object, ``more`` of all together; ``contents`` are buffers (arrays of numpy, bytes) that are compared by their bytes,
    since nothing counts the writes to them.

    >>> settings = {"scale": 2}
    >>> outside = Outside(Reach([lambda x: x * settings["scale"]]))
    >>> outside.holds(), settings.update(scale=3), outside.holds(), outside.changed()
    (True, None, False, "an item of {'scale': 2}")
    """

    def __init__(
        self,
        reach: Reach,
        facts_of: Callable[[Any], Iterable[Described]] = lambda owner: (),
        contents: Callable[[Any], Any] = lambda item: None,
        more: Iterable[Described] = (),
        free: Free = lambda holder, key: False,
    ) -> None:
        found = [
            *more,
            *_globals(reach, free),
            *_cells(reach, free),
            *_functions(reach),
            *_owners(reach, facts_of, free),
            *_containers(reach, free),
        ]
        held = [item for _, (_, items) in found for item in items]
        buffers = [(item, buffer) for item in (*held, *reach.items()) if (buffer := contents(item)) is not None]
        self._facts = [*found, *(("the elements of an array", ("{}({}) == {}", (contents, *pair))) for pair in buffers)]
        self._holds = conjunction(fact for _, fact in self._facts)

    def holds(self) -> bool:
        """Whether everything is as it was. Run before every call."""
        try:
            return self._holds()
        except _GONE:
            return False

    def changed(self) -> str:
        """The first thing that is not as it was, in words; empty where there is none."""
        return next((what for what, fact in self._facts if not _is_so(fact)), "")

    def added_to(self, surroundings: Surroundings) -> Surroundings:
        """``surroundings`` that hold only while nothing has changed."""

        def reason() -> str:
            what = self.changed()
            return f"{what} changed since" if what else surroundings.reason()

        return Surroundings(lambda: surroundings.holds() and self.holds(), reason)


def _is_so(fact: Fact) -> bool:
    try:
        return conjunction([fact])()
    except _GONE:
        return False


def _globals(reach: Reach, free: Free) -> Iterator[Described]:
    used = {(id(function.__globals__), name): function.__globals__ for function in reach.functions for name in reach.globals_of(function)}
    for (_, name), held in used.items():
        if not isinstance(held[name], _NOT_REBOUND) and not free(held, name):
            yield f"the global {name}", ("{}[{}] is {}", (held, name, held[name]))


def _cells(reach: Reach, free: Free) -> Iterator[Described]:
    for name, cell in reach.cells:
        if cell_is_filled(cell) and not free(cell, 0):
            yield f"the variable {name} of an enclosing function", ("{}.cell_contents is {}", (cell, cell.cell_contents))


def _functions(reach: Reach) -> Iterator[Described]:
    for function in reach.functions:
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                yield f"the defaults of {function.__name__}", (f"{{}}.{name} is {{}}", (function, getattr(function, name)))


def _owners(reach: Reach, facts_of: Callable[[Any], Iterable[Described]], free: Free) -> Iterator[Described]:
    for owner in reach.owners:
        found = attributes_of(owner)
        what = owner.__name__ if isinstance(owner, (type, types.ModuleType)) else f"a {type(owner).__name__}"
        own = getattr(owner, "__dict__", {})
        for name in reach.attributes(owner):
            fixed = isinstance(owner, (type, types.ModuleType)) and isinstance(found[name], _NOT_REBOUND)
            if fixed or free(owner, name):
                continue
            fact: Fact = (
                ("{}[{}] is {}", (own, name, found[name])) if name in own else ("{}({}, {}) is {}", (getattr, owner, name, found[name]))
            )
            yield f"the attribute {name} of {what}", fact
        hiding = (
            []
            if isinstance(owner, (type, types.ModuleType))
            else [name for name in _of_class(reach, owner) if name not in own and not free(owner, name)]
        )
        if hiding:
            yield f"an attribute of {what} that hides its class's", ("{}.isdisjoint({})", (frozenset(hiding), own))
        yield from facts_of(owner)


def _of_class(reach: Reach, owner: Any) -> Iterator[str]:
    """Attributes of an object's class that one of its own would hide."""
    watched = {id(cls) for cls in reach.owners if isinstance(cls, type)}
    for cls in type(owner).__mro__:
        if id(cls) in watched:
            yield from (name for name in reach.attributes(cls) if hasattr(owner, "__dict__"))


def _containers(reach: Reach, free: Free) -> Iterator[Described]:
    for items in reach.containers:
        what = f"an item of {str(items)[:60]}" if len(items) < MOST_ITEMS else f"the length of a {type(items).__name__}"
        if isinstance(items, (tuple, frozenset)) or free(items, None):
            continue
        if isinstance(items, dict) and any(free(items, key) for key in items):
            yield from ((what, ("{}.get({}) is {}", (items, key, item))) for key, item in items.items() if not free(items, key))
            continue
        if not items:
            yield what, ("not {}", (items,))
        elif isinstance(items, set):
            yield what, ("{} == {}", (items, set(items)))
        elif len(items) > MOST_ITEMS:
            yield what, (f"len({{}}) == {len(items)}", (items,))
        else:
            now, before = ("{}.values()", list(items.values())) if isinstance(items, dict) else ("{}", list(items))
            yield what, (f"len({{}}) == {len(before)} and {{}}(map({{}}, {now}, {{}}))", (items, all, is_, items, before))
