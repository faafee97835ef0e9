"""Calls that give a tensor object another shape in place (``x.unsqueeze_(0)``): recorded as a view that the object stands for from then on.

An array of the caller cannot be given another shape by a graph, so there it is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ....errors import TracingError
from ....tracing.overlap import overlap
from ....trees import iterate_structure
from ..basics.names import pure_key

if TYPE_CHECKING:
    from ..capture.capture import Capture

VIEWS = frozenset({"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_"})
REFUSED = frozenset({"resize_", "resize_as_", "set_", "resize_as_sparse_"})


def reshape_in_place(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    """``x.t_()`` as ``x = x.t()``: other views of the same memory stay what they are."""
    tensor = args[0]
    if capture.value(tensor).node is None:
        raise TracingError(
            f"{capture.here()}: {capture.call} changes the shape of an array that was not made by this function, which a graph cannot do; "
            f"use the call without the underscore and its result"
        )
    pure = pure_key(capture.call.rpartition(".")[2])
    capture.call = f"torch.Tensor.{pure}"
    with capture:
        view = getattr(tensor, pure)(*args[1:], **kwargs)
    capture.run(function, args, kwargs)
    capture.recorder.track(tensor, capture.value(view))
    return tensor


def refuse(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    """Memory of another size, or of another array, put under a tensor."""
    raise TracingError(
        f"{capture.here()}: {capture.call} puts other memory under a tensor, which cannot be recorded; make a new tensor instead"
    )


def refuse_out(capture: Capture, out: Any, operands: list[torch.Tensor]) -> None:
    """``out=`` without elements, to which torch gives the shape of the result; and one that overlaps an operand, which torch reads while it writes."""
    for tensor in (item for item in iterate_structure(out) if isinstance(item, torch.Tensor)):
        if tuple(tensor.shape) != capture.value(tensor).spec.shape:
            raise TracingError(
                f"{capture.here()}: the array passed as out= has another shape than the result, and torch gave it that shape, which cannot be recorded; "
                "pass an array of the shape of the result, or none"
            )
        if any(overlap([tensor, other], [0]) for other in operands if not _same_elements(tensor, other)):
            raise TracingError(
                f"{capture.here()}: the array passed as out= shares part of its memory with an operand, so the result depends on the order in which "
                "torch reads and writes; pass another array"
            )


def _same_elements(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (a.data_ptr(), a.shape, a.stride()) == (b.data_ptr(), b.shape, b.stride())
