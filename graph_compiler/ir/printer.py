"""Graphs as text, one line per node.

Several values may have the same name; each is printed with a unique one within its block. Names inside of
a region are independent of those outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..sizes import Size, Symbol
from ..trees import map_structure
from .graph import Graph
from .node import Node, Value


def to_text(graph: Graph, around: Node | None = None, lines: int = 10) -> str:
    """Return the graph as text. With `around`, only that node, marked by ``->``, and `lines` lines before and
    after it.
    """
    names = _Names()
    head = f"graph {graph.name} ({graph.dialect}): {', '.join(map(names.declared, graph.inputs))}"
    body = [("->" if around is not None and node is around else "  ", depth, text) for node, depth, text in _lines(names, graph.nodes, 0)]
    if around is not None:
        middle = next((place for place, line in enumerate(body) if line[0] == "->"), 0)
        body = body[max(0, middle - lines) : middle + lines + 1]
    written = [f"{mark} {'    ' * depth}{text}" for mark, depth, text in body]
    return "\n".join([head, *written, f"   return {names.text(tuple(graph.outputs))}"])


def _lines(names: _Names, nodes: Iterable[Node], depth: int) -> Iterator[tuple[Node | None, int, str]]:
    for node in nodes:
        line = f"  # {node.origin.file.replace(chr(92), '/').rpartition('/')[2]}:{node.origin.line}" if node.origin.file else ""
        yield node, depth, f"{names.node(node)}{line}"
        for region in node.regions:
            inner = _Names()
            yield None, depth + 1, f"{region.name}({', '.join(map(inner.declared, region.block.inputs))}):"
            yield from _lines(inner, region.block.nodes, depth + 2)
            yield None, depth + 2, f"return {inner.text(tuple(region.block.outputs))}"


@dataclass(slots=True)
class _Names:
    """Unique names for the values of one block."""

    of: dict[Value, str] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)

    def name(self, value: Value) -> str:
        """Return the name of `value`, with a number appended if another value has the name."""
        if value not in self.of:
            name = value.name
            while name in self.taken:
                self.taken[value.name] += 1
                name = f"{value.name}_{self.taken[value.name]}"
            self.of[value] = name
            self.taken[name] = 0
        return self.of[value]

    def declared(self, value: Value) -> str:
        """Return name, dtype and sizes of `value`."""
        name = self.name(value)  # before its sizes, which may be its own
        return f"%{name}: {value.dtype}[{', '.join(str(self._part(dim)) for dim in value.shape)}]"

    def node(self, node: Node) -> str:
        """Return the text of a node: outputs with their specs, operation, inputs and params."""
        arguments = [self.text(item) for item in node.inputs] + [f"{key}={self.text(item)}" for key, item in node.params.items()]
        outputs = ", ".join(map(self.declared, node.outputs)) or "-"
        return f"{outputs} = {node.op}({', '.join(arguments)})"

    def text(self, item: Any) -> str:
        """Return the text of nested arguments."""
        return repr(map_structure(self._part, item))

    def _part(self, part: Any) -> Any:
        if isinstance(part, Value):
            return _Bare(f"%{self.name(part)}")
        return _Bare(part.text(self._symbol)) if isinstance(part, Size) else part

    def _symbol(self, symbol: Symbol) -> str:
        source = self.name(symbol.source) if isinstance(symbol.source, Value) else symbol.source
        return repr(symbol.of(source))


class _Bare(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
