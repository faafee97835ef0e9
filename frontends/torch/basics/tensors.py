"""Small facts of tensors that the recording asks for."""

from __future__ import annotations

from typing import Any

import torch

from ....ops.registry import ArraySpec
from ....trees import map_structure
from ..compat import no_torch_function
from ..numbers.sizes import is_symbolic
from .dtypes import dtype_name
from .refusals import check_layout

TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
"""Classes of tensors that behave as torch's own."""
PLAIN = frozenset({int, float, bool, str, complex, type(None), type(...), torch.dtype, torch.device, torch.memory_format, torch.layout})
"""Classes of arguments that are recorded as they are."""
_WITHOUT_SIZES = TENSORS | PLAIN


def spec_of(tensor: torch.Tensor) -> ArraySpec:
    """Shape as seen, and dtype."""
    check_layout(tensor)
    return ArraySpec(tuple(tensor.shape), dtype_name(tensor.dtype))


def hints(structure: Any) -> Any:
    """Arguments for the real call: symbolic sizes replaced by the numbers seen."""
    if type(structure) is tuple:  # most arguments hold none
        return tuple([item if type(item) in _WITHOUT_SIZES else map_structure(_hint, item) for item in structure])
    return map_structure(_hint, structure)


def _hint(item: Any) -> Any:
    return item.node.hint if is_symbolic(item) else item


def version(tensor: torch.Tensor) -> int:
    """The count of writes to the tensor's memory; inference tensors have none."""
    return -1 if tensor.is_inference() else tensor._version


def storage(tensor: torch.Tensor) -> int:
    """Identity of the tensor's memory."""
    try:
        with no_torch_function():
            return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse and other tensors without one storage
        return -id(tensor)


def fills_memory(tensor: torch.Tensor) -> bool:
    """Whether the tensor is all of its memory in row-major order, so that places in memory are places in the tensor."""
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.itemsize
    return whole and tensor.is_contiguous() and tensor.storage_offset() == 0


def without_repeats(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with each place in memory once: torch writes to no array that ``expand`` repeats.

    >>> without_repeats(torch.zeros(2, 1).expand(2, 3)).shape
    torch.Size([2, 1])
    """
    for axis, step in enumerate(tensor.stride()):
        if step == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def put_back(tensor: torch.Tensor, before: torch.Tensor) -> None:
    """Gives a tensor the elements of a copy of it that was made ``without_repeats``."""
    if without_repeats(tensor).shape != before.shape:  # as out= it had another number of elements than the result
        tensor.resize_(before.shape)
    without_repeats(tensor).copy_(before)
