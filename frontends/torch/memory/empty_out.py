"""``out=torch.empty(0)``: an array without elements, to which torch gives the shape of the result. The result of the call without it takes
its place."""

from __future__ import annotations

from typing import Any

import torch

from ....errors import TracingError
from ....forwarding import forward
from ....trees import iterate_structure
from ..basics.tensors import storage
from .trace import MemoryTrace


def is_empty_out(capture: MemoryTrace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the function has made all arrays of ``out=`` without elements, whatever the sizes of its arguments, and each has its own
    memory.

    Not where a gradient is asked for, with which torch refuses ``out=``.
    """
    if kwargs.get("out") is None or torch.is_grad_enabled() and any(tensor.requires_grad for tensor in _tensors((args, kwargs))):
        return False
    tensors = _tensors(kwargs["out"])
    apart = len({storage(tensor) for tensor in tensors}) == len(tensors)
    return bool(tensors) and apart and all(tensor.numel() == 0 and _is_own(capture, tensor) for tensor in tensors)


def filled(capture: MemoryTrace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records the call without ``out=``; the arrays given there stand for its results from then on. ``TracingError`` where they have other
    types."""
    given = kwargs["out"]
    for operand in _tensors((args, kwargs)):
        capture.depends_on("requires_grad", operand)
    with capture:
        result = forward(function, *args, **{name: item for name, item in kwargs.items() if name != "out"})
    for out, computed in zip(_tensors(given), _tensors(result)):
        if out.dtype != computed.dtype:
            raise TracingError(
                f"{capture.here()}: the array passed as out= has no elements and the type {out.dtype}, and the result has "
                f"{computed.dtype}, which cannot be recorded; pass an array of the type of the result, or none"
            )
        capture.run(_fill, (out, computed), {})
        capture.recorder.track(out, capture.value(computed))
        capture.memory.note(out, capture.value(computed))
    return given if isinstance(given, torch.Tensor) else type(result)(given)


def _fill(out: torch.Tensor, computed: torch.Tensor) -> None:
    with torch.no_grad():
        out.resize_(computed.shape).copy_(computed)


def _is_own(capture: MemoryTrace, tensor: torch.Tensor) -> bool:
    value = capture.value(tensor)
    sizes = (capture.size(value, axis) for axis in range(value.ndim))
    is_made = capture.recorder.maker(value) is not None and capture.recorder.base_of(value) is value
    return is_made and any(type(size) is int and size == 0 for size in sizes)


def _tensors(out: Any) -> list[torch.Tensor]:
    return [item for item in iterate_structure(out) if isinstance(item, torch.Tensor)]
