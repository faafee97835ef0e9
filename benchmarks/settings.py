"""What the command line asks for, handed to every section."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Settings:
    """How long to measure."""

    quick: bool = False

    @property
    def rounds(self) -> int:
        """Of steady calls."""
        return 8 if self.quick else 40

    @property
    def few_rounds(self) -> int:
        """Of what takes seconds each time: conversions, first calls."""
        return 2 if self.quick else 5

    @property
    def goes(self) -> int:
        """Of compiling small functions anew, each of which lands on memory that makes it some percent slower
        or faster.
        """
        return 6 if self.quick else 8

    @property
    def batch(self) -> float:
        """Seconds of one sample of steady calls."""
        return 0.01 if self.quick else 0.03
