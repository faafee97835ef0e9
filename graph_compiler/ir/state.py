"""What a program reads from outside of its arguments before a call, and what it leaves there and in its arguments after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # descriptions of the user's objects, which the IR hands on from the recording to the runtime and never looks into
    from ..tracing.state.places import State
    from ..tracing.state.updates import Update


@dataclass(frozen=True, slots=True)
class GraphState:
    """Written by the torch and numpy frontends when a recording ends, kept by lifting, read by the runtime (matching, write-back).

    ``places`` are the attributes, closures and globals that a call reads and changes, None where there are none. ``updates`` are the
    changes to containers, None where a call changes no container and no place; where it is a tuple, even an empty one, the output of the
    graph is ``(result, new objects)``. The other fields describe the leaves of that output, for frameworks whose arrays the user's objects
    have to hold afterwards: ``same_outputs`` gives for each leaf the first one that is the same object, and ``scalar_outputs`` numbers the
    leaves that are scalars of numpy. ``returns_written`` tells the lifter that arrays in places that are written to are among the new
    objects already.
    """

    places: State | None = None
    updates: tuple[Update, ...] | None = None
    same_outputs: tuple[int, ...] = ()
    scalar_outputs: tuple[int, ...] = ()
    returns_written: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether a call neither reads nor changes anything but its arrays."""
        return self.places is None and self.updates is None
