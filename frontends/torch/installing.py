"""Functions that install hooks on modules while they run: at their first call, as models do that collect hidden states.

A hook is a part of the program, not of its state: what is to be recorded is the function with its hooks in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ...ir.graph import Graph
from ...ir.sameness import same_program
from ...tracing.places import Place

if TYPE_CHECKING:
    from .recording import Recording

_HOOKS = tuple(name for name in vars(torch.nn.Module()) if "forward" in name and "hooks" in name)


def is_hook(place: Place) -> bool:
    """Whether this is where modules keep hooks, or what is known of them."""
    return any(f"{name}[" in place.name for name in _HOOKS)


def as_installed(graph: Graph, left: Mapping[Place, Any], attempt: Callable[[], tuple[Recording, dict[Place, Any]]]) -> Recording | None:
    """The function recorded again with what its first recording has ``left``, where that changes nothing any more and the graph is the same.

    What was left then stays, as after the first call of the original; otherwise it is taken back, and None is given.
    """
    before = {place: place.read() for place in left}
    for place, item in left.items():
        place.write(item)
    again = None
    try:
        again, more = attempt()
        again = again if not (more or again.is_other_code) and same_program(graph, again.graph) else None
    except Exception:  # reported where it is recorded with state
        again = None
    finally:
        if again is None:
            for place in left:
                place.write(before[place])
    return again
