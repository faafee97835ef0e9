"""Tells code that asks that it is being compiled, as ``torch.compile`` and ``torch.export`` do."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ...forwarding import forward
from ...ir.aliases import Aliases
from ...ir.graph import Graph
from ...recording.faults import is_fault
from ...trees import iterate_structure
from .capture.known_calls import FirstRun, TakingOver
from .compat import compiling_flag, set_compiling_flag
from .process.settings import unwound
from .reference import undone
from .state.state import State

_CLOSE = {
    2: 5e-2,
    4: 1e-3,
}  # bytes of a real element -> difference as a part of the largest: other kernels may have been chosen


# told that they are compiled, optimisers compute with tensors of float32 what they compute with Python's
# numbers otherwise
_PLAIN = "torch.optim"


class Compiling(int):
    """True but for the code of optimisers and other threads, and knows whether anybody else asked."""

    asked = False

    def __init__(self, value: int, outside: Any = False) -> None:
        self.outside, self._thread = outside, threading.get_ident()

    def __new__(cls, value: int, outside: Any = False) -> Compiling:
        return super().__new__(cls, value)

    def __bool__(self) -> bool:
        if threading.get_ident() != self._thread:  # the flag is one for the whole process
            return bool(self.outside)
        if str(sys._getframe(1).f_globals.get("__name__")).startswith(_PLAIN):
            return False
        self.asked = True
        return True


@contextmanager
def compiling(claim: bool = True) -> Iterator[Compiling]:
    """``torch.compiler.is_compiling()`` is True inside of the block, if that is the ``claim``.

    Models ask it before they look at elements (is the mask all ones?) to choose a shortcut. A graph for
    another framework is better off without: it then holds for every mask, and need not wait for elements at
    each call.
    """
    outside = compiling_flag()
    flag = Compiling(1, outside)
    if claim:
        set_compiling_flag(flag)
    try:
        yield flag
    finally:
        set_compiling_flag(outside)


def kept(result: Any) -> list[torch.Tensor]:
    return [item.detach().clone() for item in iterate_structure((result,)) if isinstance(item, torch.Tensor)]


@dataclass(frozen=True)
class Seen:
    """What a run gave, as copies, and what its calls gave on the way."""

    result: list[torch.Tensor]
    calls: FirstRun


def differs_outside(
    graph: Graph,
    state: State,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    seen: Seen,
) -> bool:
    """Runs the function once more with ``is_compiling()`` False, and tells whether the result differs from
    ``seen``.

    ``state`` is what the function can reach; it is put back. Functions that draw random numbers, write to
    what they are given or keep state are not asked.
    """
    if not _is_pure(graph):
        return False
    with undone(state.weights, seed=None, state=state):
        try:
            with TakingOver(seen.calls), unwound():
                plain = kept(forward(function, *args, **kwargs))
        # The user's code runs, and may raise anything where it is told something else.
        except Exception as problem:
            if is_fault(problem):
                raise
            return True
    return len(plain) != len(seen.result) or not all(map(_is_close, seen.result, plain))


def _is_pure(graph: Graph) -> bool:
    written = Aliases(graph).written
    is_state = graph.effects or not graph.state.is_empty or any(value in written for value in graph.sources())
    return not is_state and not any(node.is_random for node in graph.nodes)


def _is_close(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return torch.equal(found, wanted)
    largest = (
        wanted.nan_to_num(0, 0, 0).abs().max().item() if wanted.numel() and not wanted.is_complex() else 1.0
    )
    return torch.allclose(
        found, wanted, rtol=0, atol=_CLOSE.get(wanted.element_size(), 1e-3) * largest, equal_nan=True
    )
