"""The stacks of modes that torch keeps for each thread: what a recording puts on them goes, whatever the recorded function left there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..compat import (
    count_dispatch_modes,
    count_function_modes,
    function_mode_at,
    pop_dispatch_mode,
    pop_function_mode,
    push_dispatch_mode,
    push_function_mode,
)

_Stack = tuple[Callable[[], int], Callable[[], Any], Callable[[Any], None]]
_STACKS: tuple[_Stack, ...] = (
    (count_function_modes, pop_function_mode, push_function_mode),
    (count_dispatch_modes, pop_dispatch_mode, push_dispatch_mode),
)


@contextmanager
def unwound() -> Iterator[None]:
    """At the end of the block the stacks are no higher than at its start: a mode may be left open in a generator that nobody finished."""
    heights = [height() for height, _, _ in _STACKS]
    try:
        yield
    finally:
        for (height, pop, _), before in zip(_STACKS, heights):
            while height() > before:
                pop()


def is_listening(mode: Any) -> bool:
    """Whether the mode of functions would see a call made now: not while it answers one, when torch has it off the stack."""
    return any(function_mode_at(place) is mode for place in range(count_function_modes()))


@contextmanager
def without(*classes: type) -> Iterator[None]:
    """Inside of the block, modes of these classes are off; those of others stay on, in their order."""
    if not (count_function_modes() or count_dispatch_modes()):
        with unwound():
            yield
        return
    stacks = [[pop() for _ in range(height())][::-1] for height, pop, _ in _STACKS]
    try:
        _refill([[mode for mode in stack if not isinstance(mode, classes)] for stack in stacks])
        with unwound():
            yield
    finally:
        _refill(stacks)


def _refill(stacks: list[list[Any]]) -> None:
    for (height, pop, push), modes in zip(_STACKS, stacks):
        while height():
            pop()
        for mode in modes:
            push(mode)
