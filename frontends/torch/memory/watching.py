"""Detection of writes to tensors and of replaced storages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ....recording.environment_guards.versions import memory_versions
from ....recording.state.contents import Pieces
from ..basics.tensors import version
from ..compat import no_torch_function
from .memory import has_memory, reach
from .words import words_of


class TensorStamp:
    """Layout, version and memory contents (:class:`Pieces`) of a tensor at one moment.

    ``module.double()`` and ``parameter.data = ...`` replace a tensor's storage. Writes through ``.data``,
    and those of NumPy to shared memory, do not increment the version.

    layout: what :func:`layout_of` returned.
    version: number of the version counter.
    pieces: contents of the memory, or None if they cannot be compared.

    >>> weight = torch.zeros(2)
    >>> stamp = TensorStamp(weight)
    >>> stamp.fits(weight), weight.data.add_(1), stamp.fits(weight)
    (True, tensor([1., 1.]), False)
    """

    __slots__ = ("layout", "pieces", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.layout, self.version = layout_of(tensor), version(tensor)
        self.pieces = pieces_of(tensor)

    def fits(self, tensor: torch.Tensor) -> bool:
        same = layout_of(tensor) == self.layout and version(tensor) == self.version
        return same and (self.pieces is None or self.pieces.same())


class TensorWatch:
    """Like :class:`TensorStamp`, but for many tensors, which are checked by comparing lists.

    >>> weight = torch.zeros(2)
    >>> watch = TensorWatch([weight])
    >>> watch.changed(), weight.add_(1), watch.changed()
    (False, tensor([1., 1.]), True)
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        found = [(tensor, words_of(tensor)) for tensor in tensors]
        self._others = [tensor for tensor, words in found if words is None]
        self._layouts = self._layouts_now()
        self._words = memory_versions([], [], [words for _, words in found if words is not None])
        self._noted = self._words.copy()
        pieces = [one for tensor, _ in found if (one := pieces_of(tensor)) is not None]
        self._before, self._now = (
            [piece for one in pieces for piece in one.before],
            [piece for one in pieces for piece in one.now],
        )

    def _layouts_now(self) -> list[tuple[Any, ...]]:
        return [(version(tensor), *layout_of(tensor)) for tensor in self._others]

    def changed(self) -> bool:
        """Return True if a tensor has another storage, layout or contents than when the watch was made."""
        return (
            self._words.now != self._noted
            or bool(self._others)
            and self._layouts_now() != self._layouts
            or self._before != self._now
        )


def layout_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return the address, dtype, shape, strides, and the conjugation and negation bits of a tensor.

    ``.data`` may be assigned another view of the same elements, which does not increment the version.
    """
    with no_torch_function():
        looks = (tensor.dtype, tensor.shape, tensor.stride(), tensor.is_conj(), tensor.is_neg())
        return tensor.data_ptr(), *looks


def pieces_of(tensor: torch.Tensor, whole: bool = False) -> Pieces | None:
    """Return the contents of a tensor's memory, or None if they cannot be compared cheaply.

    Return None off the CPU, for an empty tensor, and if its elements have gaps. `whole` compares all of
    the memory instead of pieces.
    """
    if not has_memory(tensor) or tensor.numel() == 0:
        return None
    with no_torch_function():
        reached = reach(tensor)
        storage = tensor.untyped_storage()
        return (
            Pieces(storage, tensor.data_ptr(), reached * tensor.itemsize, whole)
            if reached <= tensor.numel()
            else None
        )
