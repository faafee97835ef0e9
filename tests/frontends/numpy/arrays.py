"""Samples of NumPy calls as data, with descriptions of their arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Sizes of the second set of arguments. The sizes 1, 2 and 5 stay.
_GROWN = {3: 5, 4: 6, 6: 9, 8: 12, 12: 10}


@dataclass(frozen=True)
class Array:
    """Description of a random array.

    kind: ``"normal"``, ``"positive"`` (0.5 to 2), ``"unit"`` (-0.9 to 0.9), ``"distinct"``, ``"definite"``
        (a positive definite matrix), ``"sorted"``, ``"holes"`` (some NaN), ``"integers"`` or ``"scalar"``.
    low, high: range of integers, without ``high``.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: str = "normal"
    low: int = -5
    high: int = 6

    def grown(self) -> Array:
        """Return a description with other sizes."""
        return Array(
            tuple(_GROWN.get(size, size) for size in self.shape), self.dtype, self.kind, self.low, self.high
        )

    def make(self, random: np.random.Generator) -> Any:
        made = self._elements(random)
        return (
            made.astype(self.dtype)[()]
            if not self.shape and self.kind == "scalar"
            else made.astype(self.dtype)
        )

    def _elements(self, random: np.random.Generator) -> Any:
        wanted = np.dtype(self.dtype)
        if self.kind == "distinct":
            return (
                random.permutation(int(np.prod(self.shape))).reshape(self.shape)
                - int(np.prod(self.shape)) // 2
            )
        if self.kind == "definite":
            x = random.standard_normal(self.shape)
            return x @ x.swapaxes(-1, -2) + 3 * np.eye(self.shape[-1])
        if wanted.kind == "b":
            return random.random(self.shape) > 0.5
        if wanted.kind in "iu":
            made = random.integers(
                0 if wanted.kind == "u" and self.low < 0 else self.low, self.high, self.shape
            )
            return np.sort(made) if self.kind == "sorted" else made
        if self.kind in ("positive", "unit"):
            return (
                random.random(self.shape) * 1.5 + 0.5
                if self.kind == "positive"
                else random.random(self.shape) * 1.8 - 0.9
            )
        if wanted.kind == "c":
            return random.standard_normal(self.shape) + 1j * random.standard_normal(self.shape)
        made = np.asarray(random.standard_normal(self.shape))
        if self.kind == "sorted":
            made = np.sort(made, axis=-1)
        return np.where(random.random(self.shape) > 0.7, np.nan, made) if self.kind == "holes" else made


def f(*shape: int, kind: str = "normal") -> Array:
    return Array(shape, kind=kind)


def d(*shape: int, kind: str = "normal") -> Array:
    return Array(shape, "float64", kind)


def i(*shape: int, low: int = -5, high: int = 6, dtype: str = "int64") -> Array:
    return Array(shape, dtype, "integers", low, high)


def b(*shape: int) -> Array:
    return Array(shape, "bool")


def c(*shape: int) -> Array:
    return Array(shape, "complex64")


@dataclass(frozen=True)
class Sample:
    """A call that must give in every target what it gives in NumPy.

    grows: True if the same graph must serve the arrays at other sizes.
    """

    name: str
    function: Callable[..., Any]
    arrays: tuple[Array, ...]
    grows: bool = True
    # True if sizes or elements are static, so that another recording is right.
    again: bool = False


def made(arrays: tuple[Array, ...], seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [array.make(random) for array in arrays]


def sample(
    name: str, function: Callable[..., Any], *arrays: Array, grows: bool = True, again: bool = False
) -> Sample:
    return Sample(name, function, arrays, grows, again)
