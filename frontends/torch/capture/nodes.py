"""Sizes of arrays that calls create, ``torch._foreach_*`` calls, and assignments ``tensor.data = data``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Node, Value
from ....sizes import Size, Symbol, apply, hint_of
from ..basics.names import name_of, row_key
from ..compat import holders_of_memory, is_wrapped, no_torch_function
from .running import RunningTrace

# Maps a bare name to the number of arguments before the sizes of the result. The sizes are arguments of their
# own, or one tuple.
_MADE = {
    "zeros": 0,
    "ones": 0,
    "empty": 0,
    "full": 0,
    "rand": 0,
    "randn": 0,
    "new_zeros": 1,
    "new_ones": 1,
    "new_empty": 1,
    "new_full": 1,
}


def size_of(node: Node | None, value: Value, axis: int) -> Any:
    """Return the size of ``value`` along ``axis``, as ``node`` is known to imply it, or else as a symbol."""
    rank = value.ndim
    if (
        node is not None
        and node.key == "unsqueeze"
        and node.params.get("dim", node.inputs[-1]) in (axis, axis - rank)
    ):
        return 1
    before = None if node is None else _MADE.get(node.key)
    if node is not None and before is not None:
        given = node.inputs[before:]
        sizes = given[0] if given and isinstance(given[0], (tuple, list)) else given
        if len(sizes) == rank and (
            type(sizes[axis]) is int or isinstance(sizes[axis], Size) and sizes[axis].type is int
        ):
            return sizes[axis]
    return Size.of(Symbol(value, axis, value.spec.shape[axis]))


def _argument(inputs: tuple[Any, ...], params: dict[str, Any], position: int, name: str, default: Any) -> Any:
    return inputs[position] if len(inputs) > position else params.get(name, default)


def _assume(capture: RunningTrace, condition: Any) -> None:
    if isinstance(condition, Size):
        capture.decide(condition)


def _axis(capture: RunningTrace, inputs: Any, dim: Any) -> int:
    known: int = capture.decide(dim) if isinstance(dim, Size) else dim
    return known % max(inputs[0].ndim, 1)


def _extent(capture: RunningTrace, inputs: Any, dim: Any) -> Any:
    return capture.size(inputs[0], _axis(capture, inputs, dim))


def _squeeze(capture: RunningTrace, inputs: Any, params: Any, outputs: Any) -> None:
    dim = _argument(inputs, params, 1, "dim", None)
    rank = inputs[0].ndim
    dims = range(rank) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    for axis in [_axis(capture, inputs, one) for one in dims] if rank else ():
        _assume(capture, apply("eq", capture.size(inputs[0], axis), 1))


def _unbind(capture: RunningTrace, inputs: Any, params: Any, outputs: Any) -> None:
    count = _extent(capture, inputs, _argument(inputs, params, 1, "dim", 0))
    _assume(capture, apply("eq", count, len(outputs)))


def _split(capture: RunningTrace, inputs: Any, params: Any, outputs: Any) -> None:
    size = _argument(inputs, params, 1, "split_size_or_sections", params.get("split_size", 1))
    if not isinstance(size, (tuple, list)):
        extent = _extent(capture, inputs, _argument(inputs, params, 2, "dim", 0))
        _assume(capture, apply("eq", apply("max", _pieces(extent, size), 1), len(outputs)))


def _chunk(capture: RunningTrace, inputs: Any, params: Any, outputs: Any) -> None:
    extent = _extent(capture, inputs, _argument(inputs, params, 2, "dim", 0))
    each = _pieces(extent, _argument(inputs, params, 1, "chunks", 1))
    # torch splits an empty axis into as many pieces as requested.
    if hint_of(each) == 0:
        _assume(capture, apply("eq", extent, 0))
    else:
        _assume(capture, apply("eq", _pieces(extent, each), len(outputs)))


def _sum_to_size(capture: RunningTrace, inputs: Any, params: Any, outputs: Any) -> None:
    for axis in range(inputs[0].ndim):
        extent = capture.size(inputs[0], axis)
        _assume(capture, apply("eq", extent, hint_of(extent)))


def _diff(capture: RunningTrace, inputs: Any, params: Any, outputs: Any) -> None:
    # torch returns the tensor itself if the axis is empty.
    if not outputs:
        dim = _argument(inputs, params, 2, "dim", -1)
        _assume(capture, apply("eq", _extent(capture, inputs, dim), 0))


def _pieces(extent: Any, size: Any) -> Any:
    return (extent + size - 1) // apply("max", size, 1)


STRUCTURE: dict[str, Callable[[Any, Any, Any, Any], None]] = {
    "squeeze": _squeeze,
    "unbind": _unbind,
    "split": _split,
    "unsafe_split": _split,
    "chunk": _chunk,
    "unsafe_chunk": _chunk,
    "sum_to_size": _sum_to_size,
    "diff": _diff,
}


_PREFIX = "_foreach_"


def _scaled(name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(torch.Tensor, name)
    return lambda tensor, tensor1, tensor2, value=1: method(tensor, tensor1, tensor2, value=value)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    # ``clamp`` takes numbers, but has other gradients where both are equal.
    return lambda tensor, other: function(
        tensor, other if isinstance(other, torch.Tensor) else torch.full_like(tensor, other)
    )


# ``_foreach`` functions whose counterpart for one tensor has another name or other arguments.
_ONE: dict[str, Callable[..., Any]] = {
    "norm": lambda tensor, ord=2, dtype=None: torch.linalg.vector_norm(tensor, ord, dtype=dtype),
    "copy_": lambda tensor, src, non_blocking=False: tensor.copy_(src, non_blocking),
    "maximum": _extreme(torch.maximum),
    "maximum_": lambda tensor, other: tensor.copy_(_extreme(torch.maximum)(tensor, other)),
    "minimum": _extreme(torch.minimum),
    "minimum_": lambda tensor, other: tensor.copy_(_extreme(torch.minimum)(tensor, other)),
    **{name: _scaled(name) for name in ("addcmul", "addcmul_", "addcdiv", "addcdiv_")},
}
NAMES = [name for name in dir(torch) if name.startswith(_PREFIX)]
# Operands that may be keywords, in their order. Functions for one tensor have other names for them.
_OPERANDS = (
    "self", "other", "scalar", "tensors1", "tensor1", "tensor2", "scalars", "weights", "weight", "exponent",
    "src", "mat2", "value",
)  # fmt: skip


def foreach(capture: RunningTrace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a ``torch._foreach_*`` call as calls for single elements of the lists. Return the results."""
    key = row_key(name_of(function))
    bare = key.removeprefix(_PREFIX)
    # Most in-place variants, such as ``lerp_``, are methods only.
    one = _ONE.get(bare) or getattr(torch, bare, None) or getattr(torch.Tensor, bare)
    args = (*args, *(kwargs[name] for name in _OPERANDS if name in kwargs))
    kwargs = {name: item for name, item in kwargs.items() if name not in _OPERANDS}
    count = next(len(item) for item in args if isinstance(item, (list, tuple)))
    with capture:
        found = [
            one(*(_part(item, i) for item in args), **{name: _part(item, i) for name, item in kwargs.items()})
            for i in range(count)
        ]
    return found if bare.endswith("_") else tuple(found)


def _part(item: Any, place: int) -> Any:
    return item[place] if isinstance(item, (list, tuple)) else item


def record_data_assignment(capture: RunningTrace, tensor: torch.Tensor, data: torch.Tensor) -> None:
    """Record ``tensor.data = data`` as a write, after which ``data`` is a view of ``tensor``.

    Raise ``TracingError`` if the assignment cannot be recorded so, as when their memory is shared.
    """
    recorder = capture.recorder
    made = recorder.maker(recorder.base_of(capture.value(data)))
    is_given = recorder.base_of(capture.value(tensor)) in recorder.graph.inputs
    if (
        capture.for_torch
        or is_given
        or made is None
        or _looks(tensor) != _looks(data)
        or _is_held(tensor)
        or _is_held(data)
    ):
        raise TracingError(
            f"{capture.here()}: memory is put under a tensor by assigning to its .data, which is recorded "
            "for other frameworks than torch, between tensors of one shape and type that are no arguments "
            "and whose memory nothing else holds. Use copy_ instead"
        )
    with capture, torch.no_grad():
        tensor.copy_(data)
        view = tensor.detach()
    recorder.track(data, capture.value(view))
    with no_torch_function():
        data.data = view


def _looks(tensor: torch.Tensor) -> tuple[object, ...] | None:
    with no_torch_function():
        is_plain = tensor.layout == torch.strided and not is_wrapped(tensor)
        return (tensor.dtype, tensor.device, tensor.shape, tensor.stride()) if is_plain else None


def _is_held(tensor: torch.Tensor) -> bool:
    with no_torch_function():
        return (
            _looks(tensor) is None
            or holders_of_memory(tensor) > 1
            or not tensor.untyped_storage().resizable()
        )
