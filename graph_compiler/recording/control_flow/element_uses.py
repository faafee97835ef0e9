"""``max``, ``min``, ``int`` and ``float`` of arrays whose elements are not known while recording."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...forwarding import forwards
from .regions import ArrayKind, Regions, regions_of


def _extreme(symbol: str) -> Callable[..., Any]:
    @forwards
    def extreme(found: Regions, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        items = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
        if kwargs or len(items) < 2 or not any(regions_of(item) is not None for item in items):
            return function(*args, **kwargs)
        best = items[0]
        for item in items[1:]:
            is_better = getattr(operator, symbol)(item, best)
            best = (
                found.where(is_better, item, best)
                if regions_of(is_better) is not None
                else (item if is_better else best)
            )
        return best

    return extreme


def _number(dtype: str) -> Callable[..., Any]:
    kind = ArrayKind(dtype, (), True)

    @forwards
    def number(found: Regions, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if (
            kwargs
            or len(args) != 1
            or not found.is_inside
            or regions_of(args[0]) is None
            or not found.may_expect
        ):
            return function(*args, **kwargs)
        known = found.kind(args[0])
        if known.shape or known.dtype.startswith("complex"):
            return function(*args)
        if dtype == "int64" and known.dtype.startswith(("float", "bfloat")):
            # Python raises an error for NaN, infinity and larger numbers.
            found.expect(found.truth(abs(args[0]) < 2.0**63))
        return found.made(args[0], kind)

    return number


OF_ELEMENTS: dict[Any, Callable[..., Any]] = {
    builtins.max: _extreme("gt"), builtins.min: _extreme("lt"), builtins.int: _number("int64"),
    builtins.float: _number("float64"),
}  # fmt: skip
"""Python function -> function to call instead, with the regions, the function and its arguments."""
