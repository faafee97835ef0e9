"""Blocks, the straight-line code that passes see, and regions, the blocks that belong to a node."""

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
    """Straight-line code: ``outputs`` (values, sizes or numbers) computed from ``inputs`` by ``nodes`` in program order."""

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Any, ...]
    _makers: Makers = field(default_factory=Makers, init=False, repr=False, compare=False)

    def maker(self, value: Value) -> Node | None:
        """The node that makes a value; None for an input of the block, and what is not in it."""
        return self._makers.of(value, self.nodes)


@dataclass(frozen=True, slots=True)
class Region:
    """A block that belongs to a node: the body of a loop, a condition, a branch. ``name`` is the name of its function in generated code.

    A region is isolated from above, as regions of MLIR with ``IsolatedFromAbove`` and jaxprs are: it reads nothing but the inputs of its
    block. What it captures from outside are operands of the node like others. ``sizes`` gives, for a symbol that is read from an input of
    the block, the same size outside (a ``Size`` or an int).
    """

    name: str
    block: Block
    sizes: Mapping[Symbol, Any]

    def outward(self, size: Any) -> Any:
        """A size of the region in the sizes outside. A symbol that only the region knows stays in it."""
        return substitute(size, lambda symbol: self.sizes.get(symbol, Size.of(symbol)))

    def specs_outside(self) -> tuple[ArraySpec, ...]:
        """The specs of the outputs of the block, with sizes of the outside. Numbers and sizes among the outputs have none."""
        return tuple(ArraySpec(tuple(map(self.outward, item.shape)), item.dtype) for item in self.block.outputs if isinstance(item, Value))
