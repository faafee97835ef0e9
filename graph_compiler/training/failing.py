"""What code of the user raises in a step: the model's own, or that of a loss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..contracts import Target
from ..errors import CallMismatch, GraphCompilerError
from ..ops.dtypes import dtype_name
from ..trees import iterate_structure


@contextmanager
def telling(what: str, given: Any, place: str, target: Target | None = None) -> Iterator[None]:
    """What is raised inside of the block is a ``CallMismatch`` that tells which arguments ``what`` was called with; where a ``target``
    traces the block, not what it says to itself thereby.

    >>> import numpy as np
    >>> with telling("the model Net", (np.zeros(3), None), ""):
    ...     1 / 0
    Traceback (most recent call last):
    graph_compiler.errors.CallMismatch: the model Net fails with ZeroDivisionError: division by zero; it was called with float64[3] and None
    """
    try:
        yield
    except GraphCompilerError:
        raise
    except Exception as problem:
        if target is not None and target.refusal(problem) is None:
            raise
        shown = " and ".join(map(_shown, given))
        raise CallMismatch(f"{what} fails with {type(problem).__name__}: {problem}; it was called with {shown}{place}") from problem


def _shown(item: Any) -> str:
    """The arrays in something, or itself where it has none."""
    arrays = [leaf for leaf in iterate_structure(item) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    return ", ".join(f"{dtype_name(array)}{list(array.shape)}" for array in arrays) if arrays else repr(item)


__all__ = ["telling"]
