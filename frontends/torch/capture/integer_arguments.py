"""Integer tensors that a call takes as sizes, bounds of slices or other ints, as symbolic numbers."""

from __future__ import annotations

from typing import Any

import torch

from ....trees import iterate_structure, map_structure
from ..basics import tensors as kinds
from ..basics.names import pure_key
from ..basics.tensors import integer_parameters
from ..compat import no_torch_function
from ..sizes import numbers_of_sizes
from .answers import elements
from .running import RunningTrace

_WHOLE = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def with_numbers(capture: RunningTrace, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Replace 0-d integer tensors that a call takes as sizes, bounds of slices or other ints by numbers.

    A 1-d one of ``tensor_split`` becomes a list. Tensors computed from sizes become symbols; others are read
    as by ``tolist``.
    """

    def number(item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or item.is_floating_point() or item.dtype == torch.bool:
            return item
        if item.ndim > (key == "tensor_split"):
            return item
        of_sizes = numbers_of_sizes(capture, capture.value(item))
        return elements(capture, torch.Tensor.tolist, (item,), {}) if of_sizes is None else of_sizes

    def bounds(item: Any) -> Any:
        return (
            slice(number(item.start), number(item.stop), number(item.step))
            if isinstance(item, slice)
            else item
        )

    if key in ("__getitem__", "__setitem__"):
        index = tuple(map(bounds, args[1])) if isinstance(args[1], tuple) else bounds(args[1])
        return (args[0], index, *args[2:]), kwargs
    if key in kinds.TAKES_SIZES:
        first = 0 if key in kinds.CREATES else 1
        return (*args[:first], *map_structure(number, args[first:])), map_structure(number, kwargs)
    with no_torch_function():
        found = any(map(_may_be_number, iterate_structure((args, kwargs))))
    if not found:
        return args, kwargs
    wanted = integer_parameters(pure_key(key), capture.call.startswith("torch.Tensor."))
    plain = tuple(map_structure(number, item) if place in wanted else item for place, item in enumerate(args))
    return plain, {
        name: map_structure(number, item) if name in wanted else item for name, item in kwargs.items()
    }


def _may_be_number(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.ndim == 0 and item.dtype in _WHOLE
