"""Rows of array creation, triangles, windows and ``pad``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_inexact
from ....sizes import apply, hint_of
from ...common.indexing import cut
from .manipulation import moveaxis
from .table import NumpyBuilder, axis_of, dtype_name, rows, shape_of


def _kind(b: NumpyBuilder, dtype: Any) -> str:
    return b.recorded_dtype() if dtype is None else dtype_name(dtype)


@rows.row("full")
def full(
    b: NumpyBuilder, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", device: Any = None
) -> Any:
    kind = _kind(b, dtype)
    if isinstance(fill_value, (Value, list, tuple)):
        return b.copy(b.broadcast_to(b.array(fill_value, kind), shape=shape_of(shape)))
    return b.full(shape=shape_of(shape), fill_value=b.operand(fill_value, kind), dtype=kind)


@rows.row("array", "asarray", "asanyarray")
def array(
    b: NumpyBuilder,
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
) -> Any:
    made = b.cast(
        b.copy(object) if isinstance(object, Value) else b.array(object, _kind(b, dtype)), _kind(b, dtype)
    )
    least = max(ndmin, len(b.recorded[0].shape))
    return b.reshape(made, shape=(*(1,) * (least - made.ndim), *made.shape)) if made.ndim < least else made


@rows.row("ascontiguousarray", "asfortranarray")
def arranged(b: NumpyBuilder, a: Any, dtype: Any = None, **unused: Any) -> Any:
    if not isinstance(a, Value):
        return array(b, a, dtype)
    # The result may be a view, which is taken again when something is written through it.
    made = b.cast(b.copy(a), a.dtype if dtype is None else dtype)
    return made if made.ndim else b.reshape(made, shape=(1,))


@rows.row("arange")
def arange(
    b: NumpyBuilder,
    *bounds: Any,
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    first, last, by = _bounds(bounds, start, stop, step)
    if any(isinstance(item, Value) for item in (first, last, by)):
        raise UnsupportedOperation(
            "arange between numbers that are computed has a length that depends on them; use int(..) or "
            "linspace"
        )
    kind = _kind(b, dtype)
    if not any(type(hint_of(item)) is float for item in (first, last, by)):
        # The range is empty, but at other sizes it may not be.
        beyond = isinstance(by, int) and (hint_of(last) - hint_of(first)) * by < 0
        return b.arange(
            start=first,
            stop=apply("max" if by > 0 else "min", last, first) if beyond else last,
            step=by,
            dtype=kind,
        )
    counted = b.arange(
        start=0, stop=apply("max", apply("ceil", (last - first) / by), 0), step=1, dtype="int64"
    )
    # NumPy computes each float from the first one.
    if is_inexact(kind):
        return b.add(b.multiply(b.astype(counted, dtype=kind), _float(by)), _float(first))
    # NumPy truncates the first two numbers, and continues by their difference.
    whole = apply("trunc", first)
    return b.cast(b.add(b.multiply(counted, apply("trunc", first + by) - whole), whole), kind)


def _float(number: Any) -> Any:
    return float(number) if isinstance(number, (int, float)) else number


def _bounds(bounds: tuple[Any, ...], start: Any, stop: Any, step: Any) -> tuple[Any, Any, Any]:
    if len(bounds) == 1 and stop is None and start is None:
        return 0, bounds[0], 1 if step is None else step
    first, last, by = (*bounds, None, None, None)[:3]
    first, last, by = (
        (first if first is not None else start),
        (last if last is not None else stop),
        (by if by is not None else step),
    )
    # As in NumPy, a start alone is the stop.
    if last is None:
        first, last = 0, first
    return (0 if first is None else first), last, (1 if by is None else by)


@rows.row("linspace")
def linspace(
    b: NumpyBuilder,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    kind = _kind(b, dtype)
    wide = kind if is_inexact(kind) else "float64"
    if retstep:
        return linspace(b, start, stop, num, endpoint, dtype=kind, axis=axis), _step(
            b, start, stop, num - 1 if endpoint else num
        )
    if axis % len(b.recorded[0].shape):
        return moveaxis(b, linspace(b, start, stop, num, endpoint, dtype=kind), 0, axis)
    if not endpoint or any(isinstance(item, Value) and item.ndim for item in (start, stop)):
        return b.cast(_spaced(b, b.array(start, wide), b.array(stop, wide), num, endpoint, wide), kind)
    found = b.linspace(b.operand(start, wide), b.operand(stop, wide), num=num, dtype=wide)
    # For integers NumPy rounds down, although a cast truncates.
    return found if kind == wide else b.astype(b.floor(found), dtype=kind)


def _step(b: NumpyBuilder, start: Any, stop: Any, parts: Any) -> Value:
    kind = b.recorded_dtype(1)
    if not hint_of(parts):
        raise UnsupportedOperation("the step of a linspace of one number is NaN, which has no row")
    b.guard(apply("gt", parts, 0))
    return b.divide(b.subtract(b.array(stop, kind), b.array(start, kind)), b.array(parts, kind))


def _spaced(b: NumpyBuilder, start: Value, stop: Value, num: Any, endpoint: bool, kind: str) -> Value:
    parts = num - 1 if endpoint else num
    rank = max(start.ndim, stop.ndim)
    counts = b.reshape(
        b.astype(b.arange(start=0, stop=num, step=1, dtype="int64"), dtype=kind), shape=(num, *(1,) * rank)
    )
    # A single number has no distance to a next one, and is ``start``.
    step = b.divide(b.subtract(stop, start), b.array(apply("max", parts, 1), kind))
    return b.add(b.multiply(counts, step), start)


@rows.row("logspace")
def logspace(
    b: NumpyBuilder,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    powers = linspace(b, start, stop, num, endpoint, axis=axis, dtype="float64")
    return b.cast(b.pow(b.array(base, "float64"), powers), _kind(b, dtype))


@rows.row("geomspace")
def geomspace(
    b: NumpyBuilder,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    if any(isinstance(item, Value) or hint_of(item) <= 0 for item in (start, stop)):
        raise UnsupportedOperation(
            "geomspace between computed or negative numbers has no row; use exp(linspace(log(a), log(b)))"
        )
    powers = linspace(b, math.log10(start), math.log10(stop), num, endpoint, axis=axis, dtype="float64")
    return b.cast(b.pow(b.array(10.0, "float64"), powers), _kind(b, dtype))


def _matrix(b: NumpyBuilder, m: Value) -> Value:
    return b.broadcast_to(m, shape=(*m.shape, *m.shape)) if m.ndim == 1 else m


@rows.row("tril_indices")
def tril_indices(b: NumpyBuilder, n: Any, k: int = 0, m: Any = None) -> Any:
    return b.unstack(
        b.tril_indices(n_rows=n, n_cols=n if m is None else m, k=k, dtype="int64"), axis=0, count=2
    )


@rows.row("triu_indices")
def triu_indices(b: NumpyBuilder, n: Any, k: int = 0, m: Any = None) -> Any:
    return b.unstack(
        b.triu_indices(n_rows=n, n_cols=n if m is None else m, k=k, dtype="int64"), axis=0, count=2
    )


@rows.row("diag_indices_from")
def diag_indices_from(b: NumpyBuilder, arr: Any) -> Any:
    for size in arr.shape[1:]:
        b.guard(apply("eq", arr.shape[0], size))
    return (b.arange(start=0, stop=arr.shape[0], step=1, dtype="int64"),) * arr.ndim


@rows.row("indices")
def indices(b: NumpyBuilder, dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    shape = tuple(dimensions)
    parts = []
    for axis, dim in enumerate(shape):
        line = tuple(dim if i == axis else 1 for i in range(len(shape)))
        parts.append(b.reshape(b.arange(start=0, stop=dim, step=1, dtype=dtype_name(dtype)), shape=line))
    return tuple(parts) if sparse else b.stack(*(b.broadcast_to(part, shape=shape) for part in parts), axis=0)


@rows.row("meshgrid")
def meshgrid(b: NumpyBuilder, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    lines = [b.array(x) for x in xi]
    lines = [b.reshape(line, shape=(line.shape[0] if line.ndim else 1,)) for line in lines]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    shape = tuple(lines[place].shape[0] for place in order)
    made = []
    for number, line in enumerate(lines):
        part = b.reshape(
            line, shape=tuple(line.shape[0] if order[i] == number else 1 for i in range(len(lines)))
        )
        made.append(part if sparse else b.copy(b.broadcast_to(part, shape=shape)))
    return tuple(made)


@rows.row("vander")
def vander(b: NumpyBuilder, x: Any, N: Any = None, increasing: bool = False) -> Any:
    kind, count = b.recorded_dtype(), x.shape[0] if N is None else N
    powers = (
        b.arange(start=0, stop=count, step=1, dtype="int64")
        if increasing
        else b.arange(start=count - 1, stop=-1, step=-1, dtype="int64")
    )
    column = b.reshape(b.cast(x, kind), shape=(x.shape[0], 1))
    return b.pow(column, b.cast(powers, kind))


rows.table({
    # The elements of numpy.empty are unspecified, so zeros will do.
    ("zeros", "empty"): lambda b, shape, dtype=None, order="C", device=None: b.zeros(
        shape=shape_of(shape), dtype=_kind(b, dtype)
    ),
    "ones": lambda b, shape, dtype=None, order="C", device=None: b.ones(
        shape=shape_of(shape), dtype=_kind(b, dtype)
    ),
    ("zeros_like", "empty_like"): (
        lambda b, a, dtype=None, order="K", subok=True, shape=None, device=None: b.zeros(
            shape=b.array(a).shape if shape is None else shape_of(shape), dtype=_kind(b, dtype)
        )
    ),
    "ones_like": lambda b, a, dtype=None, order="K", subok=True, shape=None, device=None: b.ones(
        shape=b.array(a).shape if shape is None else shape_of(shape), dtype=_kind(b, dtype)
    ),
    "full_like": lambda b, a, fill_value, dtype=None, order="K", subok=True, shape=None, device=None: full(
        b, b.array(a).shape if shape is None else shape, fill_value, dtype
    ),
    "eye": lambda b, N, M=None, k=0, dtype=None, order="C", *, device=None: b.eye(
        n_rows=N, n_cols=N if M is None else M, k=k, dtype=_kind(b, dtype)
    ),
    "identity": lambda b, n, dtype=None: b.eye(n_rows=n, n_cols=n, k=0, dtype=_kind(b, dtype)),
    "tri": lambda b, N, M=None, k=0, dtype=None: b.tril(
        b.ones(shape=(N, N if M is None else M), dtype=_kind(b, dtype)), k=k
    ),
    "tril": lambda b, m, k=0: b.tril(_matrix(b, m), k=k),
    "triu": lambda b, m, k=0: b.triu(_matrix(b, m), k=k),
    "tril_indices_from": lambda b, arr, k=0: tril_indices(b, arr.shape[-2], k, arr.shape[-1]),
    "triu_indices_from": lambda b, arr, k=0: triu_indices(b, arr.shape[-2], k, arr.shape[-1]),
})  # fmt: skip


# ---------------------------------------------------------------------------------------------- windows
def _is_short(b: NumpyBuilder, M: Any) -> bool:
    # Formulas of windows divide by ``M - 1``.
    b.guard(apply("gt" if hint_of(M) > 1 else "le", M, 1))
    return bool(hint_of(M) <= 1)


def _ones(b: NumpyBuilder, M: Any) -> Value:
    made: Value = b.ones(shape=(max(b.fix(M), 0),), dtype="float64")
    return made


def _window(terms: tuple[float, ...]) -> Any:
    def row(b: NumpyBuilder, M: Any) -> Any:
        if _is_short(b, M):
            return _ones(b, M)
        n = b.astype(b.arange(start=1 - M, stop=M, step=2, dtype="int64"), dtype="float64")
        phase = b.multiply(b.divide(n, b.array(M - 1, "float64")), math.pi)
        total = b.full(shape=(M,), fill_value=terms[0], dtype="float64")
        for order, weight in enumerate(terms[1:], 1):
            total = b.add(total, b.multiply(b.cos(b.multiply(phase, float(order))), weight))
        return total

    return row


rows.row("hanning")(_window((0.5, 0.5)))
rows.row("hamming")(_window((0.54, 0.46)))
rows.row("blackman")(_window((0.42, 0.5, 0.08)))


@rows.row("bartlett")
def bartlett(b: NumpyBuilder, M: Any) -> Any:
    if _is_short(b, M):
        return _ones(b, M)
    n = b.astype(b.arange(start=1 - M, stop=M, step=2, dtype="int64"), dtype="float64")
    return b.subtract(1.0, b.divide(b.abs(n), b.array(M - 1, "float64")))


@rows.row("kaiser")
def kaiser(b: NumpyBuilder, M: Any, beta: Any) -> Any:
    if _is_short(b, M):
        return _ones(b, M)
    places = b.astype(b.arange(start=1 - M, stop=M, step=2, dtype="int64"), dtype="float64")
    circle = b.sqrt(b.subtract(1.0, b.square(b.divide(places, b.array(M - 1, "float64")))))
    beta = b.array(beta, "float64")
    return b.divide(b.i0(b.multiply(beta, circle)), b.i0(beta))


_MODES = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "circular"}


@rows.row("pad")
def pad(
    b: NumpyBuilder,
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Any:
    x = b.array(array)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        return _with_numbers(b, x, widths, constant_values)
    if mode in _STATISTICS:
        lengths = [(None, None)] * x.ndim if stat_length is None else _pairs(stat_length, x.ndim)
        for axis, width in enumerate(widths):
            x = _with_statistic(b, x, axis, width, lengths[axis], mode)
        return x
    if mode == "linear_ramp" and is_inexact(x.dtype):
        for axis, (width, ends) in enumerate(zip(widths, _pairs(end_values, x.ndim))):
            x = _with_ramp(b, x, axis, width, ends)
        return x
    if mode not in _MODES or reflect_type != "even":
        raise UnsupportedOperation(f"pad of {x.dtype} with mode={mode!r} has no row")
    for axis, (before, after) in enumerate(widths):
        x = _pad_by_positions(b, x, axis, before, after, mode)
    return x


def _with_numbers(b: NumpyBuilder, x: Value, widths: tuple[tuple[Any, Any], ...], numbers: Any) -> Value:
    if not isinstance(numbers, (Value, list, tuple)):
        return b.pad(x, padding=widths, value=b.operand(numbers, x.dtype))
    if isinstance(numbers, Value) and numbers.ndim:
        raise UnsupportedOperation("pad with an array of numbers has no row; pass a list of them")
    for axis, (width, sides) in enumerate(zip(widths, _pairs(numbers, x.ndim))):
        x = b.concat(
            *_broadcast_sides(b, x, axis, width, [b.array(side, x.dtype) for side in sides]), axis=axis
        )
    return x


def _broadcast_sides(
    b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], sides: list[Value]
) -> tuple[Value, Value, Value]:
    before, after = (
        b.broadcast_to(side, shape=(*x.shape[:axis], count, *x.shape[axis + 1 :]))
        for side, count in zip(sides, width)
    )
    return before, x, after


def _with_statistic(
    b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], lengths: tuple[Any, Any], mode: str
) -> Value:
    parts = [
        cut(b, x, axis, None, lengths[0]),
        x
        if lengths[1] is None
        else cut(b, x, axis, b.fix(apply("max", x.shape[axis] - lengths[1], 0)), None),
    ]
    sides = [_STATISTICS[mode](b, parts[0], axis)]
    sides.append(sides[0] if lengths == (None, None) else _STATISTICS[mode](b, parts[1], axis))
    return b.concat(*_broadcast_sides(b, x, axis, width, sides), axis=axis)


def _mean(b: NumpyBuilder, x: Value, axis: int) -> Value:
    if is_inexact(x.dtype):
        return b.mean(x, axis=(axis,), keepdims=True)
    # NumPy rounds the mean of integers to the nearest one.
    return b.cast(b.round(b.mean(b.cast(x, "float64"), axis=(axis,), keepdims=True)), x.dtype)


_STATISTICS: dict[str, Callable[[NumpyBuilder, Value, int], Value]] = {
    "maximum": lambda b, x, axis: b.max(x, axis=(axis,), keepdims=True),
    "minimum": lambda b, x, axis: b.min(x, axis=(axis,), keepdims=True),
    "mean": _mean,
}


def _with_ramp(b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], ends: tuple[Any, Any]) -> Value:
    line = [1] * x.ndim
    parts = [x]
    for side, (count, end) in enumerate(zip(width, ends)):
        edge = cut(b, x, axis, -1, None) if side else cut(b, x, axis, None, 1)
        steps = b.cast(b.arange(start=0, stop=count, step=1, dtype="int64"), x.dtype)
        line[axis] = count
        share = b.reshape(b.divide(steps, b.array(apply("max", count, 1), x.dtype)), shape=tuple(line))
        end = b.array(end, x.dtype)
        ramp = b.add(b.multiply(b.subtract(edge, end), share), end)
        parts = [*parts, b.flip(ramp, axis=(axis,))] if side else [ramp, *parts]
    return b.concat(*parts, axis=axis)


def _widths(width: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    if not isinstance(width, dict):
        return _pairs(width, rank)
    by_axis = {axis_of(axis, rank): _pairs(one, 1)[0] for axis, one in width.items()}
    return tuple(by_axis.get(axis, (0, 0)) for axis in range(rank))


def _pairs(width: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    if not isinstance(width, (tuple, list)):
        return ((width, width),) * rank
    if not any(isinstance(item, (tuple, list)) for item in width):
        return (tuple(width) if len(width) == 2 else (width[0],) * 2,) * rank
    pairs = tuple(tuple(item) if len(item) == 2 else (item[0],) * 2 for item in width)
    return pairs * rank if len(pairs) == 1 else pairs


def _pad_by_positions(b: NumpyBuilder, x: Value, axis: int, before: Any, after: Any, mode: str) -> Value:
    if before == 0 and after == 0:
        return x
    size = x.shape[axis]
    places = b.arange(start=0 - before, stop=size + after, step=1, dtype="int64")
    if mode == "edge":
        places = b.clip(places, 0, b.array(size - 1, "int64"))
    elif mode == "wrap":
        places = b.remainder(places, b.array(size, "int64"))
    else:
        period = 2 * size if mode == "symmetric" else apply("max", 2 * size - 2, 1)
        folded = b.remainder(places, b.array(period, "int64"))
        last = 2 * size - 1 if mode == "symmetric" else 2 * size - 2
        # An axis of one element has nothing to reflect: the period of 1 repeats the element, as NumPy does.
        places = b.minimum(folded, b.subtract(b.array(last, "int64"), folded))
    return b.take(x, places, axis=axis)
