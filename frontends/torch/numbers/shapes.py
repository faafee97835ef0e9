"""``x.shape.numel()`` while recording: torch multiplies in C, where a symbol has to be a number, and the graph would be tied to each size."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .sizes import is_symbolic

_NAME = "numel"


@contextmanager
def shapes_counted() -> Iterator[None]:
    """Inside of the block ``numel`` of a shape with symbols is their product; where Python's classes cannot be changed so, it is what it was."""
    held = _held(torch.Size)
    before = held.get(_NAME)
    if before is None:
        yield
        return
    _put(held, _counting(before))
    try:
        yield
    finally:
        _put(held, before)


def _counting(original: Any) -> Any:
    @functools.wraps(original)
    def numel(shape: torch.Size) -> Any:
        if not any(map(is_symbolic, shape)):
            return original(shape)
        product: Any = 1
        for size in shape:
            product = product * size
        return product

    return numel


def _held(cls: type) -> dict[str, Any]:
    """The entries of a class that is written in C, which lets nobody set its attributes."""
    found = gc.get_referents(cls.__dict__)
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else {}


def _put(held: dict[str, Any], method: Any) -> None:
    """Puts the method there, and has Python forget what it knows of the class."""
    held[_NAME] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(torch.Size))
