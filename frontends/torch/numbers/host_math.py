"""How Python's ``math``, ``int``, ``float`` and ``len`` work with the symbolic numbers and tensors of a torch recording."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch

from ....sizes import computed
from ....tracing.probes.builtin_names import CONVERTED, COUNTED, conversions, looked_up
from ....tracing.probes.host_math import Symbols
from ....tracing.probes.replaced import Place
from ....tracing.reach.spaces import Space
from ..trace import Trace
from .numbers import opened
from .sizes import is_symbolic, symbolic

_OF_TORCH = (torch.nn.BatchNorm1d.forward,)  # layers that compute with an element of a buffer: one over the batches so far


def symbols_of(capture: Trace) -> Symbols:
    """The symbolic numbers of an attempt."""
    decide = capture.decide
    return Symbols(
        is_symbolic,
        functools.partial(opened, capture),
        lambda function, operands: symbolic(computed(function, operands, decide), decide),
        _element,
        _length,
    )


def conversion_shims(capture: Trace, symbols: Symbols, spaces: Iterable[Space]) -> list[Place]:
    """Shims of conversions in the code of these modules: those that give symbols where an attempt has some, and ``len``."""
    names = (*CONVERTED, *COUNTED) if capture.reading.symbolic else COUNTED
    places = (
        (space.held, name, file, tuple(space.functions))
        for space in spaces
        for name in names
        if space.looks_up(name)
        for file in space.files_with(name)
    )
    return conversions([*places, *(place for place in looked_up(_OF_TORCH) if place[1] in names)], symbols)


def _element(item: Any) -> Any:
    if not isinstance(item, torch.Tensor):
        return item
    try:
        return item.item()
    except (RuntimeError, ValueError):  # the class says what is wrong with it
        return None


def _length(item: Any) -> Any:
    is_counted = isinstance(item, torch.Tensor) and type(item).__len__ is torch.Tensor.__len__ and item.ndim
    return item.shape[0] if is_counted else None
