"""Whether tensors were written to, or given other memory, without another tensor taking their place."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ....tracing.pieces import Pieces
from ..basics.tensors import version
from .memory import has_memory


class Stamp:
    """What a tensor is: its address, torch's count of writes to it, and what its memory holds (:class:`Pieces`).

    ``module.double()`` and ``parameter.data = ...`` give a tensor other memory; writes through ``.data``, and those of numpy to memory
    that it shares, are counted nowhere.

    >>> weight = torch.zeros(2)
    >>> stamp = Stamp(weight)
    >>> stamp.fits(weight), weight.data.add_(1), stamp.fits(weight)
    (True, tensor([1., 1.]), False)
    """

    __slots__ = ("address", "pieces", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.address, self.version = tensor.data_ptr(), version(tensor)
        self.pieces = pieces_of(tensor)

    def fits(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor, the one that it was made of, is as it was."""
        same = tensor.data_ptr() == self.address and version(tensor) == self.version
        return same and (self.pieces is None or self.pieces.same())


class Watch:
    """The :class:`Stamp` of many tensors, told by a comparison of lists.

    >>> weight = torch.zeros(2)
    >>> watch = Watch([weight])
    >>> watch.changed(), weight.add_(1), watch.changed()
    (False, tensor([1., 1.]), True)
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self._tensors = list(tensors)
        self._counted = [tensor for tensor in self._tensors if not tensor.is_inference()]
        self._addresses, self._versions = self._addresses_now(), self._versions_now()
        pieces = [found for tensor in self._tensors if (found := pieces_of(tensor)) is not None]
        self._before, self._now = [piece for one in pieces for piece in one.before], [piece for one in pieces for piece in one.now]

    def _addresses_now(self) -> list[int]:
        return list(map(torch.Tensor.data_ptr, self._tensors))

    def _versions_now(self) -> list[int]:
        return [tensor._version for tensor in self._counted]

    def changed(self) -> bool:
        """Whether one has other memory, or holds something else. Memory is read last: only at addresses that are the tensors' own."""
        return self._addresses_now() != self._addresses or self._versions_now() != self._versions or self._before != self._now


def pieces_of(tensor: torch.Tensor, whole: bool = False) -> Pieces | None:
    """What a tensor's memory holds; None where it has none on this machine, or where other tensors' elements lie in between."""
    if not has_memory(tensor) or tensor.numel() == 0:
        return None
    with torch._C.DisableTorchFunction():
        reached = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) + 1
        storage = tensor.untyped_storage()
        return Pieces(storage, tensor.data_ptr(), reached * tensor.itemsize, whole) if reached <= tensor.numel() else None
