"""Drop copies that were taken for guards on elements if the original is never written to."""

from __future__ import annotations

from ...ir.aliases import Aliases
from ...ir.graph import Graph
from ...ir.node import Value
from ...ir.rewrite import Rewriter
from ...registration import trait
from ..driver import only_with


@only_with(guards=True)
def drop_snapshots(graph: Graph) -> tuple[Graph, bool]:
    """Return the graph with guards that read the original of a copy, and without these copies.

    A copy is dropped if only guards read it and nothing writes to the memory of its original. Copies that
    a frontend has marked (``record.read``) remain.
    """
    guarded = {guard.condition for guard in graph.guards if isinstance(guard.condition, Value)}
    if not guarded:
        return graph, False
    aliases = Aliases(graph)
    uses: dict[Value, int] = {}
    for node in graph.nodes:
        for value in node.uses:
            uses[value] = uses.get(value, 0) + 1
    block, copies, stops = graph.block, trait("copies"), trait("gradient_stops")
    rewriter = Rewriter(block)
    for node in graph.nodes:
        made = rewriter.rewritten(node)
        snapshot = (
            made.key in copies
            and made.outputs
            and made.outputs[0] in guarded
            and not uses.get(made.outputs[0])
        )
        # A frontend marks copies of elements that became constants, which its lifter looks for.
        is_marked = made.record is not None and made.record.read
        if snapshot and not is_marked and not aliases.is_written(made.inputs[0]):
            source = rewriter.maker(made.inputs[0])
            # A guard needs no gradient, so it reads the array that was detached before the copy.
            original = source.inputs[0] if source is not None and source.key in stops else made.inputs[0]
            rewriter.replace(made.outputs, (original,))
        else:
            rewriter.append(made)
    made_block = rewriter.finish()
    return (graph, False) if made_block is block else (graph.with_block(made_block), True)
