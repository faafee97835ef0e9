"""What a tracing of a JAX function assumes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypotheses:
    """Assumptions of one tracing, which become guards.

    equal: sizes that are equal in the recorded call are equal in every call.
    fixed: axes, as (input, axis), whose size is that of the recorded call.
    reads: Python reads elements, so their places are found before the recording.
    loops: numbers of iterations are symbols.
    """

    equal: bool = False
    fixed: frozenset[tuple[int, int]] = frozenset()
    reads: bool = False
    loops: bool = True

    def given_up_of(self, before: Hypotheses) -> str:
        """Return what these hypotheses give up of those ``before``, in words; empty if guards on elements are all that is new."""
        if self.loops != before.loops:
            return "making the numbers of iterations symbols"
        if self.fixed != before.fixed:
            return "making all sizes symbols"
        return "telling sizes that are equal in this call apart" if self.equal != before.equal else ""
