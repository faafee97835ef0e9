"""Whether tensors were written to, or given other memory, without another tensor taking their place."""

from __future__ import annotations

from collections.abc import Iterable

import torch


class Watch:
    """Tells what has become of tensors since it was made, from their addresses and torch's counts of writes.

    ``module.double()``, ``parameter.data = ...`` give a tensor other memory. Writes through ``.data`` are counted nowhere.

    >>> weight = torch.zeros(2)
    >>> watch = Watch([weight])
    >>> weight.add_(1), watch.changed(), watch.moved()
    (tensor([1., 1.]), True, False)
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self._tensors = list(tensors)
        self._counted = [tensor for tensor in self._tensors if not tensor.is_inference()]
        self._addresses, self._versions = self._addresses_now(), self._versions_now()

    def _addresses_now(self) -> list[int]:
        return list(map(torch.Tensor.data_ptr, self._tensors))

    def _versions_now(self) -> list[int]:
        return [tensor._version for tensor in self._counted]

    def moved(self) -> bool:
        """Whether one has other memory."""
        return self._addresses_now() != self._addresses

    def changed(self) -> bool:
        """Whether one has other memory, or was written to."""
        return self.moved() or self._versions_now() != self._versions
