"""Functions that install hooks on modules while they run: at their first call, as models do that collect hidden states.

A hook is a part of the program, not of its state: what is to be recorded is the function with its hooks in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ...ir.sameness import same_program
from ...tracing import Recording
from ...tracing.faults import is_fault
from ...tracing.state.places import Place

if TYPE_CHECKING:
    from .attempt import Attempt

_HOOKS = tuple(name for name in vars(torch.nn.Module()) if "forward" in name and "hooks" in name)


def is_hook(place: Place) -> bool:
    """Whether this is where modules keep hooks, or what is known of them."""
    return any(f"{name}[" in place.name for name in _HOOKS)


def as_installed(first: Attempt, attempt: Callable[[], Attempt]) -> Recording | None:
    """The function recorded again with what its ``first`` recording has left, where that changes nothing any more and the graph is the
    same.

    What was left then stays, as after the first call of the original; otherwise it is taken back, and None is given.
    """
    before = {place: place.read() for place in first.left}
    for place, item in first.left.items():
        place.write(item)
    again: Recording | None = None
    try:
        made = attempt()
        if not (made.left or made.is_other_code) and same_program(first.recording.graph, made.recording.graph):
            again = made.recording
    # The user's code runs, and may raise anything: what it raises is reported where it is recorded with state.
    except Exception as problem:
        if is_fault(problem):
            raise
    finally:
        if again is None:
            for place, item in before.items():
                place.write(item)
    return again
