"""Sizes that torch wants where a target would compute with others too: a window that fits, an element for a maximum, three for a cross product.

They are told by the canonical operations that a call becomes; each demand is ``(size, least)``, or ``(size, exactly)`` for :data:`EXACT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ....ir.graph import Node
from ....sizes import Size, Symbol, apply, hint_of
from .table import TorchBuilder

Demands = Iterator[tuple[Any, int]]


def _of_pooling(node: Node) -> Demands:
    """Windows fit, and nothing but the batch is empty."""
    x, kernel, params = node.inputs[0], node.params["kernel"], node.params
    rank = len(kernel)
    dilation, ceil_mode = params.get("dilation", (1,) * rank), params.get("ceil_mode")
    for size, width, stride, pads, step in zip(x.shape[-rank:], kernel, params["strides"], params["padding"], dilation):
        yield size, _least(width, pads, step) - (stride - 1 if ceil_mode else 0)
    yield x.shape[-rank - 1], 1


def _of_convolution(node: Node) -> Demands:
    x, weight, params = node.inputs[0], node.inputs[1], node.params
    for size, width, pads, step in zip(x.shape[2:], weight.shape[2:], params["padding"], params["dilation"]):
        yield size, _least(width, pads, step)


def _least(width: Any, pads: tuple[Any, Any], step: Any) -> Any:
    """The smallest axis that a window fits into."""
    return step * (width - 1) + 1 - pads[0] - pads[1]


def _of_extremum(node: Node) -> Demands:
    """There is a largest element only of at least one."""
    x, axis = node.inputs[0], node.params.get("axis")
    for place in range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis:
        yield x.shape[place], 1


def _of_cross(node: Node) -> Demands:
    for x in node.inputs:
        yield x.shape[node.params["axis"]], 3


EXACT = frozenset({"cross"})
DEMANDS: dict[str, Callable[[Node], Demands]] = {
    **dict.fromkeys(("max_pool", "max_pool_with_indices", "avg_pool"), _of_pooling),
    "conv": _of_convolution,
    **dict.fromkeys(("max", "min", "argmax", "argmin"), _of_extremum),
    "cross": _of_cross,
}


def assume_demands(b: TorchBuilder, made: Iterable[Node]) -> None:
    """Guards on the sizes of the operations ``made`` of one call."""
    for node in made:
        for size, number in DEMANDS.get(node.op, _nothing)(node):
            _assume(b, size, number, node.op in EXACT)


def _assume(b: TorchBuilder, size: Any, number: Any, exactly: bool) -> None:
    if exactly:
        b.guard(apply("eq", size, number))
    elif isinstance(number, int) and number > 1 or _is_given(size):
        least = number if not isinstance(number, int) else max(number, 1)
        if hint_of(size) >= hint_of(least):
            b.guard(apply("ge", size, least))


def _is_given(size: Any) -> bool:
    """The size of an array as it comes in: of computed ones, what an empty array becomes is not worth a guard."""
    return isinstance(size, Size) and [type(atom) for atom in size.atoms()] == [Symbol]


def _nothing(node: Node) -> Demands:
    return iter(())
