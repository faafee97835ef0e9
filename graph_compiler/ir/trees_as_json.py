"""Trees as JSON. Classes are written by name and looked up among imported modules: a file cannot cause an
import of its choice.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import importlib
import logging
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidFile
from ..registration import trait
from ..trees import Branch, Fixed, Leaf, Setting, Static, Tree, TypedLeaf, stand_in

_PLAIN: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": collections.OrderedDict}
_NUMBERS: dict[str, type] = {"int": int, "float": float}
log = logging.getLogger("graph_compiler")


def tree_to_json(tree: Tree, item: Callable[[Any], Any]) -> Any:
    """Return the JSON form of a tree. `item` writes keys and static values."""
    if isinstance(tree, Leaf):
        return {"number": tree.type.__name__} if isinstance(tree, TypedLeaf) and tree.type in _NUMBERS.values() else "*"
    if isinstance(tree, Static):
        fixed = isinstance(tree.value, Fixed)
        value = tree.value.value if fixed else tree.value
        return {"of_class": _name_of(value)} if isinstance(value, type) and not fixed else {"fixed" if fixed else "static": item(value)}
    items = [(key, child) for key, child in zip(tree.keys, tree.children) if not isinstance(key, Setting)]  # a setting may be code
    children = [tree_to_json(child, item) for _, child in items]
    cls = tree.type
    return {"class": _name_of(cls), "form": _form(cls), "keys": [item(key) for key, _ in items], "children": children}


def _name_of(cls: type) -> str:
    return cls.__name__ if _PLAIN.get(cls.__name__) is cls else f"{cls.__module__}:{cls.__qualname__}"


def _form(cls: type) -> str:
    if issubclass(cls, tuple):
        return "namedtuple" if hasattr(cls, "_fields") or hasattr(cls, "n_sequence_fields") else "tuple"
    return "list" if issubclass(cls, (list, collections.deque)) else "dict"


def tree_from_json(data: Any, item: Callable[[Any], Any], known: KnownClasses) -> Tree:
    """Return the tree for its JSON form. `known` returns the class for a module and name."""
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
    if "of_class" in data:
        return Static(_named_class(data["of_class"], known))
    if "fixed" in data:
        return Static(Fixed(item(data["fixed"])))
    keys = tuple(map(item, data["keys"]))
    children = tuple(tree_from_json(child, item, known) for child in data["children"])
    if len(keys) != len(children):
        raise InvalidFile("a tree has other keys than children")
    return Branch(_class(data["class"], data["form"], keys, known), keys, children)


def _class(name: Any, form: Any, keys: tuple[Any, ...], known: KnownClasses) -> type:
    if not isinstance(name, str):
        raise InvalidFile(f"{name!r} is no class")
    if name in _PLAIN:
        return _PLAIN[name]
    module, _, qualified = name.partition(":")
    found = known(module, qualified)
    if found is not None:
        return found
    known.note_unknown(module, qualified, form)
    if form == "namedtuple":
        return _namedtuple(qualified, keys)
    return {"tuple": tuple, "list": list}.get(form, dict)


def _named_class(name: Any, known: KnownClasses) -> type:
    """Return a class that is itself a static value. Raise `InvalidFile` if it is unknown, since nothing can
    replace it.
    """
    module, _, qualified = name.partition(":") if isinstance(name, str) else ("", "", "")
    found = _PLAIN.get(module) if not qualified else known(module, qualified)
    if found is None:
        raise InvalidFile(f"the class {qualified or name} of {module}, which is not known here; import its module before")
    return found


def _namedtuple(name: str, keys: tuple[Any, ...]) -> type:
    try:
        return stand_in(name.rpartition(".")[2], [str(key) for key in keys])
    except ValueError:
        return tuple


class KnownClasses:
    """Lookup of classes that a file may name.

    Only libraries that a frontend trusts (`Traits.results`) are imported because a file names them.
    Objects are created without running their code, so classes of the standard library with finalizers, and
    classes that are no containers, are rejected.
    """

    def __init__(self, given: Mapping[tuple[str, str], type] | None = None) -> None:
        """Create a lookup among `given`, or among imported modules if it is None."""
        self._given = given
        self._unknown: set[tuple[str, str]] = set()

    def __call__(self, module: str, name: str) -> type | None:
        """Return the class with this module and qualified name, or None if it is unknown or must not be
        created.
        """
        if self._given is not None:
            return self._given.get((module, name))
        is_trusted = module.startswith(trait("results"))
        found: Any = _imported(module) if is_trusted else sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, type) or (found.__module__, found.__qualname__) != (module, name):
            return None
        is_pythons = module.partition(".")[0] in sys.stdlib_module_names
        is_plain = issubclass(found, tuple) or (issubclass(found, Mapping) and dataclasses.is_dataclass(found))
        takes = (is_plain or is_trusted or not is_pythons) and not hasattr(found, "__del__") and not issubclass(found, _NEVER)
        return found if takes else None

    def note_unknown(self, module: str, name: str, form: Any) -> None:
        """Log a warning, once per class, that a plain container replaces it."""
        if (module, name) not in self._unknown:
            self._unknown.add((module, name))
            log.warning(
                "the file holds a %s, which is not known here; a plain %s is used in its place. Import %s before, where it has the "
                "class under this name",
                name, form, module,
            )  # fmt: skip


# What a container or an object with attributes is not.
_NEVER = (type, BaseException, types.ModuleType, enum.Enum)


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
