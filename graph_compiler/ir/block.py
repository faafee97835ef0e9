"""Blocks of straight-line code, and regions: blocks owned by a node, such as the body of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, substitute
from .makers import Makers
from .node import Node, Value

DEEPEST = 16
"""How deep regions may stand in regions: files that nest deeper are refused."""


@dataclass(frozen=True, slots=True)
class Block:
    """Straight-line code in program order.

    inputs: values that the nodes may read.
    nodes: operations, each after those whose results it reads.
    outputs: results: values, symbolic sizes or numbers.
    """

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Any, ...]
    _makers: Makers = field(default_factory=Makers, init=False, repr=False, compare=False)

    def maker(self, value: Value) -> Node | None:
        """Return the node that produces `value`, or None if the value is an input or does not belong to the
        block.
        """
        return self._makers.of(value, self.nodes)


@dataclass(frozen=True, slots=True)
class Region:
    """Block owned by a node: the body of a loop, a condition or a branch.

    Regions are isolated from above, as jaxprs are and as MLIR's `IsolatedFromAbove` demands: a region
    reads only the inputs of its block. Values captured from the enclosing scope are operands of the node.

    name: name of the function that is generated for the region.
    sizes: for each symbol read from an input of the block, the equal size in the enclosing scope (a `Size`
        or an int).
    """

    name: str
    block: Block
    sizes: Mapping[Symbol, Any]

    def outward(self, size: Any) -> Any:
        """Return `size` expressed in symbols of the enclosing scope. Symbols that have no counterpart there
        are kept.
        """
        return substitute(size, lambda symbol: self.sizes.get(symbol, Size.of(symbol)))

    def specs_outside(self) -> tuple[ArraySpec, ...]:
        """Return the specs of the array outputs, with sizes expressed in the enclosing scope. Outputs that
        are numbers or sizes are skipped.
        """
        return tuple(ArraySpec(tuple(map(self.outward, item.shape)), item.dtype) for item in self.block.outputs if isinstance(item, Value))
