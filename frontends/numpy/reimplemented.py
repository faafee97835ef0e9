"""NumPy functions that no protocol covers, or that call the user's functions, as recorded calls."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...forwarding import forward, forwards
from .calls import METHOD
from .traced import hint, is_traced

# ----------------------------------------------------------------------------------------------- index tricks
# ``np.r_``, ``np.c_``, ``np.mgrid`` and ``np.ogrid`` as recorded calls, since no protocol covers them.

# Returns the function that records calls of the NumPy function with a name.
Recorded = Callable[[str], Callable[..., Any]]


class IndexTrick:
    """Replacement of ``np.r_`` or a similar object, whose indexing can be recorded."""

    def __init__(
        self,
        original: Any,
        recorded: Recorded,
        is_open: Callable[[], bool],
        compute: Callable[[Recorded, Any], Any],
    ) -> None:
        self._original, self._recorded, self._is_open, self._compute = original, recorded, is_open, compute

    def __getitem__(self, items: Any) -> Any:
        parts = items if isinstance(items, tuple) else (items,)
        if not self._is_open() or any(isinstance(part, str) for part in parts):
            return self._original[items]
        return self._compute(self._recorded, items)

    def __len__(self) -> int:
        return 0


def _line(recorded: Recorded, item: Any) -> Any:
    if not isinstance(item, slice):
        return item
    start, stop = 0 if item.start is None else item.start, item.stop
    # An imaginary step is the count of numbers.
    if isinstance(item.step, complex):
        return recorded("linspace")(start, stop, int(abs(item.step)))
    return recorded("arange")(start, stop, 1 if item.step is None else item.step)


def _parts(recorded: Recorded, items: Any) -> list[Any]:
    """Return the items of an index of ``np.r_`` or the like as arrays with at least one axis."""
    found = [_line(recorded, item) for item in (items if isinstance(items, tuple) else (items,))]
    # Python numbers are passed as they are, because NumPy types them weakly.
    kind = np.result_type(
        *(hint(part) if _is_number(part) else recorded("asarray")(part).dtype for part in found)
    )
    return [
        recorded("array")(part, **({"dtype": kind} if _is_number(part) else {}), ndmin=1) for part in found
    ]


def _is_number(part: Any) -> bool:
    return isinstance(part, (bool, int, float, complex)) and not isinstance(part, np.generic)


def rows(recorded: Recorded, items: Any) -> Any:
    return np.concatenate(_parts(recorded, items))


def columns(recorded: Recorded, items: Any) -> Any:
    return np.concatenate(
        [part.reshape(-1, 1) if part.ndim == 1 else part for part in _parts(recorded, items)], axis=-1
    )


def open_grid(recorded: Recorded, items: Any) -> Any:
    if isinstance(items, slice):
        return _line(recorded, items)
    lines = [_line(recorded, item) for item in items]
    return tuple(
        line.reshape([-1 if i == place else 1 for i in range(len(lines))]) for place, line in enumerate(lines)
    )


def whole_grid(recorded: Recorded, items: Any) -> Any:
    if isinstance(items, slice):
        return _line(recorded, items)
    return np.stack(recorded("meshgrid")(*(_line(recorded, item) for item in items), indexing="ij"))


COMPUTED: dict[str, Callable[[Recorded, Any], Any]] = {
    "r_": rows,
    "c_": columns,
    "ogrid": open_grid,
    "mgrid": whole_grid,
}


# ------------------------------------------------------------------------------------------------- vectorized
# ``np.vectorize``: functions of single elements, called for one element after the other while recording.


class TracedVectorize:
    """Replacement of an ``np.vectorize`` object while recording."""

    def __init__(self, recorded: Recorded, real: Any) -> None:
        self._recorded, self._real = recorded, real
        self.__doc__ = real.__doc__

    @forwards
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Used as @np.vectorize(otypes=...).
        if self._real.pyfunc is np._NoValue:
            return TracedVectorize(self._recorded, forward(self._real, *args))
        function, given = self._function_of(args, kwargs)
        arrays = [self._recorded("asarray")(item) for item in given]
        if not arrays:
            return function()
        if (dims := self._real._in_and_out_core_dims) is not None:
            return self._of_parts(function, arrays, *dims)
        # As in NumPy, the results for the first element determine the dtypes if there are no ``otypes``, for
        # which the function is called once more.
        lines, loop = _spread(arrays, [0] * len(arrays))
        results = list(itertools.starmap(function, _elements(lines, loop)))
        if not results and not self._real.otypes:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        if self._real.otypes:
            return self._joined(results, self._real.otypes, len(self._real.otypes) > 1, loop)
        return self._joined(results, *self._like(function(*(line[(0,) * len(loop)] for line in lines))), loop)

    def _function_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        excluded = self._real.excluded
        names = [name for name in kwargs if name not in excluded]
        places = [place for place in range(len(args)) if place not in excluded]

        def function(*elements: Any) -> Any:
            positional = dict(enumerate(args)) | dict(zip(places, elements))
            return self._real.pyfunc(
                *positional.values(), **{**kwargs, **dict(zip(names, elements[len(places) :]))}
            )

        return function, [*(args[place] for place in places), *(kwargs[name] for name in names)]

    @forwards
    def _of_parts(
        self, function: Any, arrays: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> Any:
        if len(inputs) != len(arrays):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(inputs)}, got {len(arrays)}"
            )
        sizes: dict[str, Any] = {}
        for names, array in zip(inputs, arrays):
            if array.ndim < len(names):
                raise ValueError(
                    f"{array.ndim}-dimensional argument does not have enough dimensions for all core "
                    f"dimensions {names!r}"
                )
            for name, size in zip(names, array.shape[array.ndim - len(names) :]):
                if sizes.setdefault(name, size) != size:
                    raise ValueError(
                        f"inconsistent size for core dimension {name!r}: {size!r} vs {sizes[name]!r}"
                    )
        lines, loop = _spread(arrays, list(map(len, inputs)))
        results = [function(*(line[place] for line in lines)) for place in _places(loop)]
        if not results:
            raise ValueError("cannot call `vectorize` with a signature on size 0 inputs while it is recorded")
        kinds, several = self._like(results[0])
        for names, part in zip(outputs, results[0] if several else results[:1]):
            if np.ndim(part) != len(names):
                raise ValueError(
                    f"a result of {np.ndim(part)} dimensions does not have the core dimensions {names!r}"
                )
        return self._joined(results, self._real.otypes or kinds, several, loop)

    def _like(self, first: Any) -> tuple[list[Any], bool]:
        parts = first if isinstance(first, tuple) else (first,)
        return [self._recorded("asarray")(part).dtype for part in parts], isinstance(first, tuple)

    def _joined(self, results: list[Any], kinds: Sequence[Any], several: bool, loop: tuple[Any, ...]) -> Any:
        columns = zip(*results) if several else [results]
        if not results:
            # `zip` has no columns if there are no rows.
            columns = [[] for _ in kinds]
        found = tuple(self._column(column, kind, loop) for column, kind in zip(columns, kinds))
        return found if several else found[0]

    def _column(self, results: Sequence[Any], kind: Any, loop: tuple[Any, ...]) -> Any:
        if not results:
            return self._recorded("zeros")(loop, np.dtype(kind))
        whole = np.stack([self._recorded("asarray")(item, dtype=np.dtype(kind)) for item in results])
        return whole.reshape((*loop, *whole.shape[1:]))


def _spread(arrays: Sequence[Any], ranks: Sequence[int]) -> tuple[list[Any], tuple[Any, ...]]:
    before = [tuple(array.shape[: array.ndim - rank]) for array, rank in zip(arrays, ranks)]
    # The elements are looped over in Python, so the sizes are guarded.
    seen = [tuple(map(operator.index, shape)) for shape in before]
    loop = np.broadcast_shapes(*seen)
    return [
        np.broadcast_to(array, (*loop, *array.shape[array.ndim - rank :]))
        for array, rank in zip(arrays, ranks)
    ], loop


def _places(loop: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, loop))


def _elements(lines: Sequence[Any], loop: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    return (tuple(_number(line[place]) for line in lines) for place in _places(loop))


def _number(element: Any) -> Any:
    if not is_traced(element):
        return element.item()
    capture = element._capture
    if not capture.recorder.varies(element._value):
        return element._seen.item()
    return capture.record(
        f"{METHOD}item", lambda scalar: np.asarray(scalar.item())[()], (element,), {}, lambda: True
    )


def vectorize(recorded: Recorded, *args: Any, **kwargs: Any) -> TracedVectorize:
    return TracedVectorize(recorded, np.vectorize(*args, **kwargs))


# ----------------------------------------------------------------------------------- functions with callbacks
# NumPy functions that call the user's functions or read elements, reimplemented with recorded calls.


@forwards
def piecewise(recorded: Recorded, x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
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
    p = np.atleast_1d(recorded("asarray")(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    held = np.flatnonzero(p)
    if held.shape[0] == 0:
        return recorded("zeros")(0)
    # Leading zeros have no root, and each trailing zero has the root 0.
    # Which leading and trailing coefficients are 0 is read from the array, and guarded.
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
    # NumPy converts integers to floats by this addition, too.
    u, v = (np.atleast_1d(recorded("asarray")(item)) + 0.0 for item in (u, v))
    kind, steps = (u[0] + v[0]).dtype, max(len(u) - len(v) + 1, 0)
    quotient, rest = recorded("zeros")(max(steps, 1), kind), u.astype(kind)
    scale = 1.0 / v[0]
    for place in range(steps):
        quotient[place] = scale * rest[place]
        rest[place : place + len(v)] -= quotient[place] * v
    # Whether the remainder has leading zeros is read from the array, and guarded.
    while np.allclose(rest[0], 0, rtol=1e-14) and len(rest) > 1:
        rest = rest[1:]
    return quotient, rest


def ndenumerate(recorded: Recorded, arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    array = recorded("asarray")(arr)
    return (
        (place, array[place])
        for place in itertools.product(*(range(operator.index(size)) for size in array.shape))
    )


def cho_factor(
    recorded: Recorded, a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True
) -> Any:
    a = recorded("asarray")(a)
    # LAPACK leaves the other triangle as it was.
    if lower:
        return np.linalg.cholesky(a) + np.triu(a, 1), lower
    return np.linalg.cholesky(a, upper=True) + np.tril(a, -1), lower


OPENED: dict[str, Callable[..., Any]] = {
    "numpy.ndenumerate": ndenumerate,
    "numpy.piecewise": piecewise,
    "numpy.apply_along_axis": apply_along_axis,
    "numpy.apply_over_axes": apply_over_axes,
    "numpy.fromfunction": fromfunction,
    "numpy.polydiv": polydiv,
    "numpy.roots": roots,
    "numpy.vectorize": vectorize,
    "scipy.linalg.cho_factor": cho_factor,
}
