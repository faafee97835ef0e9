"""Writes through views: the array that a view was taken from, after something was written into the view.

The view is taken again with canonical operations, and these are inverted one by one; where one of them has no inverse here, the
view is taken of the positions instead of the elements, and the new elements are scattered to them. Both are right for every chain of views.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Union

from ..errors import UnsupportedOperation
from ..ir import Node, Value
from ..sizes import product
from .building import RaisingBuilder
from .indexing import without_leading_ones
from .slicing import along

Replay = Union[Callable[[Any], Any], Sequence[Callable[[Any], Any]]]


_REINTERPRETING = frozenset({"view_as_complex", "view_as_real", "complex", "real", "imag", "bitcast"})  # positions have no such views


def write_through(b: RaisingBuilder, base: Value, replay: Replay, value: Any) -> Value:
    """``base`` after ``value``, a number or an array that broadcasts, was written into a view of it.

    ``replay(array)`` takes the view of any array of the shape of ``base``; a sequence of functions takes one view of another.
    """
    view = _taken(replay, base)
    value = b.operand(value, view.dtype)
    steps = _steps(b, base, view)
    if steps is not None:
        if isinstance(value, Value) and value.shape != view.shape:
            value = b.broadcast_to(without_leading_ones(b, value, view.ndim), shape=view.shape)
        for node, index in steps:
            value = _INVERSES[node.op](b, node, index, value)
        return _whole(b, value, base)
    places = b.reshape(b.arange(start=0, stop=product(base.shape), step=1, dtype="int64"), shape=base.shape)
    before = len(b.graph.nodes)
    positions = _taken(replay, places)
    if positions.dtype != "int64" or any(node.op in _REINTERPRETING for node in b.graph.nodes[before:]):
        raise UnsupportedOperation("a write through a view that reads memory as complex numbers, or as another dtype, cannot be translated")
    if _is_conjugated(b, base, view):
        value = b.conj(_whole(b, value, view))
    flat = b.reshape(base, shape=(product(base.shape),))
    written = b.scatter_nd(flat, without_leading_ones(b, value, positions.ndim), positions, axes=(0,))
    return b.reshape(written, shape=base.shape)


def _taken(replay: Replay, array: Any) -> Any:
    return replay(array) if callable(replay) else reduce(lambda viewed, step: step(viewed), replay, array)


def _whole(b: RaisingBuilder, value: Any, base: Value) -> Value:
    if isinstance(value, Value):
        return b.broadcast_to(value, shape=base.shape)
    return b.full(shape=base.shape, fill_value=value, dtype=base.dtype)


def _steps(b: RaisingBuilder, base: Value, view: Value) -> list[tuple[Node, int]] | None:
    """The nodes from ``view`` back to ``base``, with the index of the output that was taken, if every one has an inverse."""
    steps = []
    while view is not base:
        node = b.maker(view)
        if node is None or node.op not in _INVERSES or (node.op in _LOOKED_UP and any(place.ndim for place in node.inputs[1:])):
            return None
        steps.append((node, node.outputs.index(view)))
        view = node.inputs[0]
    return steps


def _is_conjugated(b: RaisingBuilder, base: Value, view: Value) -> bool:
    """Whether the view holds the conjugates of elements, which positions do not tell."""
    odd = False
    while view is not base and (node := b.maker(view)) is not None:
        odd ^= node.op == "conj"
        view = node.inputs[0]
    return odd


# ---------------------------------------------------------------------------------------------- one step back
def _permute(b: RaisingBuilder, node: Node, index: int, value: Any) -> Any:
    axes = node.params["axes"]
    return b.permute_dims(value, axes=tuple(map(axes.index, range(len(axes))))) if isinstance(value, Value) else value


def _split(b: RaisingBuilder, node: Node, index: int, value: Any) -> Any:
    sizes, axis = node.params["sizes"], node.params["axis"]
    start = sum(sizes[:index])
    stop = None if index == len(sizes) - 1 else start + sizes[index]
    return b.setitem(node.inputs[0], value, key=along(axis, (start if index else None, stop, 1)))


def _bitcast(b: RaisingBuilder, node: Node, index: int, value: Any) -> Any:
    same = value if isinstance(value, Value) else b.full(shape=node.outputs[0].shape, fill_value=value, dtype=node.outputs[0].dtype)
    return b.bitcast(same, dtype=node.inputs[0].dtype)


def _real(b: RaisingBuilder, node: Node, index: int, value: Any) -> Any:
    base = node.inputs[0]
    return b.complex(_spread(b, value, node), b.imag(base))


def _imag(b: RaisingBuilder, node: Node, index: int, value: Any) -> Any:
    base = node.inputs[0]
    return b.complex(b.real(base), _spread(b, value, node))


def _spread(b: RaisingBuilder, value: Any, node: Node) -> Any:
    made = node.outputs[0]
    return value if isinstance(value, Value) else b.full(shape=made.shape, fill_value=value, dtype=made.dtype)


def _looked_up(b: RaisingBuilder, node: Node, index: int, value: Any) -> Any:
    """A view at computed places of some axes, one of each."""
    axes = node.params["axes"] if node.op == "gather_nd" else (node.params["axis"],)
    return b.scatter_nd(node.inputs[0], value, *node.inputs[1:], axes=axes)


_LOOKED_UP = frozenset({"take", "gather_nd"})  # by whole arrays of places they are no views
_INVERSES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_LOOKED_UP, _looked_up),
    "reshape": lambda b, node, index, value: b.reshape(value, shape=node.inputs[0].shape) if isinstance(value, Value) else value,
    "permute_dims": _permute,
    "getitem": lambda b, node, index, value: b.setitem(node.inputs[0], value, key=node.params["key"]),
    "unstack": lambda b, node, index, value: b.setitem(node.inputs[0], value, key=along(node.params["axis"], index)),
    "split": _split,
    "bitcast": _bitcast,
    "flip": lambda b, node, index, value: b.flip(value, axis=node.params["axis"]) if isinstance(value, Value) else value,
    "conj": lambda b, node, index, value: b.conj(_spread(b, value, node)),
    "stop_gradient": lambda b, node, index, value: value,  # the same elements
    "real": _real,
    "imag": _imag,
}
