"""Python's ``math`` while a torch function is recorded."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from contextlib import AbstractContextManager

from ....sizes import computed
from ....tracing.reach.spaces import Space
from ...host_math import Symbols, math_shims
from ...shims import shimmed, under_any_name
from ..trace import Trace
from .numbers import opened
from .sizes import is_symbolic, symbolic


def math_seen(capture: Trace, spaces: Iterable[Space]) -> AbstractContextManager[None]:
    """Inside of the block these functions take symbols as they are: as attributes of their module, and under any name in these modules."""
    return shimmed(under_any_name((vars(math), *(space.held for space in spaces)), math_shims(symbols_of(capture))))


def symbols_of(capture: Trace) -> Symbols:
    """The symbolic numbers of an attempt."""
    decide = capture.decide
    return Symbols(
        is_symbolic,
        functools.partial(opened, capture),
        lambda function, operands: symbolic(computed(function, operands, decide), decide),
    )
