"""State that a program reads before a call and writes after it, beyond its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # descriptions of the user's objects, which the IR hands on from the recording to the runtime and never looks into
    from ..tracing.state.places import State
    from ..tracing.state.updates import Update


@dataclass(frozen=True, slots=True)
class GraphState:
    """State of the user's objects that a graph reads and writes. Frontends fill it in; the runtime applies
    it.

    places: attributes, closures and globals that a call reads and changes; None if there are none.
    updates: changes to containers; None if a call changes no container and no place. If it is a tuple,
        even an empty one, the output of the graph is `(result, new objects)`.
    same_outputs: for each leaf of that output, the index of the first leaf that is the same object.
    scalar_outputs: indices of leaves that are numpy scalars.
    returns_written: True if arrays in places that are written to are already among the new objects.
    """

    places: State | None = None
    updates: tuple[Update, ...] | None = None
    same_outputs: tuple[int, ...] = ()
    scalar_outputs: tuple[int, ...] = ()
    returns_written: bool = False

    @property
    def is_empty(self) -> bool:
        """True if a call neither reads nor changes anything but its arguments."""
        return self.places is None and self.updates is None
