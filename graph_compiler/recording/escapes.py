"""Check (``refuse_escapes``) that objects which every call of a graph returns refer to no recorded arrays."""

from __future__ import annotations

import gc
import types
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any

from ..errors import TracingError
from ..trees import Branch, Static, Tree
from .code.ownership import OWN, package_of

_CLOSED = (type, types.ModuleType, types.CodeType, str, bytes, int, float, complex, type(None))
_ITEMS = "whose items would be computed after the recording; return a list or tuple of them"
# Objects whose code runs after the function has returned, with the problem and the advice for the message.
_RUNNING: dict[type, str] = {
    Coroutine: (
        "whose code runs when it is awaited, after the recording; compile a plain function, and call that in "
        "the asynchronous one"
    ),
    Iterator: _ITEMS,
    AsyncGenerator: _ITEMS,
}
# Limit for the number of objects that one search visits.
_MOST = 10_000


def refuse_escapes(name: str, result: Tree, arguments: Tree, is_recorded: Callable[[Any], bool]) -> None:
    """Raise ``TracingError`` for static objects in ``result`` that seem to depend on this recording.

    Objects that are also static in ``arguments`` are allowed.

    name: name of the function in the message.
    is_recorded(item): True for an array or size of the recording.
    """
    if not (held := _statics(result)):
        return
    given = {id(value) for value in _statics(arguments)}
    for value in held:
        # An object that the caller passed is the caller's own at each call.
        if id(value) in given or isinstance(value, _CLOSED):
            continue
        if (
            problem := next((words for cls, words in _RUNNING.items() if isinstance(value, cls)), None)
        ) is not None:
            raise TracingError(f"{name} returns a {type(value).__name__}, {problem}")
        if holds(value, is_recorded):
            raise TracingError(
                f"{name} returns a {type(value).__name__} that holds arrays or sizes of this call inside "
                f"({value!r:.60}), so every later call would get those of the recording. Return them in a "
                "tuple, list, dict or dataclass"
            )


def _statics(tree: Tree) -> list[Any]:
    if isinstance(tree, Static):
        return [tree.value]
    if isinstance(tree, Branch):
        return [*tree.keys, *(value for child in tree.children for value in _statics(child))]
    return []


def holds(root: Any, is_recorded: Callable[[Any], bool]) -> bool:
    """Return True if a limited search from ``root`` finds an object for which ``is_recorded`` returns True.

    >>> holds(lambda y, x=[2.5]: y, lambda item: item == 2.5), holds({1}, lambda item: item == 2.5)
    (True, False)
    """
    waiting, seen = [root], {id(root)}
    while waiting and len(seen) < _MOST:
        item = waiting.pop()
        if is_recorded(item):
            return True
        for child in _inside(item):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)
    return False


def _inside(item: Any) -> list[Any]:
    # The globals of a function lead to all of its module, so only its closure and defaults are searched.
    if isinstance(item, types.FunctionType):
        return [*(item.__closure__ or ()), *(item.__defaults__ or ()), *(item.__kwdefaults__ or {}).values()]
    # A symbolic size refers to the whole recording.
    is_closed = isinstance(item, _CLOSED[:3]) or package_of(type(item).__module__) == OWN
    return [] if is_closed else gc.get_referents(item)
