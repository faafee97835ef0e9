"""``float(x)``, ``int(x)`` and ``len(x)`` of tensors and of symbolic numbers: Python wants numbers of its very classes, symbols are none.

While recording, the modules of the user's functions find stand-ins under these names, which give symbols. Only where their code does nothing with
the names but call them and ask ``isinstance``: what is handed on (``dtype=float``, ``return len``) is left as it is, and a conversion then guards the number.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch

from ....sizes import apply
from ...python_arithmetic import computed
from ...standing_in import standing_in
from .name_uses import only_called
from .numbers import opened
from .sizes import is_symbolic, symbolic
from .spaces import Space

if TYPE_CHECKING:
    from ..capture.capture import Capture

_FUNCTIONS: dict[type, str] = {int: "trunc", float: "float"}


class _Conversion:
    """Stands for a class under its name, where that is only called, or asked about."""

    def __init__(self, capture: Capture, cls: Any) -> None:
        self.capture, self.cls = capture, cls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        item: Any = _element(args[0]) if len(args) == 1 and not kwargs else None
        operands = opened(self.capture, (item,)) if is_symbolic(item) else None
        if operands is None:
            return self.cls(*args, **kwargs)
        if isinstance(item, self.cls):
            return item
        decide = self.capture.decide
        return symbolic(computed(functools.partial(apply, _FUNCTIONS[self.cls]), operands, decide), decide)

    def __instancecheck__(self, item: Any) -> bool:
        return isinstance(item, self.cls)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self.cls)

    def __or__(self, other: Any) -> Any:
        return self.cls | (other.cls if isinstance(other, _Conversion) else other)

    def __ror__(self, other: Any) -> Any:
        return other | self.cls


class _Counted(_Conversion):
    """Stands for ``len``: that of a tensor is a size."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        item: Any = args[0] if len(args) == 1 and not kwargs else None
        is_counted = isinstance(item, torch.Tensor) and type(item).__len__ is torch.Tensor.__len__ and item.ndim
        return item.shape[0] if is_counted else self.cls(*args, **kwargs)


_STAND_INS: dict[Any, type[_Conversion]] = {**dict.fromkeys(_FUNCTIONS, _Conversion), len: _Counted}
_NAMES = tuple(cls.__name__ for cls in _STAND_INS)


def conversions_seen(capture: Capture, spaces: Iterable[Space]) -> AbstractContextManager[None]:
    """Inside of the block the conversions in the code of these modules give symbols, where an attempt has some, and symbols are of Python's classes."""
    classes = [cls for cls in _STAND_INS if capture.reading.symbolic or cls not in _FUNCTIONS]
    pairs = [(space, cls) for space in spaces for cls in classes if _may_be_replaced(space, cls.__name__)]
    return standing_in((space.held, cls.__name__, _STAND_INS[cls](capture, cls)) for space, cls in pairs)


def _element(item: Any) -> Any:
    if not isinstance(item, torch.Tensor):
        return item
    try:
        return item.item()
    except (RuntimeError, ValueError):  # the class says what is wrong with it
        return None


def _may_be_replaced(space: Space, name: str) -> bool:
    """Whether the functions of a module know this name as Python's own, and may find something else that can be called under it."""
    is_pythons = isinstance(space.held.get(name), (_Conversion, type(None)))
    return space.looks_up(name) and is_pythons and name in only_called(space.file, _NAMES)
