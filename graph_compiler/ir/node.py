"""Nodes and the values that they make and use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ops.registry import ArraySpec
from ..sizes import Size
from ..trees import iterate_structure

if TYPE_CHECKING:
    from .block import Region


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a node comes from: the user's file and line, the module path, and the call that was made there."""

    file: str = ""
    line: int = 0
    module: str = ""
    call: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else "unknown place"
        return f"{self.call or 'call'} at {place}" + (f" (in {self.module})" if self.module else "")


class Value:
    """One array of a graph: an input, a parameter, a constant, or an output of a node.

    ``spec.shape`` is symbolic in canonical graphs and as seen in recorded ones. ``name`` is the wish for a
    name in generated code; it need not be unique. ``node`` is None for what no node makes.
    """

    __slots__ = ("index", "name", "node", "spec")

    def __init__(self, name: str, spec: ArraySpec, node: Node | None = None, index: int = 0) -> None:
        self.name, self.spec, self.node, self.index = name, spec, node, index

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the axes."""
        return self.spec.shape

    @property
    def dtype(self) -> str:
        """Name of the data type."""
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.spec.shape)

    def __repr__(self) -> str:
        return f"%{self.name}: {self.spec}"


class Node:
    """One operation in a graph. ``facts`` holds what a frontend noted of the call (which values it writes to, ...).

    ``regions`` are the blocks of an operation that runs blocks: the body of a loop, the branches of a ``cond``. A region reads nothing but
    its own inputs, so ``uses`` are the operands, and the sources of the sizes that its regions have in common with the outside.
    """

    __slots__ = ("facts", "inputs", "op", "origin", "outputs", "params", "regions", "uses")

    def __init__(
        self,
        op: str,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        origin: Origin,
        facts: dict[str, Any] | None = None,
        regions: tuple[Region, ...] = (),
    ) -> None:
        self.op, self.inputs, self.params, self.origin, self.regions = op, inputs, params, origin, regions
        self.facts = facts or {}
        self.outputs: tuple[Value, ...] = ()
        outside = [size for region in regions for size in region.sizes.values()]
        self.uses: tuple[Value, ...] = tuple(dict.fromkeys(values_in((inputs, params, outside))))

    def __repr__(self) -> str:
        return f"{', '.join(f'%{value.name}' for value in self.outputs)} = {self.op}"


def values_in(structure: Any) -> Iterator[Value]:
    """All values in nested arguments, those whose sizes are read included."""
    for item in iterate_structure(structure):
        if isinstance(item, Value):
            yield item
        elif isinstance(item, Size):
            yield from (symbol.source for symbol in item.symbols())
