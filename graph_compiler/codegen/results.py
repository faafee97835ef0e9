"""Text of the expression that a generated function returns: the containers of the original result.

The main entry is ``result_text``.
"""

from __future__ import annotations

import cmath
import dataclasses
import enum
import pickle
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ..ir.graph import Graph
from ..naming import Namespace
from ..trees import (
    Branch,
    Leaf,
    Static,
    Tree,
    is_called_with_items,
    is_dataclass_mapping,
    is_namedtuple,
    maker_of,
    making,
)

_LITERAL_TYPES = (bool, int, float, complex, str, bytes, type(None))
# Imports of the functions that make containers.
_IMPORTS = {
    "Any": "from typing import Any",
    "MutableMapping": "from collections.abc import MutableMapping",
    "Sequence": "from collections.abc import Sequence",
    "dataclasses": "import dataclasses",
    "defaultdict": "from collections import defaultdict",
}
# Names that the source of these functions defines or imports.
MAKERS = (*_IMPORTS, *(name for name, item in vars(making).items() if isinstance(item, FunctionType)))


@dataclasses.dataclass
class ResultText:
    """Expression of a result, and the names that it needs.

    imports: import lines for the source.
    makers: functions of ``trees.making`` to copy into the source.
    globals: objects to bind, by name.
    """

    text: str = ""
    imports: list[str] = dataclasses.field(default_factory=list)
    makers: list[FunctionType] = dataclasses.field(default_factory=list)
    globals: dict[str, Any] = dataclasses.field(default_factory=dict)

    def imports_for(self, names: set[str]) -> list[str]:
        return [*(line for name, line in _IMPORTS.items() if self.makers and name in names), *self.imports]


def result_text(graph: Graph, literal: Callable[[Any], Any], names: Namespace) -> ResultText:
    """Return the expression that builds the result from the outputs of ``graph``.

    ``literal`` maps a leaf to an object whose ``repr`` is its source text.
    """
    result = ResultText()
    result.text = _Results(result, names, (repr(literal(leaf)) for leaf in graph.outputs)).text(
        graph.output_tree
    )
    return result


class _Results:
    def __init__(self, result: ResultText, names: Namespace, leaves: Iterator[str]) -> None:
        self.result, self.names, self.leaves = result, names, leaves
        self.named: dict[Any, str] = {}

    def text(self, tree: Tree) -> str:
        if isinstance(tree, Leaf):
            return next(self.leaves)
        if isinstance(tree, Static):
            return self._static(tree.value)
        children = [self.text(child) for child in tree.children]
        return self._branch(tree, children)

    def _static(self, value: Any) -> str:
        return repr(value) if _is_literal(value) else self._expression_of(value) or self._named_object(value)

    def _expression_of(self, value: Any) -> str | None:
        """Return an expression that evaluates to ``value`` or an equal object; None if none is known."""
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, enum.Enum):
            return (
                f"{self._class(type(value))}[{value.name!r}]"
                if value.name in type(value).__members__
                else None
            )
        # Objects with a hash of their own are taken to be immutable, so an equal copy can replace them.
        own_hash: Any = type(value).__hash__
        if own_hash in (None, object.__hash__):
            return self._member(value)
        try:
            make, args = value.__reduce_ex__(4)
        # RuntimeError is also the base class of NotImplementedError.
        except (AttributeError, pickle.PickleError, RuntimeError, TypeError, ValueError):
            return self._member(value)
        plain = isinstance(args, tuple) and all(map(_is_literal, args))
        if not (plain and isinstance(make, type) and _is_importable(make) and make(*args) == value):
            return self._member(value)
        return f"{self._class(make)}({', '.join(map(repr, args))})"

    def _member(self, value: Any) -> str | None:
        """Return a name for ``value`` if its ``repr`` names it in a module (``torch.float32``), else None."""
        module, _, name = repr(value).rpartition(".")
        return (
            self._imported(module, name)
            if name and getattr(sys.modules.get(module), name, None) is value
            else None
        )

    def _named_object(self, value: Any) -> str:
        name = self.names.lasting(f"{type(value).__name__.lower()}_value")
        self.result.globals[name] = value
        return name

    def _branch(self, tree: Branch, children: list[str]) -> str:
        cls: Any = tree.type
        if cls is tuple:
            return f"({', '.join(children)}{',' if len(children) == 1 else ''})"
        if cls is list:
            return f"[{', '.join(children)}]"
        # Exact classes only: the text of a literal would lose a subclass.
        if cls is dict:
            return (
                "{"
                + ", ".join(f"{self._static(key)}: {child}" for key, child in zip(tree.keys, children))
                + "}"
            )
        name = self._class(cls)
        if issubclass(cls, (tuple, list)) and is_called_with_items(cls):
            return (
                f"{name}({', '.join(children)})" if is_namedtuple(cls) else f"{name}([{', '.join(children)}])"
            )
        if is_dataclass_mapping(cls) and _is_called_by_name(tree):
            return f"{name}({', '.join(f'{key}={child}' for key, child in zip(tree.keys, children))})"
        return f"{self._maker(cls)}({name}, {self._keys(tree.keys)}, [{', '.join(children)}])"

    def _keys(self, keys: tuple[Any, ...]) -> str:
        # Names of settings are of a subclass of ``str``, which generated source does not know.
        return self._static(tuple(str(key) if isinstance(key, str) else key for key in keys))

    def _maker(self, cls: type) -> str:
        make = maker_of(cls)
        if vars(making).get(make.__name__) is make:
            assert isinstance(make, FunctionType)
            self.result.makers.append(make)
            return make.__name__
        return self._object(f"make_{cls.__name__}", make)

    def _class(self, cls: type) -> str:
        return self._object(cls.__name__, cls)

    def _object(self, name: str, item: Any) -> str:
        if _is_importable(item):
            return self._imported(item.__module__, item.__name__)
        if id(item) not in self.named:
            self.named[id(item)] = self.names.lasting(name)
            self.result.globals[self.named[id(item)]] = item
        return self.named[id(item)]

    def _imported(self, module: str, name: str) -> str:
        line = f"from {module} import {name}"
        if module == "builtins":
            return name
        if line not in self.named:
            self.named[line] = name if _IMPORTS.get(name) == line else self.names.lasting(name)
            self.result.imports.append(line if self.named[line] == name else f"{line} as {self.named[line]}")
        return self.named[line]


def _is_literal(value: Any) -> bool:
    """Return True if the ``repr`` of a value is known to evaluate to an equal value."""
    if type(value) in (tuple, list):
        return all(map(_is_literal, value))
    if type(value) is slice:
        return all(map(_is_literal, (value.start, value.stop, value.step)))
    # The texts of infinities and NaN are names.
    return type(value) in _LITERAL_TYPES and (
        not isinstance(value, (float, complex)) or cmath.isfinite(value)
    )


def _is_called_by_name(tree: Branch) -> bool:
    names = [field.name for field in dataclasses.fields(tree.type) if field.init]
    # A single item must be a leaf, because the class may unpack a container, such as the pairs of a dict.
    plain = len(tree.keys) > 1 or all(isinstance(child, Leaf) for child in tree.children)
    return plain and list(tree.keys) == [name for name in names if name in tree.keys]


def _is_importable(item: Any) -> bool:
    module = sys.modules.get(item.__module__)
    # Another process has another ``__main__``.
    return item.__module__ != "__main__" and getattr(module, getattr(item, "__name__", ""), None) is item
