"""Updates ``x.at[index].set(values)`` whose index has symbolic numbers, recorded as one call.

JAX would turn them into a scatter, for which it needs the numbers.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ....forwarding import forward
from ....recording.patches import Patch, PatchSet, Session, replace_call
from ....sizes import expression_of, hint_of, is_symbolic
from ..calls import record_as
from ..names import SETITEM
from ..sizes import ReadNumber, decided

_COMBINED: dict[str, Callable[[Any, Any], Any] | None] = {
    "set": None, "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "mul": operator.mul,
    "min": jax.numpy.minimum, "max": jax.numpy.maximum,
}  # fmt: skip
_OTHERS = ("get", "apply", "divide", "power")


@functools.cache
def update_patches() -> PatchSet:
    """Return patches of the methods of ``x.at[index]``. The first call initializes JAX's backend."""
    reference = type(jax.numpy.zeros(1).at[0])
    probes = [
        Patch(reference, name, replace_call, _answer(name)) for name in _COMBINED if hasattr(reference, name)
    ]
    return PatchSet(*probes, *(Patch(reference, name, replace_call, _left_to_jax) for name in _OTHERS))


def _left_to_jax(
    session: Session, original: Callable[..., Any], reference: Any, *args: Any, **options: Any
) -> Any:
    return forward(original, type(reference)(reference.array, _for_jax(reference.index)), *args, **options)


def _answer(name: str) -> Callable[..., Any]:
    def updated(
        session: Session, original: Callable[..., Any], reference: Any, values: Any, **options: Any
    ) -> Any:
        x, index = reference.array, reference.index
        items = index if type(index) is tuple else (index,)
        if not any(map(_has_symbol, items)):
            return forward(original, reference, values, **options)
        if (
            options
            or not isinstance(x, jax.Array)
            or not all(map(_is_plain, items))
            or not _is_inside(items, x)
        ):
            return forward(original, type(reference)(x, _for_jax(index)), values, **options)
        if (combine := _COMBINED[name]) is not None:
            # Integers and slices select each element at most once, so the method is a read followed by a
            # write.
            values = combine(x[index], values)
        values = jax.numpy.asarray(values).astype(x.dtype)
        return record_as(SETITEM, _set_elements, (x, index, values))

    return updated


def _set_elements(x: Any, index: Any, values: Any) -> Any:
    return x.at[_for_jax(index)].set(values)


def _parts(item: Any) -> tuple[Any, ...]:
    return (item.start, item.stop, item.step) if isinstance(item, slice) else (item,)


def _has_symbol(item: Any) -> bool:
    return any(map(is_symbolic, _parts(item)))


def _is_plain(item: Any) -> bool:
    """Return True for an int, an ellipsis, a symbolic size, or a slice with a positive step.

    Return False if the item is or contains a :class:`ReadNumber`, or if the step is symbolic.
    """
    if isinstance(item, slice):
        is_forward = item.step is None or (type(item.step) is int and item.step > 0)
        return is_forward and not any(isinstance(part, ReadNumber) for part in _parts(item))
    return item is Ellipsis or type(item) is int or (is_symbolic(item) and type(item) is not ReadNumber)


def _is_inside(items: tuple[Any, ...], x: Any) -> bool:
    """Return True if the index is in bounds for the current sizes. JAX clamps or drops other indices."""
    try:
        # NumPy checks the index on an array of this shape that takes no memory.
        np.broadcast_to(np.bool_(), tuple(hint_of(expression_of(size)) for size in x.shape))[
            tuple(map(_now, items))
        ]
    except IndexError:
        return False
    return True


def _now(item: Any) -> Any:
    parts = [hint_of(expression_of(part)) for part in _parts(item)]
    return slice(*parts) if isinstance(item, slice) else parts[0]


def _for_jax(index: Any) -> Any:
    """Return the index with symbolic integers as arrays, and with symbolic slice bounds decided."""
    if type(index) is tuple:
        return tuple(map(_for_jax, index))
    if isinstance(index, slice):
        return slice(*(decided(expression_of(part)) for part in _parts(index)))
    return index.__jax_array__() if is_symbolic(index) else index
