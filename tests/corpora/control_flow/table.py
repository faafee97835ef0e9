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
    # False if ``jax.jit`` rejects it: nnx cannot assemble a module inside of ``jit`` from weights outside.
    jits: bool = True
    # True if JAX itself unrolls the loops in Python by size, so that each size needs a variant.
    by_size: bool = False
    # False if it rejects float64, because the weights of its model stay float32.
    wide: bool = True


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
