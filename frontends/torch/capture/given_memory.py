"""``tensor.data = data``: models update a weight so (momentum encoders, norms that are held below a bound).

Recorded as a write to all of the tensor, of which ``data`` is a view from then on. That is the same where nobody else holds the memory that
the tensor had, or that of ``data``.
"""

from __future__ import annotations

import torch

from ....errors import TracingError
from ..compat import holders_of_memory, is_wrapped, no_torch_function
from .running import Running


def give_memory(capture: Running, tensor: torch.Tensor, data: torch.Tensor) -> None:
    """Records the assignment. ``TracingError`` where something else has a part in the memory of one of both, where they differ in more than
    their elements, and for arguments and in a graph for torch, whose memory others may hold in later calls."""
    recorder = capture.recorder
    made = recorder.maker(recorder.base_of(capture.value(data)))
    is_given = recorder.base_of(capture.value(tensor)) in recorder.graph.inputs
    if capture.for_torch or is_given or made is None or _looks(tensor) != _looks(data) or _is_held(tensor) or _is_held(data):
        raise TracingError(
            f"{capture.here()}: memory is put under a tensor by assigning to its .data, which is recorded for other frameworks than torch, "
            "between tensors of one shape and type that are no arguments and whose memory nothing else holds. Use copy_ instead"
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
    """Whether another tensor, or an array of NumPy, looks at a tensor's memory; so for what is no plain tensor."""
    with no_torch_function():
        return _looks(tensor) is None or holders_of_memory(tensor) > 1 or not tensor.untyped_storage().resizable()
