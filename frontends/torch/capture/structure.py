"""Sizes as calls determine them: of results, and where the number of results or axes depends on sizes.

Then the recording holds only where it comes out the same. A row of ``STRUCTURE``: bare name -> what to assume, given the capture, the
recorded arguments and what the call made, which may be nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir.node import Node, Value
from ....sizes import Size, Symbol, apply, hint_of
from .running import Running

# bare name -> behind how many arguments the sizes of the result stand, one by one or as a tuple
_MADE = {"zeros": 0, "ones": 0, "empty": 0, "full": 0, "rand": 0, "randn": 0, "new_zeros": 1, "new_ones": 1, "new_empty": 1, "new_full": 1}


def size_of(node: Node | None, value: Value, axis: int) -> Any:
    """One size of an array: as the call ``node`` says it that made the array, so that nothing need be read or assumed, otherwise a
    symbol."""
    rank = value.ndim
    if node is not None and node.key == "unsqueeze" and node.params.get("dim", node.inputs[-1]) in (axis, axis - rank):
        return 1
    before = None if node is None else _MADE.get(node.key)
    if node is not None and before is not None:
        given = node.inputs[before:]
        sizes = given[0] if given and isinstance(given[0], (tuple, list)) else given
        if len(sizes) == rank and (type(sizes[axis]) is int or isinstance(sizes[axis], Size) and sizes[axis].type is int):
            return sizes[axis]
    return Size.of(Symbol(value, axis, value.spec.shape[axis]))


def _argument(inputs: tuple[Any, ...], params: dict[str, Any], position: int, name: str, default: Any) -> Any:
    return inputs[position] if len(inputs) > position else params.get(name, default)


def _assume(capture: Running, condition: Any) -> None:
    if isinstance(condition, Size):
        capture.decide(condition)


def _axis(capture: Running, inputs: Any, dim: Any) -> int:
    """Which axis a number means: one that was computed from sizes is decided."""
    known: int = capture.decide(dim) if isinstance(dim, Size) else dim
    return known % max(inputs[0].ndim, 1)


def _extent(capture: Running, inputs: Any, dim: Any) -> Any:
    return capture.size(inputs[0], _axis(capture, inputs, dim))


def _squeeze(capture: Running, inputs: Any, params: Any, outputs: Any) -> None:
    dim = _argument(inputs, params, 1, "dim", None)
    rank = inputs[0].ndim
    dims = range(rank) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    for axis in [_axis(capture, inputs, one) for one in dims] if rank else ():
        _assume(capture, apply("eq", capture.size(inputs[0], axis), 1))


def _unbind(capture: Running, inputs: Any, params: Any, outputs: Any) -> None:
    count = _extent(capture, inputs, _argument(inputs, params, 1, "dim", 0))
    _assume(capture, apply("eq", count, len(outputs)))


def _split(capture: Running, inputs: Any, params: Any, outputs: Any) -> None:
    size = _argument(inputs, params, 1, "split_size_or_sections", params.get("split_size", 1))
    if not isinstance(size, (tuple, list)):
        extent = _extent(capture, inputs, _argument(inputs, params, 2, "dim", 0))
        _assume(capture, apply("eq", apply("max", _pieces(extent, size), 1), len(outputs)))


def _chunk(capture: Running, inputs: Any, params: Any, outputs: Any) -> None:
    extent = _extent(capture, inputs, _argument(inputs, params, 2, "dim", 0))
    each = _pieces(extent, _argument(inputs, params, 1, "chunks", 1))
    if hint_of(each) == 0:  # of nothing torch gives as many pieces as it was asked for
        _assume(capture, apply("eq", extent, 0))
    else:
        _assume(capture, apply("eq", _pieces(extent, each), len(outputs)))


def _sum_to_size(capture: Running, inputs: Any, params: Any, outputs: Any) -> None:
    """Which axes are summed depends on all sizes."""
    for axis in range(inputs[0].ndim):
        extent = capture.size(inputs[0], axis)
        _assume(capture, apply("eq", extent, hint_of(extent)))


def _pieces(extent: Any, size: Any) -> Any:
    """In how many parts of ``size`` an axis falls; a size of 0, which other calls may have, gives another number than this one."""
    return (extent + size - 1) // apply("max", size, 1)


STRUCTURE: dict[str, Callable[[Any, Any, Any, Any], None]] = {
    "squeeze": _squeeze,
    "unbind": _unbind,
    "split": _split,
    "unsafe_split": _split,
    "chunk": _chunk,
    "unsafe_chunk": _chunk,
    "sum_to_size": _sum_to_size,
}
