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
    def batch(self) -> float:
        """Seconds of one sample of steady calls."""
        return 0.01 if self.quick else 0.03
