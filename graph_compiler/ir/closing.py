"""Closure conversion: nodes that read values of the enclosing scope become a region, and those values become
operands.

A body is built with the enclosing scope visible: its nodes refer to outer values, and its shapes use outer
symbols, so sizes compare as they do outside. :func:`close` then gives each input and each captured value a
counterpart inside the region.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidGraph
from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, substitute
from ..trees import iterate_structure
from .block import Block, Region
from .copying import copied
from .node import Node, Value


@dataclass(frozen=True, slots=True)
class Body:
    """Block whose nodes may still read values and sizes of the enclosing scope.

    name: name of the function that is generated for it.
    """

    name: str
    inputs: Sequence[Value]
    nodes: Sequence[Node]
    outputs: Sequence[Any]


def close(*bodies: Body) -> tuple[tuple[Region, ...], tuple[Value, ...]]:
    """Return the regions of one node, and the outer values that they capture.

    The captured values become operands of the node, and inputs of each region after its own ones. All
    regions of a node capture the same values, so one list of operands serves them all.

    >>> from graph_compiler.ir import Builder, Graph
    >>> build = Builder(Graph("f", "canonical"))
    >>> x = build.input("x", ArraySpec((3,), "float32"))
    >>> body = build.body("body", [Value("carried", x.spec)], lambda carried: (build.add(carried, x),))
    >>> (region,), captured = close(body)
    >>> region.block.inputs, captured == (x,), region.sizes
    ((%carried: float32[carried.shape[0]], %x: float32[carried.shape[0]]), True, {carried.shape[0]: x.shape[0]})
    """
    captured = tuple(dict.fromkeys(value for body in bodies for value in _captured(body)))
    return tuple(_Closing(body, captured).region() for body in bodies), captured


def _captured(body: Body) -> Iterable[Value]:
    """Yield the outer values that the nodes read, then the sources of sizes that no input and no captured
    value has.
    """
    made = {*body.inputs, *(value for node in body.nodes for value in node.outputs)}
    read = [(node.inputs, node.params, [list(region.sizes.values()) for region in node.regions]) for node in body.nodes]
    items = list(iterate_structure((read, list(body.outputs), [value.shape for node in body.nodes for value in node.outputs])))
    values = dict.fromkeys(item for item in items if isinstance(item, Value) and item not in made)
    known = {dim for value in (*body.inputs, *values) for dim in value.shape if isinstance(dim, Size)}
    yield from values
    for item in items:
        if isinstance(item, Size) and item not in known:
            yield from (s.source for s in item.symbols() if s.source not in made and Size.of(s) not in known)


@dataclass(slots=True)
class _Closing:
    """Conversion of one body.

    own: region value for each value of the enclosing scope and of the body.
    inner: size inside the region for each size outside.
    sizes: `Region.sizes` of the result.
    """

    body: Body
    captured: tuple[Value, ...]
    own: dict[Value, Value] = field(default_factory=dict)
    inner: dict[Any, Size] = field(default_factory=dict)  # size outside -> the size inside
    sizes: dict[Symbol, Any] = field(default_factory=dict)

    def region(self) -> Region:
        inputs = tuple(map(self._input, (*self.body.inputs, *self.captured)))
        nodes = tuple(copied(node, self.own, self._mapped) for node in self.body.nodes)
        return Region(self.body.name, Block(inputs, nodes, tuple(map(self._mapped, self.body.outputs))), self.sizes)

    def _input(self, value: Value) -> Value:
        made = self.own[value] = Value(value.name, value.spec)
        made.spec = ArraySpec(tuple(self._input_size(made, axis, dim) for axis, dim in enumerate(value.shape)), value.dtype)
        return made

    def _input_size(self, made: Value, axis: int, dim: Any) -> Any:
        """Return the size inside the region for `dim`. Equal sizes share the symbol of the first input that
        has them.

        A size read from an input of the body itself has no counterpart outside.
        """
        if not isinstance(dim, Size):
            return dim
        if dim not in self.inner:
            symbol = Symbol(made, axis, dim.hint)
            self.inner[dim] = Size.of(symbol)
            if not any(source.source in self.body.inputs for source in dim.symbols()):
                self.sizes[symbol] = dim
        return self.inner[dim]

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.own[item]
        if not isinstance(item, Size):
            return item
        known = self.inner.get(item)
        return substitute(item, self._symbol) if known is None else known

    def _symbol(self, symbol: Symbol) -> Size:
        if (known := self.inner.get(Size.of(symbol))) is not None:
            return known
        if symbol.source not in self.own:
            raise InvalidGraph(f"{symbol!r} is read in {self.body.name}, and nothing that it captures has it")
        made = symbol.of(self.own[symbol.source])
        if symbol.source in self.captured:  # a size of an input that nothing outside has is the region's own
            self.sizes[made] = Size.of(symbol)
        return self.inner.setdefault(Size.of(symbol), Size.of(made))
