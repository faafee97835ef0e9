"""The flag behind ``torch.compiler.is_compiling()`` while recording, and a check if results depend on it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ...forwarding import forward
from ...ir.graph import Aliases, Graph
from ...recording.faults import is_fault
from ...trees import iterate_structure
from .basics.tensors import hints
from .capture.known_calls import FirstRunResults, ResultReuse
from .compat import compiling_flag, set_compiling_flag
from .reference import restoring_state
from .settings import pop_new_modes
from .state.state import ReachableState

# Tolerated difference by bytes of an element, for real numbers relative to the largest element. Another
# kernel may have been selected.
_CLOSE = {
    2: 5e-2,
    4: 1e-3,
}


_PLAIN_VALUES = (bool, int, float, str, type(None))
# Optimizers that see that they are compiled compute with float32 tensors instead of Python numbers, and so
# get other results.
_PLAIN = "torch.optim"


class CompilingFlag(int):
    """Value of torch's ``is_compiling()`` flag during a recording.

    asked: True once the flag was found to be True.
    """

    asked = False

    def __init__(self, value: int, outside: Any = False) -> None:
        self.outside, self._thread = outside, threading.get_ident()

    def __new__(cls, value: int, outside: Any = False) -> CompilingFlag:
        return super().__new__(cls, value)

    def __bool__(self) -> bool:
        # The flag is shared by all threads.
        if threading.get_ident() != self._thread:
            return bool(self.outside)
        if str(sys._getframe(1).f_globals.get("__name__")).startswith(_PLAIN):
            return False
        self.asked = True
        return True


@contextmanager
def compiling(claim: bool = True) -> Iterator[CompilingFlag]:
    """Yield a :class:`CompilingFlag`, which is torch's flag inside of the context if ``claim`` is True."""
    outside = compiling_flag()
    flag = CompilingFlag(1, outside)
    # Models evaluate ``is_compiling()`` before they read elements (is the mask all ones?) to choose a
    # shortcut. A graph for another framework is better off without it: it then holds for every mask, and need
    # not read elements.
    if claim:
        set_compiling_flag(flag)
    try:
        yield flag
    finally:
        set_compiling_flag(outside)


def copy_result(result: Any) -> list[Any]:
    items = [hints(item) for item in iterate_structure((result,))]
    return [
        item.detach().clone() if isinstance(item, torch.Tensor) else item
        for item in items
        if isinstance(item, (torch.Tensor, *_PLAIN_VALUES))
    ]


@dataclass(frozen=True)
class RunResults:
    """Results of one run of a function, and of torch calls in it."""

    result: list[Any]
    calls: FirstRunResults


def differs_outside(
    graph: Graph,
    state: ReachableState,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    seen: RunResults,
) -> bool:
    """Return True if the function is found to raise or return something else without the compiling flag."""
    if not _is_pure(graph):
        return False
    with restoring_state(state.weights, seed=None, state=state):
        try:
            with ResultReuse(seen.calls), pop_new_modes():
                plain = copy_result(forward(function, *args, **kwargs))
        # The user's code may raise anything if it sees another value of the flag.
        except Exception as problem:
            if is_fault(problem):
                raise
            return True
    return len(plain) != len(seen.result) or not all(map(_is_close, seen.result, plain))


def _is_pure(graph: Graph) -> bool:
    written = Aliases(graph).written
    is_state = graph.effects or not graph.state.is_empty or any(value in written for value in graph.sources())
    return not is_state and not any(node.is_random for node in graph.nodes)


def _is_close(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, torch.Tensor) or not isinstance(found, torch.Tensor):
        # A float may have been read from a tensor.
        return type(found) is type(wanted) and (
            found == wanted
            or isinstance(wanted, float)
            and _is_close(torch.tensor(found), torch.tensor(wanted))
        )
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    # Integers and booleans have no rounding errors.
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return torch.equal(found, wanted)
    largest = (
        wanted.nan_to_num(0, 0, 0).abs().max().item() if wanted.numel() and not wanted.is_complex() else 1.0
    )
    return torch.allclose(
        found, wanted, rtol=0, atol=_CLOSE.get(wanted.element_size(), 1e-3) * largest, equal_nan=True
    )
