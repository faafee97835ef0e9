"""What becomes of the results of all devices: names of reductions, and the check of ``reduce=``."""

from __future__ import annotations

from typing import Any

from ..contracts.parallelism import REDUCTIONS
from ..errors import InvalidOption, nearest

concat = REDUCTIONS[0]
"""Value of ``reduce=``: join the devices' results along the first axis. Numbers become an array with one for each device."""
mean = REDUCTIONS[1]
"""Value of ``reduce=``: the mean over the devices."""
sum = REDUCTIONS[2]
"""Value of ``reduce=``: the sum over the devices."""
first = REDUCTIONS[3]
"""Value of ``reduce=``: the results of the first device, for results that are equal on all devices."""
none = REDUCTIONS[4]
"""Value of ``reduce=``: a list with the result of each device of this process."""


def require_reduction(reduce: Any) -> None:
    """``InvalidOption`` for what is neither the name of a reduction nor a function."""
    if reduce not in REDUCTIONS if isinstance(reduce, str) else not callable(reduce):
        close = nearest(reduce, REDUCTIONS) if isinstance(reduce, str) else ""
        raise InvalidOption(
            f"reduce= is {reduce!r}, and has to be one of {', '.join(map(repr, REDUCTIONS))}, or a function of the results of all devices, "
            f"stacked along a first axis{close}"
        )


__all__ = ["concat", "first", "mean", "none", "require_reduction", "sum"]
