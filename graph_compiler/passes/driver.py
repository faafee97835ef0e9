"""Passes and how they run: on blocks and the blocks of regions, in sequence, with optional verification."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal, TypeVar

from ..ir.graph import Graph
from ..ir.node import Block, Node, Region, every
from ..ir.verifier import verify

_VERIFY = bool(os.environ.get("GRAPH_COMPILER_VERIFY"))
_REGIONS, _OP = attrgetter("regions"), attrgetter("op")
GraphPass = Callable[[Graph], "tuple[Graph, bool]"]
"""Function from a graph to ``(graph, changed)`` that does not modify its argument."""
Decorated = TypeVar("Decorated", bound=Callable[..., "tuple[Graph, bool]"])


@dataclass(frozen=True, slots=True)
class Pass:
    """Pass made of a function from block to block. Calling it with a graph returns ``(graph, changed)``.

    Attributes:
        name: Name for messages.
        run: Function from a block to a block with the same inputs and as many outputs; it returns the block
            itself if nothing changes.
        depth: ``"deep"`` runs on the blocks of regions as well, innermost first. ``"top"`` runs on the
            outermost block only.
        looks_for: Names of operations. A block is skipped unless one of its own nodes has one of them. None
            skips no block.
    """

    name: str
    run: Callable[[Block], Block]
    depth: Literal["deep", "top"] = "top"
    looks_for: Container[str] | None = None

    def __call__(self, graph: Graph) -> tuple[Graph, bool]:
        block = graph.block
        made = self.on(block)
        return (graph, False) if made is block else (graph.with_block(made), True)

    def on(self, block: Block) -> Block:
        return self.alone(_RegionPass(self).block(block) if self.depth == "deep" else block)

    def alone(self, block: Block) -> Block:
        if self.looks_for is not None and not any(map(self.looks_for.__contains__, map(_OP, block.nodes))):
            return block
        return self.run(block)


@dataclass(slots=True)
class _RegionPass:
    """Run of a pass on the regions of nodes, innermost first.

    done: rewritten regions by the ``id`` of the original.
    """

    of: Pass
    done: dict[int, Region] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        if not any(map(_REGIONS, block.nodes)):
            return block
        nodes = tuple(self._node(node) for node in block.nodes)
        return block if nodes == block.nodes else Block(block.inputs, nodes, block.outputs)

    def _node(self, node: Node) -> Node:
        regions = tuple(map(self._region, node.regions))
        return (
            node
            if all(new is old for new, old in zip(regions, node.regions))
            else replace(node, regions=regions)
        )

    def _region(self, region: Region) -> Region:
        # Calls of one function share its region, which must stay shared: the writer emits one function for
        # it.
        if id(region) not in self.done:
            made = self.of.alone(self.block(region.block))
            self.done[id(region)] = region if made is region.block else replace(region, block=made)
        return self.done[id(region)]


def only_with(*ops: str, guards: bool = False) -> Callable[[Decorated], Decorated]:
    """Return a decorator that sets attributes of a pass, so that :func:`run_passes` skips it on some graphs.

    With ``ops``, it is skipped if neither the graph nor its regions contain any of these operations; with
    ``guards``, if the graph has no guards.
    """

    def mark(run: Decorated) -> Decorated:
        run.looks_for, run.looks_at_guards = frozenset(ops) or None, guards  # type: ignore[attr-defined]
        return run

    return mark


def run_passes(graph: Graph, *passes: GraphPass) -> Graph:
    """Return the graph after running ``passes`` in order.

    A pass that would change nothing may be skipped. The environment variable GRAPH_COMPILER_VERIFY, which is
    read at import, turns on the verifier between passes.
    """
    graph = verify(graph) if _VERIFY else graph
    settled: list[GraphPass] = []
    ops = set(map(_OP, every(graph.nodes)))
    for each in passes:
        # The mark of `only_with` is on the function of a partial, not on the partial.
        run = getattr(each, "func", each)
        looks_for = getattr(run, "looks_for", None)
        is_idle = (
            getattr(run, "looks_at_guards", False)
            and not graph.guards
            or looks_for is not None
            and not any(map(looks_for.__contains__, ops))
        )
        # A pass that ran since the last change would find the same graph again.
        if not is_idle and each not in settled:
            graph, changed = each(graph)
            settled = [] if changed else [*settled, each]
            ops = set(map(_OP, every(graph.nodes))) if changed else ops
            graph = verify(graph) if _VERIFY else graph
    return graph


def nodes_of(block: Block) -> Iterator[Node]:
    for node in block.nodes:
        for region in node.regions:
            yield from nodes_of(region.block)
        yield node
