"""``np.vectorize``: functions of single elements, called for one element after the other while recording."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...forwarding import forward, forwards
from .calls import METHOD
from .traced import is_traced

# Returns the function that records calls of the NumPy function with a name.
Recorded = Callable[[str], Callable[..., Any]]


class TracedVectorize:
    """Replacement of an ``np.vectorize`` object while recording, which calls the function for each element.

    As in NumPy, the function gets Python numbers, or arrays if there is a signature. Without ``otypes``,
    it is called once more for the first element, whose results determine the dtypes of all. The sizes that
    are looped over are guarded.
    """

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
        """Return a function of the vectorized arguments alone, and the list of these arguments.

        The function passes the excluded arguments on unchanged.
        """
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
    """Broadcast the loop axes of each array: all but its last ``rank`` axes.

    Return the broadcast arrays and the loop shape.
    """
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
    """Return an element as a Python number, traced if it depends on the inputs."""
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
