"""The programs that are traced: functions in Python's own syntax, and what they are called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Program = Callable[..., Any]  # of a framework's namespace, then arrays
EVERYWHERE = ("numpy", "torch", "jax")
IN_PLACE = ("numpy", "torch")


@dataclass(frozen=True)
class Row:
    """A program with arguments at the recorded sizes, then at others; ``variants`` is the most that it may
    need for all of them.
    ``differentiable``: whether frameworks that run Python's steps give a gradient of its first result with
    respect to its first argument.
    """

    function: Program
    calls: tuple[tuple[Any, ...], ...]
    sources: tuple[str, ...] = EVERYWHERE
    variants: int = 1
    differentiable: bool = False


PROGRAMS: dict[str, Row] = {}


def program(
    *calls: tuple[Any, ...],
    sources: tuple[str, ...] = EVERYWHERE,
    variants: int = 1,
    differentiable: bool = False,
) -> Callable[[Program], Program]:
    """Enters a program with its calls."""

    def enter(function: Program) -> Program:
        PROGRAMS[function.__name__] = Row(function, calls, sources, variants, differentiable)
        return function

    return enter


def floats(*shape: int, seed: int = 0) -> Any:
    """Normal random numbers."""
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype("float32")


def positive(*shape: int, seed: int = 0) -> Any:
    """Random numbers between 0.1 and 1.1."""
    return (np.random.default_rng((seed, *shape)).uniform(size=shape) + 0.1).astype("float32")


def ints(*shape: int, seed: int = 0, below: int = 10) -> Any:
    """Random whole numbers."""
    return np.random.default_rng((seed, *shape)).integers(below, size=shape).astype("int32")


def number(item: float) -> Any:
    """A float without axes."""
    return np.float32(item)


def whole(item: int) -> Any:
    """A whole number without axes."""
    return np.int32(item)
