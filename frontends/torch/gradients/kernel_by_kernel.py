"""Calls that are recorded kernel by kernel, since a backward pass inside of the function uses what they keep aside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....forwarding import forward


class KernelByKernel:
    """Bare names of the calls that earlier attempts at one recording have shown to keep tensors aside (``names``), and this one
    (``asked``).

    A public call is one call of the graph, which has no place for the softmax that ``cross_entropy`` keeps for its gradient. Where a
    backward pass asks for it, the function is recorded anew, and this call is what kernels it consists of.

    >>> calls = KernelByKernel()
    >>> calls.ask("torch.nn.functional.cross_entropy"), calls.next_attempt(), calls.next_attempt()
    (None, True, False)
    >>> sorted(calls.names)
    ['torch.nn.functional.cross_entropy']
    """

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.asked: set[str] = set()

    def ask(self, name: str | None) -> None:
        """This call has kept a tensor aside that is used now."""
        self.asked.update(filter(None, (name,)))

    def next_attempt(self) -> bool:
        """From here on those asked for are opened. Whether there are any that were not."""
        new = not self.asked <= self.names
        self.names |= self.asked
        return new


def in_kernels(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call, of kernels that torch has everywhere: attention as products and a softmax, whose gradients other frameworks have as
    well."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return forward(function, *args, **kwargs)
