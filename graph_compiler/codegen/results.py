"""The text of what a generated function returns: the tree of the original's result, with its own classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..ir.graph import Graph
from ..naming import Namespace
from ..trees import Branch, Leaf, Static, Tree, is_called_with_items, is_namedtuple

_SPELLED = (bool, int, float, complex, str, bytes, type(None))


@dataclasses.dataclass
class ResultText:
    """The expression, the imports it needs, and objects it names that no text can spell."""

    text: str = ""
    imports: list[str] = dataclasses.field(default_factory=list)
    globals: dict[str, Any] = dataclasses.field(default_factory=dict)


def result_text(graph: Graph, literal: Callable[[Any], Any], names: Namespace) -> ResultText:
    """How ``graph`` returns its outputs."""
    result = ResultText()
    result.text = _Results(result, names, (repr(literal(leaf)) for leaf in graph.outputs)).text(graph.output_tree)
    return result


class _Results:
    def __init__(self, result: ResultText, names: Namespace, leaves: Iterator[str]) -> None:
        self.result, self.names, self.leaves = result, names, leaves
        self.classes: dict[type, str] = {}

    def text(self, tree: Tree) -> str:
        if isinstance(tree, Leaf):
            return next(self.leaves)
        if isinstance(tree, Static):
            return self._static(tree.value)
        children = [self.text(child) for child in tree.children]
        return self._branch(tree, children)

    def _static(self, value: Any) -> str:
        if type(value) in _SPELLED and value == value and abs(hash(value)) != 314159:
            return repr(value)
        if type(value) in (tuple, list) and all(type(item) in _SPELLED for item in value):
            return repr(value)
        name = self.names.lasting(f"{type(value).__name__.lower()}_value")
        self.result.globals[name] = value
        return name

    def _branch(self, tree: Branch, children: list[str]) -> str:
        cls: Any = tree.type
        if cls is tuple:
            return f"({', '.join(children)}{',' if len(children) == 1 else ''})"
        if cls is list:
            return f"[{', '.join(children)}]"
        if cls is dict:
            return "{" + ", ".join(f"{self._static(key)}: {child}" for key, child in zip(tree.keys, children)) + "}"
        name = self._class(cls)
        if issubclass(cls, (tuple, list)) and is_called_with_items(cls):
            return f"{name}({', '.join(children)})" if is_namedtuple(cls) else f"{name}([{', '.join(children)}])"
        if issubclass(cls, Mapping) and dataclasses.is_dataclass(cls):
            return f"{name}({', '.join(f'{key}={child}' for key, child in zip(tree.keys, children))})"
        self.result.imports.append("from graph_compiler.trees import build")
        return f"build({name}, {self._static(tree.keys)}, [{', '.join(children)}])"

    def _class(self, cls: type) -> str:
        if cls not in self.classes:
            self.classes[cls] = self.names.lasting(cls.__name__)
            if _importable(cls):
                alias = "" if self.classes[cls] == cls.__name__ else f" as {self.classes[cls]}"
                self.result.imports.append(f"from {cls.__module__} import {cls.__name__}{alias}")
            else:
                self.result.globals[self.classes[cls]] = cls
        return self.classes[cls]


def _importable(cls: type) -> bool:
    import sys

    module = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and getattr(module, cls.__name__, None) is cls
