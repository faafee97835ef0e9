"""Errors that the user's code raises in a training step."""

from __future__ import annotations

from typing import Any

from ..contracts import Target
from ..errors import CallMismatch, GraphCompilerError
from ..ops.dtypes import dtype_name
from ..trees import iterate_structure


# A class, because each step enters two of these and a generator would be slower.
class reporting_errors:
    """Context manager that turns exceptions of the user's code into ``CallMismatch``, with its arguments.

    Exceptions of this package pass unchanged.

    what: name of the code in the message.
    given: its arguments, of which the message states dtypes and shapes.
    place: end of the message, such as the file and line.
    target: if not None, only exceptions by which functions of the target reject arguments are turned.

    >>> import numpy as np
    >>> with reporting_errors("the model Net", (np.zeros(3), None), ""):
    ...     1 / 0
    Traceback (most recent call last):
    graph_compiler.errors.CallMismatch: the model Net fails with ZeroDivisionError: division by zero; ...
    """

    def __init__(self, what: str, given: Any, place: str, target: Target | None = None) -> None:
        self._what, self._given, self._place, self._target = what, given, place, target

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if not isinstance(problem, Exception) or isinstance(problem, GraphCompilerError):
            return
        if self._target is None or self._target.refusal(problem) is not None:
            shown = " and ".join(map(_describe, self._given))
            raise CallMismatch(
                f"{self._what} fails with {type(problem).__name__}: {problem}; it was called with "
                f"{shown}{self._place}"
            ) from problem


def _describe(item: Any) -> str:
    arrays = [leaf for leaf in iterate_structure(item) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    return ", ".join(f"{dtype_name(array)}{list(array.shape)}" for array in arrays) if arrays else repr(item)
