"""Trees as JSON. Classes are written by name and looked up among those known already: reading a file imports no module of its choice."""

from __future__ import annotations

import collections
import dataclasses
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidFile
from ..registration import trait
from ..trees import Branch, Fixed, Leaf, Setting, Static, Tree, TypedLeaf, stand_in

_PLAIN: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": collections.OrderedDict}
_NUMBERS: dict[str, type] = {"int": int, "float": float}
Known = Callable[[str, str], "type | None"]
log = logging.getLogger("graph_compiler")


def tree_to_json(tree: Tree, item: Callable[[Any], Any]) -> Any:
    """A tree; ``item`` writes keys and static values."""
    if isinstance(tree, Leaf):
        return {"number": tree.type.__name__} if isinstance(tree, TypedLeaf) and tree.type in _NUMBERS.values() else "*"
    if isinstance(tree, Static):
        fixed = isinstance(tree.value, Fixed)
        return {"fixed" if fixed else "static": item(tree.value.value if fixed else tree.value)}
    items = [(key, child) for key, child in zip(tree.keys, tree.children) if not isinstance(key, Setting)]  # a setting may be code
    children = [tree_to_json(child, item) for _, child in items]
    cls = tree.type
    name = cls.__name__ if _PLAIN.get(cls.__name__) is cls else f"{cls.__module__}:{cls.__qualname__}"
    return {"class": name, "form": _form(cls), "keys": [item(key) for key, _ in items], "children": children}


def _form(cls: type) -> str:
    if issubclass(cls, tuple):
        return "namedtuple" if hasattr(cls, "_fields") or hasattr(cls, "n_sequence_fields") else "tuple"
    return "list" if issubclass(cls, (list, collections.deque)) else "dict"


def tree_from_json(data: Any, item: Callable[[Any], Any], known: Known | None = None) -> Tree:
    """The tree that was written; ``known`` finds a class by its module and name."""
    if data == "*":
        return Leaf()
    if not isinstance(data, dict):
        raise InvalidFile("a tree is not of the right form")
    if "number" in data:
        cls = _NUMBERS.get(data["number"]) if isinstance(data["number"], str) else None
        if cls is None:
            raise InvalidFile(f"{data['number']!r:.80} is no class of numbers")
        return TypedLeaf(cls)
    if "static" in data:
        return Static(item(data["static"]))
    if "fixed" in data:
        return Static(Fixed(item(data["fixed"])))
    keys = tuple(map(item, data["keys"]))
    children = tuple(tree_from_json(child, item, known) for child in data["children"])
    if len(keys) != len(children):
        raise InvalidFile("a tree has other keys than children")
    return Branch(_class(data["class"], data["form"], keys, known or _known), keys, children)


def _class(name: Any, form: Any, keys: tuple[Any, ...], known: Known) -> type:
    if not isinstance(name, str):
        raise InvalidFile(f"{name!r} is no class")
    if name in _PLAIN:
        return _PLAIN[name]
    module, _, qualified = name.partition(":")
    found = known(module, qualified)
    if found is not None:
        return found
    log.warning("the file returns a %s, which is not known here; a plain %s is used in its place", name, form)
    if form == "namedtuple":
        return _namedtuple(qualified, keys)
    return {"tuple": tuple, "list": list}.get(form, dict)


def _namedtuple(name: str, keys: tuple[Any, ...]) -> type:
    try:
        return stand_in(name.rpartition(".")[2], [str(key) for key in keys])
    except ValueError:
        return tuple


def _known(module: str, name: str) -> type | None:
    """A container class of a library that a frontend trusts (``Traits.results``), which is imported already."""
    if not module.startswith(trait("results")):
        return None
    found = getattr(sys.modules.get(module), name, None)
    if not isinstance(found, type) or found.__module__ != module:
        return None
    holds = issubclass(found, tuple) or (issubclass(found, Mapping) and dataclasses.is_dataclass(found))
    return found if holds else None
