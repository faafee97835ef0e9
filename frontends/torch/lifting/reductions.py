"""Reductions, order statistics, cumulative reductions, differences and numerical gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.dtypes import is_floating, is_inexact
from ....ops.statistics import accumulated
from ....sizes import apply, hint_of, product
from ...common.indexing import cut, holds_with_guard
from ..basics.tensors import dtype_name
from .table import TorchBuilder, axes, axis, rows


def over(dim: Any, x: Any) -> Any:
    """Convert torch's ``dim`` to ``axis``: an int, a tuple, or None for all axes or a 0-d ``x``."""
    found = axes(dim, x.ndim)
    if found is None or x.ndim == 0:
        return None
    return found[0] if len(found) == 1 else found


def flat(b: TorchBuilder, x: Any) -> Any:
    return x if x.ndim == 1 else b.reshape(x, shape=(product(x.shape),))


def along(b: TorchBuilder, x: Any, dim: int) -> tuple[Any, int]:
    return (b.reshape(x, shape=(1,)), 0) if x.ndim == 0 else (x, axis(dim, x.ndim))


# ---------------------------------------------------------------------------------------------- sums
def _accumulator(dtype: str) -> str:
    # The operations sum unsigned integers as uint64, torch as int64.
    return "int64" if accumulated(dtype) == "uint64" else accumulated(dtype)


def _accumulate(b: TorchBuilder, name: str, x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    kind = _accumulator(x.dtype) if dtype is None else dtype_name(dtype)
    where = {"axis": over(dim, x), "keepdims": bool(keepdim)}
    # With ``dtype=torch.bool``, a sum is an "or", and a product an "and".
    if kind == "bool":
        return b.all(x, **where) if name == "prod" else b.any(x, **where)
    # A dtype that equals the default would only make the generated code longer.
    return getattr(b, name)(x, **where, dtype=None if kind == x.dtype == accumulated(x.dtype) else kind)


rows.table({
    "sum": lambda b, input, dim=None, keepdim=False, *, dtype=None:
        _accumulate(b, "sum", input, dim, keepdim, dtype),
    "nansum": lambda b, input, dim=None, keepdim=False, *, dtype=None: _accumulate(
        b, "nansum" if "float" in input.dtype else "sum", input, dim, keepdim, dtype
    ),
    "prod": lambda b, input, dim=None, keepdim=False, *, dtype=None:
        _accumulate(b, "prod", input, dim, keepdim, dtype),
    ("logsumexp", "special_logsumexp"): lambda b, input, dim, keepdim=False: b.logsumexp(
        b.floating(input), axis=over(dim, input), keepdims=bool(keepdim)
    ),
})  # fmt: skip


@rows.row("mean")
def mean(b: TorchBuilder, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    x = input if dtype is None else b.cast(input, dtype)
    return b.mean(x, axis=over(dim, x), keepdims=bool(keepdim))


@rows.row("nanmean")
def nanmean(b: TorchBuilder, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    x = input if dtype is None else b.cast(input, dtype)
    return b.nanmean(x, axis=over(dim, x), keepdims=bool(keepdim))


def _spread(name: str, with_mean: bool) -> Callable[..., Any]:
    def row(
        b: TorchBuilder,
        input: Any,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        # The second argument of ``var(input, unbiased)`` is a bool.
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 0 if unbiased is False else 1
        where = {"axis": over(dim, input), "keepdims": bool(keepdim)}
        result = getattr(b, name)(input, correction=correction, **where)
        return (result, b.mean(input, **where)) if with_mean else result

    return row


for _name in ("var", "std"):
    rows.row(_name)(_spread(_name, with_mean=False))
    rows.row(f"{_name}_mean")(_spread(_name, with_mean=True))


# ---------------------------------------------------------------------------------------------- extremes
def _extreme(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = dim if hasattr(dim, "spec") else other
        if other is not None:
            return getattr(b, f"{name}imum")(*b.promote(input, other))
        where = {"axis": over(dim, input), "keepdims": bool(keepdim)}
        # Along an axis, torch's gradient goes to the element at the returned index. Over all axes, equal
        # elements share the gradient.
        values = getattr(b, name)(input, **where, first=where["axis"] is not None)
        return values if dim is None else (values, getattr(b, f"arg{name}")(input, **where))

    return row


def _extremes(name: str) -> Callable[..., Any]:
    return lambda b, input, dim=(), keepdim=False: getattr(b, name)(
        input, axis=over(dim, input), keepdims=bool(keepdim)
    )


def _index_of_extreme(name: str) -> Callable[..., Any]:
    return lambda b, input, dim=None, keepdim=False: getattr(b, name)(
        input, axis=over(dim, input), keepdims=bool(keepdim)
    )


for _name in ("max", "min"):
    rows.row(_name)(_extreme(_name))
    rows.row(f"a{_name}")(_extremes(_name))
    rows.row(f"arg{_name}")(_index_of_extreme(f"arg{_name}"))


@rows.row("aminmax")
def aminmax(b: TorchBuilder, input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    where = {"axis": over(dim, input), "keepdims": bool(keepdim)}
    return b.min(input, **where), b.max(input, **where)


# ---------------------------------------------------------------------------------------------- truth
def _truth(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        # Unlike in ``sum``, an empty tuple means no axes.
        if isinstance(dim, (tuple, list)) and not dim:
            found = b.astype(input, dtype="bool")
        else:
            found = getattr(b, name)(input, axis=over(dim, input), keepdims=bool(keepdim))
        return b.astype(found, dtype="uint8") if input.dtype == "uint8" else found

    return row


rows.row("any", "_is_any_true")(_truth("any"))
rows.row("all", "_is_all_true")(_truth("all"))


rows.table({"count_nonzero": lambda b, input, dim=None: b.count_nonzero(input, axis=over(dim, input))})


# ------------------------------------------------------------------------------------------- order statistics
def _is_nothing(b: TorchBuilder, x: Any) -> bool:
    empty: bool = hint_of(x.shape[0]) == 0
    b.guard(apply("eq" if empty else "ne", x.shape[0], 0))
    return empty


def _shared_median(b: TorchBuilder, x: Any, skip_nan: bool) -> Any:
    # The median is the maximum of the elements up to it. Written so, equal elements share its gradient, as in
    # torch.
    middle, _ = b.lower_median(b.stop_gradient(x), axis=0, skip_nan=skip_nan)
    reached = b.logical_or(b.less_equal(x, middle), b.isnan(middle))
    return b.max(b.where(reached, x, -math.inf), axis=0)


def _median(skip_nan: bool) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x, place = (flat(b, input), 0) if dim is None else along(b, input, dim)
        if dim is None and _is_nothing(b, x):
            if not is_inexact(x.dtype):
                raise NotImplementedError("the median of no whole numbers, which torch leaves open")
            return b.full(shape=(), fill_value=math.nan, dtype=x.dtype)
        if dim is None and is_floating(x.dtype):
            return _shared_median(b, x, skip_nan)
        values, indices = b.lower_median(
            x, axis=place, keepdims=bool(keepdim) and input.ndim > 0, skip_nan=skip_nan
        )
        return values if dim is None else (values, indices)

    return row


rows.row("median")(_median(skip_nan=False))
rows.row("nanmedian")(_median(skip_nan=True))


@rows.row("mode")
def mode(b: TorchBuilder, input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    x, place = along(b, input, dim)
    return b.mode(x, axis=place, keepdims=bool(keepdim) and input.ndim > 0)


def _quantile(skip_nan: bool) -> Callable[..., Any]:
    def row(
        b: TorchBuilder,
        input: Any,
        q: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Any:
        return b.quantile(
            input,
            b.operand(q, input.dtype),
            axis=over(dim, input),
            keepdims=bool(keepdim) and input.ndim > 0,
            interpolation=interpolation,
            skip_nan=skip_nan,
        )

    return row


rows.row("quantile")(_quantile(skip_nan=False))
rows.row("nanquantile")(_quantile(skip_nan=True))


# -------------------------------------------------------------------------------------- cumulative reductions
def _running(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, dim: int, *, dtype: Any = None) -> Any:
        x = b.cast(input, _accumulator(input.dtype) if dtype is None else dtype)
        # The operations widen narrow dtypes unless the dtype is given.
        kind = None if accumulated(x.dtype) == x.dtype else x.dtype
        return getattr(b, name)(x, axis=axis(dim, x.ndim), dtype=kind) if x.ndim else x

    return row


rows.row("cumsum")(_running("cumulative_sum"))
rows.row("cumprod")(_running("cumulative_prod"))


@rows.row("logcumsumexp")
def logcumsumexp(b: TorchBuilder, input: Any, dim: int) -> Any:
    if "complex" in input.dtype:
        raise NotImplementedError("logcumsumexp of complex numbers, of which torch follows the phase")
    return b.logcumsumexp(input, axis=axis(dim, input.ndim)) if input.ndim else input


def _running_extreme(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, dim: int) -> Any:
        x, place = along(b, input, dim)
        values, indices = getattr(b, name)(b.astype(x, dtype="uint8") if x.dtype == "bool" else x, axis=place)
        return b.reshape(b.astype(values, dtype=input.dtype), shape=input.shape), b.reshape(
            indices, shape=input.shape
        )

    return row


for _name in ("cummax", "cummin"):
    rows.row(_name)(_running_extreme(_name))


@rows.row("diff")
def diff(
    b: TorchBuilder, input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    # torch ignores ``prepend`` and ``append`` then.
    if n == 0:
        return input
    place = axis(dim, input.ndim)
    parts = b.promote(*(item for item in (prepend, input, append) if item is not None))
    whole = b.concat(*parts, axis=place)
    # The size of the result is negative for fewer elements.
    holds_with_guard(b, n, whole.shape[place])
    return b.diff(whole, axis=place, n=n)


Weights = tuple[Value, Value, Value]
Bounds = tuple[int | None, int | None]


@rows.row("gradient")
def gradient(
    b: TorchBuilder, input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Value, ...]:
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    spacing = 1 if spacing is None else spacing
    spacings = spacing if isinstance(spacing, (tuple, list)) else (spacing,) * len(dims)
    return tuple(
        _along(b, input, axis(place, input.ndim), step, b.fix(edge_order))
        for place, step in zip(dims, spacings)
    )


def _along(b: TorchBuilder, x: Value, place: int, step: Any, edge_order: int) -> Value:
    if isinstance(step, Value) and step.ndim == 1:
        inside = _at_coordinates(b, x, place, step)
        edges = [_at_uneven_edge(b, x, place, side, step, edge_order) for side in (0, -1)]
    else:
        inside = _ratio(b, _difference(b, x, place, 2), _double(b, step))
        edges = [_at_even_edge(b, x, place, side, step, edge_order) for side in (0, -1)]
    return b.concat(*b.promote(edges[0], inside, edges[1]), axis=place)


def _double(b: TorchBuilder, step: Any) -> Any:
    return b.multiply(step, 2) if isinstance(step, Value) else step * 2


def _ratio(b: TorchBuilder, x: Value, width: Any) -> Value:
    above, below = (
        b.promote(b.floating(x), width) if isinstance(width, Value) else (b.floating(x), float(width))
    )
    return b.divide(above, below)


def _difference(b: TorchBuilder, x: Value, place: int, distance: int) -> Value:
    return b.subtract(cut(b, x, place, distance), cut(b, x, place, None, -distance))


def _edge(b: TorchBuilder, x: Value, place: int, side: int, further: int = 0) -> Value:
    pair = (
        cut(b, x, place, further, further + 2)
        if side == 0
        else cut(b, x, place, -2 - further, -further or None)
    )
    return _difference(b, pair, place, 1)


def spread_along(b: TorchBuilder, steps: Value, x: Value, place: int) -> Value:
    return b.reshape(steps, shape=(*(1,) * place, steps.shape[0], *(1,) * (x.ndim - place - 1)))


def _at_coordinates(b: TorchBuilder, x: Value, place: int, coordinates: Value) -> Value:
    before, after = _pairs_of_steps(b, coordinates)
    return _weighted(b, x, place, _in_the_middle(b, before, after), ((0, -2), (1, -1), (2, None)))


def _at_uneven_edge(
    b: TorchBuilder, x: Value, place: int, side: int, coordinates: Value, edge_order: int
) -> Value:
    """Return the derivative along axis ``place`` at the first (``side`` 0) or last (``side`` -1) element."""
    if edge_order == 1:
        steps = _difference(b, coordinates, 0, 1)
        return _ratio(b, _edge(b, x, place, side), spread_along(b, _outermost(b, steps, side), x, place))
    before, after = (_outermost(b, steps, side) for steps in _pairs_of_steps(b, coordinates))
    weights = (
        _at_first(b, before, after)
        if side == 0
        else tuple(b.negative(weight) for weight in _at_first(b, after, before)[::-1])
    )
    cuts = ((0, 1), (1, 2), (2, 3)) if side == 0 else ((-3, -2), (-2, -1), (-1, None))
    return _weighted(b, x, place, weights, cuts)


def _pairs_of_steps(b: TorchBuilder, coordinates: Value) -> tuple[Value, Value]:
    steps = _difference(b, coordinates, 0, 1)
    return cut(b, steps, 0, None, -1), cut(b, steps, 0, 1)


def _outermost(b: TorchBuilder, steps: Value, side: int) -> Value:
    return cut(b, steps, 0, None, 1) if side == 0 else cut(b, steps, 0, -1)


def _in_the_middle(b: TorchBuilder, before: Value, after: Value) -> Weights:
    """Return the finite-difference weights of three consecutive elements for the slope at the middle one.

    ``before`` and ``after`` are its distances to the others.
    """
    # The terms are torch's own, because these decide the result for a distance of 0.
    both = b.add(before, after)
    return (
        _ratio(b, b.negative(after), b.multiply(before, both)),
        _ratio(b, b.subtract(after, before), b.multiply(before, after)),
        _ratio(b, before, b.multiply(after, both)),
    )


def _at_first(b: TorchBuilder, near: Value, far: Value) -> Weights:
    """Return the finite-difference weights of three consecutive elements for the slope at the first one.

    ``near`` is the distance from the first to the second element, ``far`` from the second to the third.
    """
    both = b.add(near, far)
    return (
        _ratio(b, b.negative(b.add(b.multiply(near, 2), far)), b.multiply(near, both)),
        _ratio(b, both, b.multiply(near, far)),
        _ratio(b, b.negative(near), b.multiply(far, both)),
    )


def _weighted(b: TorchBuilder, x: Value, place: int, weights: Weights, cuts: tuple[Bounds, ...]) -> Value:
    parts = [
        b.combined("multiply", spread_along(b, weight, x, place), cut(b, x, place, *part))
        for weight, part in zip(weights, cuts, strict=True)
    ]
    return b.add(b.add(parts[0], parts[1]), parts[2])


def _at_even_edge(b: TorchBuilder, x: Value, place: int, side: int, step: Any, edge_order: int) -> Value:
    near = _ratio(b, _edge(b, x, place, side), step)
    if edge_order == 1:
        return near
    next_slope = _ratio(b, _edge(b, x, place, side, 1), step)
    return b.subtract(b.multiply(near, 1.5), b.multiply(next_slope, 0.5))
