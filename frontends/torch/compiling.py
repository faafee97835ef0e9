"""Tells code that asks that it is being compiled, as ``torch.compile`` and ``torch.export`` do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_depth = 0
_outside = False


@contextmanager
def compiling() -> Iterator[None]:
    """``torch.compiler.is_compiling()`` is True inside of the block.

    Models ask it before they look at elements (is the mask all ones?) to choose a shortcut. A graph for another framework is better
    off without: it then holds for every mask, and need not wait for elements at each call. torch keeps the flag for the whole process;
    recordings in several threads count, so that the last one to end puts it back.
    """
    global _depth, _outside
    with _lock:
        if _depth == 0:
            _outside = torch.compiler._is_compiling_flag
        _depth += 1
        torch.compiler._is_compiling_flag = True
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                torch.compiler._is_compiling_flag = _outside
