"""Constants of a recording: arrays and scalars that it meets and did not create."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...recording import Locator, Recorder


class Constants:
    """Constants of one recording: arrays and scalars that are neither inputs nor parameters.

    A constant has the elements that its array has when a call uses it.
    """

    def __init__(self, recorder: Recorder, locator: Locator) -> None:
        self._recorder, self._locator = recorder, locator
        self._met: dict[int, tuple[Any, bytes, Value]] = {}
        self._scalars: dict[tuple[str, bytes], Value] = {}

    def clear(self) -> None:
        self._met.clear()
        self._scalars.clear()

    def met(self, array: Any, spec: ArraySpec) -> Value:
        """Return the constant for an array or scalar.

        Add a new constant if there is none yet, or if the elements have changed since.
        """
        elements = array.tobytes()
        known = self._met.get(id(array))
        if known is None or known[1] != elements:
            # The array is stored, too, so that no other object gets its id.
            self._met[id(array)] = (array, elements, self._made(array, elements, spec))
        return self._met[id(array)][2]

    def _made(self, array: Any, elements: bytes, spec: ArraySpec) -> Value:
        """Add a constant.

        Equal scalars without a variable name share one, such as those of each loop iteration.
        """
        name, is_array = self._locator.name_of(array), isinstance(array, np.ndarray)
        made = None if is_array or name else self._scalars.get((spec.dtype, elements))
        if made is None:
            # The user may write to the array later, so the constant is a copy.
            made = self._recorder.add_constant(name or "constant", array.copy() if is_array else array, spec)
        if not is_array and not name:
            self._scalars[spec.dtype, elements] = made
        return made
