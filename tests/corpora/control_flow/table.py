"""Table rows of the control-flow corpus, and the arrays that its programs are called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Mode = Literal["reverse", "forward", "none"]


@dataclass(frozen=True)
class Program:
    """A JAX function with calls that differ in lengths, branches and trip counts.

    calls: arguments of each call; the first is recorded.
    gradient: the mode in which JAX can differentiate the function: ``"reverse"``, only ``"forward"``
        (``while`` loops), or ``"none"``.
    """

    function: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]
    gradient: Mode = "reverse"
    jits: bool = True  # whether ``jax.jit`` takes it: nnx puts no module together inside of one that has its weights from outside
    by_size: bool = (
        False  # whether JAX's own code is Python whose steps depend on sizes, so that each size is a variant
    )
    wide: bool = True  # whether it takes float64; weights of models stay float32


def floats(*shape: int, seed: int = 0, scale: float = 1.0, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed + sum(shape)).normal(size=shape) * scale).astype(dtype)


def positive(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed + sum(shape)).uniform(0.2, 2.0, size=shape).astype("float32")


def whole(
    *shape: int, seed: int = 0, low: int = 0, high: int = 10, dtype: str = "int32"
) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed + sum(shape)).integers(low, high, size=shape).astype(dtype)


def number(value: float, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.asarray(value, dtype)


def each(make: Callable[..., Any], *sizes: tuple[int, ...]) -> tuple[tuple[Any, ...], ...]:
    """Return calls with one array each, of the shapes ``sizes``."""
    return tuple((make(*shape, seed=place),) for place, shape in enumerate(sizes))
