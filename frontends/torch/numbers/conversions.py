"""``float(x)``, ``int(x)`` and ``len(x)`` of tensors and of symbolic numbers while a torch function is recorded."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch

from ....tracing.reach.spaces import Space
from ...conversions import CONVERTED, COUNTED, conversions_in
from ..trace import Trace
from .host_math import symbols_of


def conversions_seen(capture: Trace, spaces: Iterable[Space]) -> AbstractContextManager[None]:
    """Inside of the block the conversions in the code of these modules give symbols, where an attempt has some, and symbols are of Python's
    classes."""
    names = (*CONVERTED, *COUNTED) if capture.reading.symbolic else COUNTED
    places = ((space.held, name, file) for space in spaces for name in names if space.looks_up(name) for file in space.files_with(name))
    return conversions_in(places, symbols_of(capture)._replace(number_of=_element), _length)


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
