"""What becomes of the results of all devices: names of reductions, and the check of ``reduce=``."""

from __future__ import annotations

from typing import Any

from ..contracts.parallelism import REDUCTIONS
from ..errors import InvalidOption, nearest

concat, mean, sum, first, none = REDUCTIONS


def require_reduction(reduce: Any) -> None:
    """``InvalidOption`` for what is neither the name of a reduction nor a function."""
    if reduce not in REDUCTIONS if isinstance(reduce, str) else not callable(reduce):
        close = nearest(reduce, REDUCTIONS) if isinstance(reduce, str) else ""
        raise InvalidOption(
            f"reduce= is {reduce!r}, and has to be one of {', '.join(map(repr, REDUCTIONS))}, or a function of the results of all devices, "
            f"stacked along a first axis{close}"
        )


__all__ = ["concat", "first", "mean", "none", "require_reduction", "sum"]
