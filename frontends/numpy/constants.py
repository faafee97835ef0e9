"""Arrays and scalars that a recording meets and did not make: constants of its graph, which hold what they
hold at that moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...recording import Locator, Recorder


class Constants:
    """The constants of one recording."""

    def __init__(self, recorder: Recorder, locator: Locator) -> None:
        self._recorder, self._locator = recorder, locator
        self._met: dict[int, tuple[Any, bytes, Value]] = {}
        self._scalars: dict[tuple[str, bytes], Value] = {}

    def clear(self) -> None:
        self._met.clear()
        self._scalars.clear()

    def met(self, array: Any, spec: ArraySpec) -> Value:
        """The constant for an array; another one where it holds other elements than before."""
        elements = array.tobytes()
        known = self._met.get(id(array))
        if known is None or known[1] != elements:
            self._met[id(array)] = (array, elements, self._made(array, elements, spec))
        return self._met[id(array)][2]

    def _made(self, array: Any, elements: bytes, spec: ArraySpec) -> Value:
        """A new constant, but one for equal scalars of no name: those that each step of a loop makes are one
        number.
        """
        name, is_array = self._locator.name_of(array), isinstance(array, np.ndarray)
        made = None if is_array or name else self._scalars.get((spec.dtype, elements))
        if made is None:
            made = self._recorder.add_constant(name or "constant", array.copy() if is_array else array, spec)
        if not is_array and not name:
            self._scalars[spec.dtype, elements] = made
        return made
