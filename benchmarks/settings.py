"""Settings from the command line, which every section gets."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Settings:
    """How long to measure: ``quick`` takes fewer and shorter samples."""

    quick: bool = False

    @property
    def rounds(self) -> int:
        """Number of rounds of steady calls."""
        return 8 if self.quick else 40

    @property
    def few_rounds(self) -> int:
        """Number of rounds of what takes seconds each time: conversions and first calls."""
        return 2 if self.quick else 5

    @property
    def goes(self) -> int:
        """How often small functions are compiled anew.

        Each compilation puts them elsewhere in memory, which makes some percent of the time.
        """
        return 6 if self.quick else 8

    @property
    def batch(self) -> float:
        """Seconds of one sample of steady calls."""
        return 0.01 if self.quick else 0.03
