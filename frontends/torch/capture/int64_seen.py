"""Detection of int64 elements that do not fit into int32, for frameworks without 64-bit integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from ..compat import no_modes
from .running import RunningTrace

# Larger tensors are not inspected, because that would take too long.
_MOST_LOOKED_AT = 2**20
_ENDS = torch.iinfo(torch.int32)
# Results of these calls contain whatever was in memory.
_UNWRITTEN = frozenset(
    {
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    }
)
# These calls write some elements only. The others may be uninitialized.
_IN_PARTS = frozenset(
    {
        "__setitem__",
        "copy_",
        "put_",
        "index_put_",
        "index_copy_",
        "index_add_",
        "index_fill_",
        "masked_fill_",
        "masked_scatter_",
    }
)


def introduces_int64(
    capture: RunningTrace, key: str, filled: Sequence[torch.Tensor], operands: Iterable[torch.Tensor]
) -> bool:
    """Return True if a call is the first to produce elements that do not fit into int32.

    `filled` are the tensors that it made or wrote to. Return False in a graph for torch, for calls that
    write only some elements or none, and for calls with an operand that already has such elements. Casts
    of infinities are ignored as well, because their result depends on the framework, and models mask it
    (T5 casts ``log(0)``).
    """
    if capture.for_torch or key in _UNWRITTEN or key in _IN_PARTS or key.startswith("scatter"):
        return False
    if not any(is_wide(tensor) for tensor in filled if not tensor._is_view()):
        return False
    others = [item for item in operands if all(item is not one for one in filled)]
    return not any(_is_endless(item) or is_wide(item) for item in others)


def is_wide(tensor: torch.Tensor) -> bool:
    """Return True if `tensor` has an element outside of the range of int32.

    Return False for any dtype but int64, off the CPU, for sparse tensors, and for more than 2**20
    elements.

    >>> is_wide(torch.tensor([1, 2**31 - 1])), is_wide(torch.tensor([1, -(2**40)]))
    (False, True)
    >>> is_wide(torch.tensor(1e20))
    False
    """
    if (
        tensor.dtype is not torch.int64
        or tensor.layout is not torch.strided
        or not tensor.is_cpu
        or not 0 < tensor.numel() <= _MOST_LOOKED_AT
    ):
        return False
    # The tensors made here are not part of the recording.
    with no_modes():
        least, most = tensor.aminmax()
        return int(least) < _ENDS.min or int(most) > _ENDS.max


def _is_endless(tensor: torch.Tensor) -> bool:
    with no_modes():
        return tensor.is_floating_point() and not bool(tensor.isfinite().all())
