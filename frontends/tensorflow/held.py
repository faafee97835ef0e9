"""What a tensor of a traced graph is in a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...sizes import Size, Symbol
from .dtypes import dtype_name
from .later import array_of


@dataclass(frozen=True, slots=True)
class Held:
    """What a tensor of a traced graph is, and the array that it was on the arrays of the call (``seen``), which may not be computed yet
    (``made``: what has its shape and data type).

    ``item`` is a value; an array of known numbers (:mod:`~graph_compiler.frontends.tensorflow.known_numbers`); a list of tensors in the
    making (:mod:`~graph_compiler.frontends.tensorflow.lists`); or None: the handle of a variable, a text.
    """

    item: Any
    made: Any

    @property
    def seen(self) -> Any:
        """The array, computed now if it was not yet."""
        return array_of(self.made)

    @property
    def spec(self) -> ArraySpec:
        """Shape and data type, with the sizes of the recording."""
        return self.item.spec if isinstance(self.item, Value) else spec_of(self.made)


def spec_of(array: Any) -> ArraySpec:
    """Shape and data type of an array."""
    return ArraySpec(tuple(array.shape), dtype_name(array.dtype))


def sizes_of(held: Held, tensor: Any) -> tuple[Any, ...]:
    """The sizes of an array: numbers where the traced graph knows them, otherwise symbols."""
    if not isinstance(held.item, Value):
        return tuple(held.made.shape)
    dims = tensor.shape.as_list() if tensor.shape.rank is not None else [None] * held.item.ndim
    known = zip(dims, held.item.shape)
    return tuple(hint if dim is not None else Size.of(Symbol(held.item, axis, hint)) for axis, (dim, hint) in enumerate(known))
