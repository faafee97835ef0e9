"""Functions and methods that are answered from shapes and dtypes, or through other calls, instead of being recorded."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .layouts import share_memory
from .reading import number_in
from .sizes import hint
from .traced import is_traced, seen_of


def _size(capture: Any, a: Any, axis: Any = None) -> Any:
    if axis is None:
        return a.size
    axes = axis if isinstance(axis, tuple) else (axis,)
    return functools.reduce(operator.mul, (a.shape[operator.index(number)] for number in axes), 1)


def _of_types(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that looks at nothing but dtypes, ranks and Python numbers."""

    def answer(capture: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*(hint(seen_of(item)) for item in args), **kwargs)

    return answer


def _allclose(capture: Any, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all())


def _array_equal(capture: Any, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if tuple(np.shape(a1)) != tuple(np.shape(a2)):
        return False
    same = np.equal(a1, a2)
    return bool((same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same).all())


def _array_equiv(capture: Any, a1: Any, a2: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(np.equal(a1, a2).all())


def _text(function: Callable[..., Any]) -> Callable[..., Any]:
    def answer(capture: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
        capture.elements(a)
        return function(a._seen, *args, **kwargs)

    return answer


# name of the function -> what it gives; (capture, the call's arguments)
ANSWERS: dict[str, Callable[..., Any]] = {
    "shape": lambda capture, a: a.shape,
    "size": _size,
    "ndim": lambda capture, a: a.ndim,
    "iscomplexobj": _of_types(np.iscomplexobj),
    "isrealobj": _of_types(np.isrealobj),
    "result_type": _of_types(np.result_type),
    "common_type": _of_types(np.common_type),
    "can_cast": _of_types(np.can_cast),
    "allclose": _allclose,
    "may_share_memory": share_memory,
    "shares_memory": share_memory,
    "array_equal": _array_equal,
    "array_equiv": _array_equiv,
    "array_repr": _text(np.array_repr),
    "array_str": _text(np.array_str),
    "array2string": _text(np.array2string),
    "broadcast_arrays": lambda capture, *args, subok=False: _broadcast(args),
}


def _broadcast(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """np.broadcast_arrays by np.broadcast_to: the sizes that were more than 1 are those of the result."""
    seen = np.broadcast_shapes(*(tuple(map(hint, np.shape(item))) for item in arrays))
    shape: list[Any] = []
    for place in range(1, len(seen) + 1):
        sizes = [np.shape(item)[-place] for item in arrays if np.ndim(item) >= place]
        shape.insert(0, next((size for size in sizes if hint(size) == seen[-place]), seen[-place]))
    return tuple(np.broadcast_to(item, tuple(shape)) for item in arrays)


def _item(capture: Any, array: Any, *place: Any) -> Any:
    if place:
        index = place[0] if len(place) == 1 else place
        array = array[index] if isinstance(index, tuple) or array.ndim == 1 else array.reshape(-1)[index]
    array._seen.item()  # numpy's own error where there are several
    if (number := number_in(capture, array)) is not None:
        return number
    found = capture.elements(array, as_constants=True)
    while isinstance(found, list):
        found = found[0]
    return found


# name of the method -> what it gives; (capture, the array, the call's arguments)
METHODS: dict[str, Callable[..., Any]] = {
    "item": _item,
    "tolist": lambda capture, array: capture.elements(array, as_constants=True),
    "__array_namespace__": lambda capture, array, **kwargs: np,
}

__all__ = ["ANSWERS", "METHODS", "is_traced"]
