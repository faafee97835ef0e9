"""Descriptions of how the structure of a call differs from the recorded one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...registration import responds_to
from ...trees import (
    AppendOnly,
    Branch,
    Leaf,
    Path,
    Setting,
    Static,
    Tree,
    TypedLeaf,
    child_of,
    is_like,
    is_stand_in,
    items_of,
    plain_class,
    same_static,
    unfixed,
)

# First element of the path of a place outside the arguments.
OUTSIDE = 2
IsArray = Callable[[Any], bool]
# Maximum depth of attributes when two objects are compared.
_MAX_DEPTH = 5


def structure_differences(old: Tree, value: Any, path: Path, is_array: IsArray) -> Iterator[str]:
    """Yield a sentence for each difference between ``value`` and the recorded tree, naming the argument.

    Items are compared only if class and keys of their container agree. `is_array` returns True for objects
    that match an array.
    """
    if isinstance(old, Branch):
        yield from _branch_differences(old, value, path, is_array)
    elif isinstance(old, Static):
        if not same_static(old.value, value):
            yield _other_static(old.value, value, path, is_array)
    elif not (_is_scalar(old.type, value, is_array) if isinstance(old, TypedLeaf) else is_array(value)):
        now, before = _describe(value, is_array), _describe_tree(old)
        yield f"{argument_path(path)} is {now} and was recorded as {before}"


def _is_scalar(cls: type, value: Any, is_array: IsArray) -> bool:
    return type(value) is cls or responds_to(cls, "__array__") and is_array(value)


def _branch_differences(old: Branch, value: Any, path: Path, is_array: IsArray) -> Iterator[str]:
    if plain_class(type(value)) is not old.type and not (
        is_stand_in(old.type) and is_like(type(value), old.type)
    ):
        yield _of_other_class(old, value, path, is_array)
        return
    if isinstance(old, AppendOnly):
        return
    if is_array(value):
        yield f"{argument_path(path)} is an array and was recorded as {_describe_tree(old)}"
        return
    keys = tuple(key for key, _ in items_of(value))
    # Keyword arguments may come in any order; ``KeywordOrder`` checks those in ``**kwargs``.
    is_ordered = isinstance(value, Mapping) and path != (1,)
    if keys != old.keys if is_ordered else set(keys) != set(old.keys):
        yield _of_other_keys(path, old, keys)
        return
    for index, (key, child) in enumerate(zip(old.keys, old.children)):
        yield from structure_differences(child, child_of(value, index, key), (*path, key), is_array)


def _of_other_class(old: Branch, value: Any, path: Path, is_array: IsArray) -> str:
    now, before = _describe(value, is_array), _describe_tree(old)
    if type(value).__name__ == old.type.__name__:
        now, before = (
            f"{text} of {cls.__module__}.{cls.__qualname__}"
            for text, cls in ((now, type(value)), (before, old.type))
        )
    return f"{argument_path(path)} is {now} and was recorded as {before}"


def _of_other_keys(path: Path, old: Branch, keys: tuple[Any, ...]) -> str:
    if path == (0,):
        return (
            f"the call has {len(keys) or 'no'} positional argument{plural_s(len(keys))} and was recorded "
            f"with {len(old.keys) or 'none'}"
        )
    if path == (1,):
        now, before = (", ".join(map(str, names)) for names in (keys, old.keys))
        return (
            f"the call has {f'the keywords {now}' if now else 'no keywords'} and was recorded with "
            f"{before or 'none'}"
        )
    order = ", the keys in another order" if set(keys) == set(old.keys) else ""
    return (
        f"{argument_path(path)} has the structure {_keys(old.type, keys)} and was recorded with "
        f"{_keys(old.type, old.keys)}{order}"
    )


def _other_static(old: Any, value: Any, path: Path, is_array: IsArray) -> str:
    now, before = _describe(value, is_array), _describe_static(old)
    if type(old) is not type(value) or now != before and not _has_parts(unfixed(value)):
        return f"{argument_path(path)} is {now} and was recorded as {before}"
    return (
        f"{argument_path(path)} is another {type(value).__name__} than the one that was "
        f"recorded{_what_differs(unfixed(old), unfixed(value))}"
    )


def _what_differs(old: Any, value: Any) -> str:
    """Describe the first attribute whose ``repr`` differs, ignoring addresses.

    If there is none, describe the first part that differs by identity only, and how to pass it.
    """
    unlike = list(_unlike_parts(old, value, "", _MAX_DEPTH))
    for where, one, other in unlike:
        if _without_address(one) != _without_address(other):
            return f": {where} is {_describe_static(other)} and was {_describe_static(one)}"
    where, _, other = next(iter(unlike), ("", old, value))
    part = f"{where} is a {type(other).__name__}, and two of these" if where else "two of these"
    return (
        f": {part} are the same only where they are one object. Pass the same object again, or "
        "static_argnames with a class that has __eq__ and __hash__"
    )


def _without_address(value: Any) -> str:
    # The address in a ``repr`` differs between equal objects and tells users nothing.
    return re.sub(r"\b0x[0-9a-fA-F]+", "", _describe_static(value))


def _unlike_parts(old: Any, value: Any, where: str, depth: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield ``(path, old, new)`` for the attributes and items that are not equal, innermost first.

    An attribute that one object lacks is None there. Parts are entered down to `depth` levels.
    """
    if same_static(old, value):
        return
    parts = items_of(value) if _has_parts(value) and depth else []
    if type(old) is type(value) and parts:
        before = dict(items_of(old))
        inside = (
            _unlike_parts(before[key], part, where + _step(value, key), depth - 1)
            for key, part in parts
            if key in before
        )
        yield from itertools.chain.from_iterable(inside)
        extra = [key for key, _ in parts if key not in before] + [
            key for key in before if key not in dict(parts)
        ]
        yield from ((where + _step(value, key), before.get(key), dict(parts).get(key)) for key in extra)
    elif where:
        yield where, old, value


def _has_parts(value: Any) -> bool:
    return not (isinstance(value, type) or callable(value) or _is_own_array(value)) and bool(items_of(value))


def _step(value: Any, key: Any) -> str:
    return (
        f"[{key!r}]"
        if isinstance(value, (tuple, list, Mapping)) and not isinstance(key, Setting)
        else f".{key}"
    )


def argument_path(path: Path) -> str:
    """Name the argument, or the part of one, at ``path``.

    The path begins with 0 and a position, with 1 and a keyword, or with ``OUTSIDE`` and the name of
    outside state. Just ``(0,)`` or ``(1,)`` are all positional or all keyword arguments.
    """
    if len(path) < 2:
        return f"what is given by {'keyword' if path == (1,) else 'position'}"
    return f"{'' if path[0] == OUTSIDE else 'argument '}{path[1]}{''.join(f'[{key!r}]' for key in path[2:])}"


def _keys(cls: type, keys: tuple[Any, ...]) -> str:
    return f"{cls.__name__}({', '.join(map(str, keys))})"


def _describe(value: Any, is_array: IsArray) -> str:
    if not isinstance(value, type) and is_array(value):
        return "an array"
    return (
        _keys(type(value), tuple(key for key, _ in items_of(value)))
        if _has_parts(value)
        else _describe_static(value)
    )


def _describe_static(value: Any) -> str:
    if _is_own_array(value):
        return f"a {type(value).__name__} (a class of arrays of its own; pass np.asarray of it)"
    return repr(unfixed(value))


def _is_own_array(value: Any) -> bool:
    return any(base.__name__ == "ndarray" for base in type(value).__mro__)


def _describe_tree(tree: Tree) -> str:
    if isinstance(tree, TypedLeaf):
        return f"{'an' if tree.type is int else 'a'} {tree.type.__name__}"
    if isinstance(tree, Static):
        return _describe_static(tree.value)
    return "an array" if isinstance(tree, Leaf) else _keys(tree.type, tree.keys)


def plural_s(count: int) -> str:
    return "" if count == 1 else "s"
