"""The table of traced programs, filled by a decorator, and the arrays that they are called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Takes the namespace of a framework, then arrays.
Program = Callable[..., Any]
EVERYWHERE = ("numpy", "torch", "jax")
IN_PLACE = ("numpy", "torch")

# Ways to record that a program may have to give up.
LISTS = "recording lists that traced loops append to as arrays"
NUMBERS = "making numbers that Python reads inputs or symbols"
SIZES_IN_KEYS = "keeping sizes in keys, sizes of kernels or views beside their owner symbolic"
EQUAL_SIZES = "telling sizes that are equal in this call apart"
# An item of a list is written to after the loop that appends it, so each length is recorded.
WRITTEN_ITEMS = {"numpy": (LISTS,), "torch": (LISTS, NUMBERS)}


@dataclass(frozen=True)
class Row:
    """A program and its calls.

    function: takes the namespace of a framework, then the arguments.
    calls: arguments at the recorded sizes, then at others.
    sources: frameworks in which the program can be written.
    variants: the largest number of variants that all calls may need.
    differentiable: True if eager frameworks have a gradient of the first result with respect to the first
        argument.
    gives_up: for each source, the ways to record that are given up.
    """

    function: Program
    calls: tuple[tuple[Any, ...], ...]
    sources: tuple[str, ...] = EVERYWHERE
    variants: int = 1
    differentiable: bool = False
    gives_up: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


PROGRAMS: dict[str, Row] = {}


def program(
    *calls: tuple[Any, ...],
    sources: tuple[str, ...] = EVERYWHERE,
    variants: int = 1,
    differentiable: bool = False,
    gives_up: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Program], Program]:
    """Return a decorator that adds a program with these calls to ``PROGRAMS``."""

    def enter(function: Program) -> Program:
        PROGRAMS[function.__name__] = Row(function, calls, sources, variants, differentiable, gives_up or {})
        return function

    return enter


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype("float32")


def positive(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng((seed, *shape)).uniform(size=shape) + 0.1).astype("float32")


def ints(*shape: int, seed: int = 0, below: int = 10) -> Any:
    return np.random.default_rng((seed, *shape)).integers(below, size=shape).astype("int32")


def number(item: float) -> Any:
    return np.float32(item)


def whole(item: int) -> Any:
    return np.int32(item)
