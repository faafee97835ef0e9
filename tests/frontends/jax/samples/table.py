"""Helpers of the tables: one row for several functions with the same arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.support.samples import Array, Sample, array, bools, ints

X, Y = array(3, 4), array(5, 2)
POSITIVE, OTHER_POSITIVE = array(3, 4, kind="positive"), array(5, 2, kind="positive")
UNIT, OTHER_UNIT = array(3, 4, kind="unit"), array(5, 2, kind="unit")
INTS, OTHER_INTS = ints(3, 4), ints(5, 2)
BOOLS, OTHER_BOOLS = bools(3, 4), bools(5, 2)
COMPLEX, OTHER_COMPLEX = Array((3, 4), "complex64"), Array((5, 2), "complex64")


def each(
    module: Any, names: str, args: tuple[Any, ...], other: tuple[Any, ...] | None = None, **kwargs: Any
) -> list[Sample]:
    """Return a sample of each function of ``module`` that ``names`` lists, separated by spaces."""
    short = getattr(module, "__name__", "").removeprefix("jax.").replace("numpy", "jnp")
    kinds = "-".join(map(_kind, args))
    return [
        Sample(getattr(module, name), args, kwargs, other, f"{short}.{name}-{kinds}")
        for name in names.split()
    ]


def _kind(item: Any) -> str:
    if isinstance(item, tuple):
        return f"({', '.join(map(_kind, item))})"
    return f"{item.dtype}{list(item.shape)}{item.kind[0]}" if isinstance(item, Array) else str(item)


def calls(functions: Iterable[tuple[str, Any, tuple[Any, ...], tuple[Any, ...] | None]]) -> list[Sample]:
    """Return samples of (name, function, arguments, other arguments)."""
    return [Sample(function, args, {}, other, name) for name, function, args, other in functions]
