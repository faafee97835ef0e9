"""Helpers for reference runs in all frameworks: random inputs, and graphs that return intermediates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.graph import Graph
from ...ir.node import CallRecord, Node, Origin, Value
from ...trees import Branch, Leaf

# Smallest and largest element.
Range = tuple[float, float]


def random_array(shape: Sequence[int], dtype: str, seen: Range, seed: int) -> np.ndarray[Any, Any]:
    """Return a random array of ``shape`` for ``dtype``, whose range follows the bounds ``seen`` if they suit.

    >>> random_array((2,), "int32", (3.0, 3.0), seed=0)
    array([3, 3])
    >>> random_array((1,), "int64", (2.0**63, 2.0**63), seed=0)
    array([9223372036854775807])
    >>> random_array((2,), "bfloat16", (0.0, 9.0), seed=0).dtype
    dtype('float64')
    """
    draw, (least, greatest), shape = np.random.default_rng(seed), seen, tuple(shape)
    if dtype == "bool":
        return draw.random(shape) > 0.5
    if dtype.startswith("complex"):
        return draw.standard_normal(shape) + 1j * draw.standard_normal(shape)
    if "float" not in dtype:
        kind = np.uint64 if dtype == "uint64" else np.int64
        held = np.iinfo(kind)
        # A bound may have been rounded up to a float beyond the greatest integer.
        low, high = (min(max(int(bound), held.min), held.max) for bound in seen)
        return draw.integers(low, high, shape, kind, endpoint=True)
    # A constant says nothing about the range, and with a bound of -inf (that of a mask) all elements would be
    # NaN.
    unit = draw.random(shape)
    if least == greatest or not (abs(least) < 1e30 and abs(greatest) < 1e30):
        return unit + 0.5 if least > 0 else unit * 4 - 2
    return least + unit * (greatest - least)


def with_intermediates(
    graph: Graph,
    copy: str | None = None,
    is_array: Callable[[Node], bool] = lambda node: True,
    **changed: Any,
) -> tuple[Graph, list[Value]]:
    """Return ``graph`` with results of its nodes as outputs and without guards, and the list of the results.

    With ``copy``, the name of a call, the outputs are copies that are taken right after each node.
    """
    nodes: list[Node] = []
    made: list[Value] = []
    shown: list[Value] = []
    for node in graph.nodes:
        nodes.append(node)
        for value in node.outputs if is_array(node) else ():
            made.append(value)
            shown.append(value if copy is None else Value("seen", value.spec))
            if copy is not None:
                nodes.append(
                    Node(copy, (value,), {}, Origin(), (shown[-1],), CallRecord("clone", result=shown[-1]))
                )
    tree = Branch(tuple, tuple(range(len(shown))), (Leaf(),) * len(shown))
    return graph.derive(nodes=nodes, outputs=shown, output_tree=tree, guards=[], **changed), made
