"""NumPy functions that call the user's functions or read elements, reimplemented with recorded calls."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...forwarding import forwards
from .vectorized import vectorize

# Returns the function that records calls of the NumPy function with a name.
Recorded = Callable[[str], Callable[..., Any]]


@forwards
def piecewise(recorded: Recorded, x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute ``np.piecewise``: a function or number for each condition, and optionally one for the rest.

    If several conditions hold, the last one decides; if none does, the element is 0. Raise ``ValueError``
    for any other number of functions.
    """
    x = recorded("asarray")(x)
    single = np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0)
    conditions = [
        recorded("asarray")(condition, dtype=bool) for condition in ([condlist] if single else condlist)
    ]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.logical_or.reduce(recorded("array")(conditions)))
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} "
            "functions are expected"
        )
    result = recorded("zeros_like")(x)
    for condition, function in zip(conditions, funclist):
        result[condition] = function(x[condition], *args, **kwargs) if callable(function) else function
    return result


def apply_along_axis(recorded: Recorded, func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    lines = np.moveaxis(recorded("asarray")(arr), axis, -1)
    before = lines.shape[:-1]
    places = itertools.product(*(range(operator.index(size)) for size in before))
    found = np.stack([recorded("asarray")(func1d(lines[place], *args, **kwargs)) for place in places])
    whole = found.reshape((*before, *found.shape[1:]))
    rest, place = len(before), axis % (len(before) + 1)
    # NumPy puts the axes of the results where ``axis`` was.
    order = [*range(place), *range(rest, whole.ndim), *range(place, rest)]
    return whole.transpose(order)


def fromfunction(recorded: Recorded, function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    return function(*recorded("indices")(shape, dtype=dtype), **kwargs)


@forwards
def apply_over_axes(recorded: Recorded, func: Any, a: Any, axes: Any) -> Any:
    """Compute ``np.apply_over_axes``: reduce over one axis after the other, keeping each with size 1."""
    found = recorded("asarray")(a)
    rank = found.ndim
    for axis in axes if isinstance(axes, (list, tuple)) else (axes,):
        reduced = func(found, axis % rank)
        found = reduced if reduced.ndim == rank else np.expand_dims(reduced, axis % rank)
        if found.ndim != rank:
            raise ValueError("function is not returning an array of the correct shape")
    return found


@forwards
def roots(recorded: Recorded, p: Any) -> Any:
    """Compute ``np.roots`` from the eigenvalues of the companion matrix.

    Which leading and trailing coefficients are 0 is read from the array, and guarded.
    """
    p = np.atleast_1d(recorded("asarray")(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    held = np.flatnonzero(p)
    if held.shape[0] == 0:
        return recorded("zeros")(0)
    # Leading zeros have no root, and each trailing zero has the root 0.
    first, last = int(held[0]), int(held[-1])
    p, ends = p[first : last + 1], len(p) - 1 - last
    p = p if p.dtype.kind in "fc" else p.astype(float)
    if len(p) < 2:
        return recorded("zeros")(ends)
    companion = recorded("diag")(recorded("ones")(len(p) - 2, p.dtype), -1)
    companion[0] = -p[1:] / p[0]
    found = np.linalg.eigvals(companion)
    return np.hstack((found, recorded("zeros")(ends, found.dtype)))


def polydiv(recorded: Recorded, u: Any, v: Any) -> Any:
    """Compute ``np.polydiv`` by long division.

    Whether the remainder has leading zeros is read from the array, and guarded.
    """
    # NumPy converts integers to floats by this addition, too.
    u, v = (np.atleast_1d(recorded("asarray")(item)) + 0.0 for item in (u, v))
    kind, steps = (u[0] + v[0]).dtype, max(len(u) - len(v) + 1, 0)
    quotient, rest = recorded("zeros")(max(steps, 1), kind), u.astype(kind)
    scale = 1.0 / v[0]
    for place in range(steps):
        quotient[place] = scale * rest[place]
        rest[place : place + len(v)] -= quotient[place] * v
    while np.allclose(rest[0], 0, rtol=1e-14) and len(rest) > 1:
        rest = rest[1:]
    return quotient, rest


def ndenumerate(recorded: Recorded, arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    array = recorded("asarray")(arr)
    return (
        (place, array[place])
        for place in itertools.product(*(range(operator.index(size)) for size in array.shape))
    )


OPENED: dict[str, Callable[..., Any]] = {
    "ndenumerate": ndenumerate,
    "piecewise": piecewise,
    "apply_along_axis": apply_along_axis,
    "apply_over_axes": apply_over_axes,
    "fromfunction": fromfunction,
    "polydiv": polydiv,
    "roots": roots,
    "vectorize": vectorize,
}
