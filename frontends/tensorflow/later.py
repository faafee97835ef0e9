"""Arrays of a recording that are computed when something asks for their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from .evaluation import computing


class Later:
    """An array that an operation makes of others. It has the shape and data type of one, and is computed at most once."""

    __slots__ = ("__weakref__", "_array", "_operands", "_run", "dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any, run: Callable[[list[Any]], Any], operands: Sequence[Any] = ()) -> None:
        self.shape, self.dtype, self._run, self._operands = tf.TensorShape(shape), dtype, run, operands
        self._array: Any = None

    def computed(self) -> Any:
        """The array. What leads to it is computed without recursion, for it may be as long as a network is deep."""
        waiting: list[Later] = [self]
        with computing():
            while waiting:
                last = waiting[-1]
                missing = [each for each in last._operands if isinstance(each, Later) and each._array is None]
                waiting += missing
                if not missing:
                    waiting.pop()
                    last._compute()
        return self._array

    def _compute(self) -> None:
        if self._array is None:
            self._array = self._run([array_of(each) for each in self._operands])
            self._operands = ()


def array_of(made: Any) -> Any:
    """An array, computed now if it was not yet."""
    return made if not isinstance(made, Later) else made.computed() if made._array is None else made._array
