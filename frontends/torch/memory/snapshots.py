"""Snapshots of the elements of tensors, for comparison later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..compat import no_modes, no_torch_function

_INTS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes of an element: NaN is equal to no float


class Snapshot:
    """A copy of a tensor's elements, taken once. To compare them reads both and makes nothing: a tenth of the time of another copy.

    >>> weight = torch.tensor([1.0, float("nan")])
    >>> now = Snapshot(weight)
    >>> now.is_of(weight), now.is_of(weight + 1)
    (True, False)
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        with _unseen():
            self._bits = _bits(tensor).clone()

    def is_of(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor holds the same, bit by bit."""
        with _unseen():
            return torch.equal(_bits(tensor), self._bits)


def elements_of(tensor: torch.Tensor) -> bytes:
    """A copy of the elements, to be compared."""
    with _unseen():
        plain = _physical(tensor).contiguous()
        if plain.untyped_storage().resizable():  # and would not be any more
            plain = plain.clone()
        return plain.view(-1).view(torch.uint8).cpu().numpy().tobytes() if plain.numel() else b""


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    plain = _physical(tensor)
    return (torch.view_as_real(plain) if plain.is_complex() else plain).view(_INTS[plain.itemsize // (2 if plain.is_complex() else 1)])


def _physical(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg()


@contextmanager
def _unseen() -> Iterator[None]:
    """Inside of the block no mode sees what is done."""
    with no_torch_function(), no_modes():
        yield
