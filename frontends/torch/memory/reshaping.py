"""Calls that give a tensor object another shape in place (``x.unsqueeze_(0)``): recorded as a view that the object stands for from then on.

An array of the caller cannot be given another shape by a graph, so there it is an error.
"""

from __future__ import annotations

from typing import Any

from ....errors import TracingError
from ....ir.node import Value
from ..basics.names import pure_key, row_key
from ..trace import Trace

VIEWS = frozenset({"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_"})
REFUSED = frozenset({"resize_", "resize_as_", "set_", "resize_as_sparse_"})


def reshape_in_place(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    """``x.t_()`` as ``x = x.t()``: other views of the same memory stay what they are."""
    tensor = args[0]
    if _was_there(capture, capture.value(tensor)):
        raise TracingError(
            f"{capture.here()}: {capture.call} changes the shape of an array that was not made by this function, which a graph cannot do; "
            f"use the call without the underscore and its result"
        )
    pure = pure_key(row_key(capture.call))
    capture.call = f"torch.Tensor.{pure}"
    with capture:
        view = getattr(tensor, pure)(*args[1:], **kwargs)
    capture.run(function, args, kwargs)
    capture.recorder.track(tensor, capture.value(view))
    return tensor


def _was_there(capture: Trace, value: Value) -> bool:
    """Whether the tensor was there before the function ran: ``x.contiguous()`` may be ``x`` itself."""
    while (node := capture.recorder.maker(value)) is not None and node.record is not None and node.record.itself:
        value = node.uses[0]
    return node is None


def refuse(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    """Memory of another size, or of another array, put under a tensor."""
    raise TracingError(
        f"{capture.here()}: {capture.call} puts other memory under a tensor, which cannot be recorded; make a new tensor instead"
    )
