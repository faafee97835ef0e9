"""Whether tensors were written to, or given other memory, without another tensor taking their place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ....recording.environment_guards.versions import gathered
from ....recording.state.contents import Pieces
from ..basics.tensors import version
from ..compat import no_torch_function
from .memory import has_memory, reach
from .words import words_of


class Stamp:
    """What a tensor is: its layout, torch's count of writes to it, and what its memory holds
    (:class:`Pieces`).

    ``module.double()`` and ``parameter.data = ...`` give a tensor other memory; writes through ``.data``, and
    those of numpy to memory that it shares, are counted nowhere.

    >>> weight = torch.zeros(2)
    >>> stamp = Stamp(weight)
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


class Watch:
    """The :class:`Stamp` of many tensors, told by a comparison of lists.

    >>> weight = torch.zeros(2)
    >>> watch = Watch([weight])
    >>> watch.changed(), weight.add_(1), watch.changed()
    (False, tensor([1., 1.]), True)
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        found = [(tensor, words_of(tensor)) for tensor in tensors]
        self._others = [tensor for tensor, words in found if words is None]
        self._layouts = self._layouts_now()
        self._words = gathered([], [], [words for _, words in found if words is not None])
        self._noted = self._words.copy()
        pieces = [one for tensor, _ in found if (one := pieces_of(tensor)) is not None]
        self._before, self._now = (
            [piece for one in pieces for piece in one.before],
            [piece for one in pieces for piece in one.now],
        )

    def _layouts_now(self) -> list[tuple[Any, ...]]:
        return [(version(tensor), *layout_of(tensor)) for tensor in self._others]

    def changed(self) -> bool:
        """Whether one has other memory, or holds something else.

        Memory is read last: only at addresses that are the tensors' own.
        """
        return (
            self._words.now != self._noted
            or bool(self._others)
            and self._layouts_now() != self._layouts
            or self._before != self._now
        )


def layout_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Which memory a tensor is, and how it looks at it: ``.data`` may be given another view of the same
    elements, which torch counts nowhere.
    """
    with no_torch_function():
        looks = (tensor.dtype, tensor.shape, tensor.stride(), tensor.is_conj(), tensor.is_neg())
        return tensor.data_ptr(), *looks


def pieces_of(tensor: torch.Tensor, whole: bool = False) -> Pieces | None:
    """The contents of a tensor's memory.

    None on another device, and where its elements do not fill one block of memory.
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
