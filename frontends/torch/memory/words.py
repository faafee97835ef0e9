"""Words in memory that change whenever torch counts a change of a tensor, read without a call of torch.

After a model has run, a call of torch must be loaded into the cache again: ``data_ptr`` and ``_version``
take two microseconds each. Comparing twenty words of memory, among many others, takes a tenth of one.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

import torch

from ....recording.environment_guards.versions import WORD, Words, memory_versions
from ..compat import negative_view, no_torch_function
from .memory import has_memory

# Numbers of words, in torch's objects as they lie in memory (torch/csrc/autograd/python_variable.h,
# c10/core/TensorImpl.h, StorageImpl.h and VariableVersion in TensorImpl.h). Where they are others,
# `_is_known` tells, and nobody reads them.
# Offsets in words. In a Python tensor: the C++ tensor.
_TENSOR = 2
# In the C++ tensor: its storage and its version counter.
_STORAGE, _COUNTER = 2, 5
# In the C++ tensor: shape, strides, offset, dtype and flags for conjugation and negation.
_SHAPE = range(7, 22)
# In the storage: its address.
_ADDRESS = 2
# In the version counter: the count.
_COUNT = 2


def words_of(tensor: torch.Tensor) -> Words | None:
    """Return addresses of words that change whenever torch counts or notes a change of the tensor.

    Writes through ``.data`` or NumPy change none. Return None if the tensor, or this torch, has no such
    words.

    >>> weight = torch.zeros(2)
    >>> words = words_of(weight)
    >>> versions = words and memory_versions([], [], [words])
    >>> before = versions and versions.copy()
    >>> _ = weight.add_(1)
    >>> versions is None or versions.now != before
    True
    """
    return _words(tensor) if is_readable and not tensor.is_inference() and has_memory(tensor) else None


def _words(tensor: torch.Tensor) -> Words:
    with no_torch_function():
        # The alias keeps the storage and the version counter alive.
        alias, storage = (
            tensor.detach(),
            tensor.untyped_storage()._cdata,
        )
    inner = tensor._cdata
    counter = _read(inner, _COUNTER)

    def stand(alive: Any = alias) -> bool:
        return tensor._cdata == inner and (_read(inner, _STORAGE), _read(inner, _COUNTER)) == (
            storage,
            counter,
        )

    noted = (inner + place * WORD for place in (_STORAGE, _COUNTER, *_SHAPE))
    return Words(
        (id(tensor) + _TENSOR * WORD, *noted, storage + _ADDRESS * WORD, counter + _COUNT * WORD), stand
    )


def _read(address: int, place: int) -> int:
    return ctypes.c_uint64.from_address(address + place * WORD).value


# ----------------------------------------------------------------------- whether this torch is as it is known
def _is_known() -> bool:
    """Return True if the words are at the expected offsets."""
    tensor, other = torch.zeros(2, 3, device="cpu"), torch.zeros(2, 3, device="cpu")
    alias, storage = tensor.detach(), tensor.untyped_storage()
    one, same, apart = (each._cdata for each in (tensor, alias, other))
    return (
        _read(id(tensor), _TENSOR) == one
        and _read(one, _STORAGE) == storage._cdata
        and _read(storage._cdata, _ADDRESS) == tensor.data_ptr()
        and _read(one, _COUNTER) == _read(same, _COUNTER) != _read(apart, _COUNTER)
    )


def _assign(tensor: torch.Tensor, data: torch.Tensor) -> None:
    tensor.data = data


_CHANGES: tuple[Callable[[torch.Tensor], Any], ...] = (
    lambda tensor: tensor.add_(1),
    lambda tensor: tensor[0].mul_(2),
    lambda tensor: tensor.t_(),
    lambda tensor: tensor.unsqueeze_(0),
    lambda tensor: tensor.resize_(7),
    lambda tensor: tensor.set_(torch.zeros(3, device="cpu")),
    lambda tensor: _assign(tensor, torch.zeros_like(tensor)),
    lambda tensor: _assign(tensor, tensor.data.t()),
    lambda tensor: _assign(tensor, tensor.data[..., :1]),
    lambda tensor: _assign(tensor, tensor.data.view(torch.int32)),
    lambda tensor: _assign(tensor, negative_view(tensor.data)),
    lambda tensor: tensor.untyped_storage().resize_(1024),
    lambda tensor: torch.utils.swap_tensors(tensor, torch.ones(2, device="cpu")),
)


def _told(tensor: torch.Tensor, change: Callable[[torch.Tensor], Any]) -> bool:
    words = _words(tensor)
    versions, seen = memory_versions([], [], [words]), words.stand()
    before = versions.copy()
    held = versions.now == before
    change(tensor)
    return seen and held and versions.now != before


def _is_readable() -> bool:
    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return False
    try:
        with torch.inference_mode(False), torch.no_grad():
            return _is_known() and all(
                _told(tensor, change)
                for change in _CHANGES
                for tensor in (torch.zeros(2, 2, device="cpu"), torch.zeros(1, 6, device="cpu")[:, 1:])
            )
    # Some tensors were made without memory by a mode of torch.
    except RuntimeError:
        return False


is_readable = _is_readable()
