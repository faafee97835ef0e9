"""Loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from ...prefixes import prefixes, section


def associative_scan(
    combine: Callable[..., tuple[Any, ...]], arrays: tuple[torch.Tensor, ...], axis: int, reverse: bool = False
) -> tuple[torch.Tensor, ...]:
    """The elements along ``axis``, each combined with all before it, or, with ``reverse``, with all behind it, in new tensors."""
    if arrays[0].shape[axis] < 2:
        return tuple(array.clone() for array in arrays)
    ordered = tuple(array.flip(axis) for array in arrays) if reverse else arrays
    made = prefixes(combine, ordered, axis, lambda first, rest, axis: torch.cat((first, rest), axis), interleaved)
    return tuple(array.flip(axis) for array in made) if reverse else made


def run_again(body: Callable[..., Any], *arrays: torch.Tensor) -> Any:
    """``body(*arrays)``, of which a gradient keeps the arrays alone, and computes the rest again. ``torch.func`` can do without."""
    if torch.is_grad_enabled() and (torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is None):
        return checkpoint(body, *arrays, use_reentrant=False)
    return body(*arrays)


def interleaved(even: torch.Tensor, odd: torch.Tensor, axis: int) -> torch.Tensor:
    """The elements of two tensors in turn."""
    count = odd.shape[axis]
    pairs = torch.stack((section(even, axis, 0, count), odd), axis + 1).flatten(axis, axis + 1)
    return pairs if even.shape[axis] == count else torch.cat((pairs, section(even, axis, count, None)), axis)
