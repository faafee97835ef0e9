"""Samples: calls of torch functions as data, with descriptions of their arrays at two sets of sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from graph_compiler.trees import map_structure


@dataclass(frozen=True)
class Array:
    """Description of a random array.

    shape: sizes of the axes.
    dtype: name of the torch dtype.
    kind: ``"normal"``, ``"positive"`` (0.5 to 2), ``"unit"`` (-0.9 to 0.9), ``"fraction"`` (0.05 to 0.95),
        ``"integers"``, ``"bools"``, or ``"distinct"`` (no element twice).
    low, high: range of integers, without ``high``; unsigned dtypes begin at 0.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: str = "normal"
    low: int = -5
    high: int = 5

    def make(self, generator: torch.Generator) -> torch.Tensor:
        """Return a tensor of random numbers from ``generator``."""
        dtype = getattr(torch, self.dtype)
        if self.kind == "bools" or dtype == torch.bool:
            return torch.rand(self.shape, generator=generator) > 0.5
        if self.kind == "distinct":
            count = int(torch.tensor(self.shape).prod()) if self.shape else 1
            return (torch.randperm(count, generator=generator).reshape(self.shape) - count // 2).to(dtype)
        if self.kind == "integers" or not (dtype.is_floating_point or dtype.is_complex):
            return torch.randint(
                0 if self.dtype.startswith("u") and self.low < 0 else self.low,
                self.high,
                self.shape,
                generator=generator,
            ).to(dtype)
        if self.kind == "positive":
            return (torch.rand(self.shape, generator=generator) * 1.5 + 0.5).to(dtype)
        if self.kind == "unit":
            return (torch.rand(self.shape, generator=generator) * 1.8 - 0.9).to(dtype)
        if self.kind == "fraction":
            return (torch.rand(self.shape, generator=generator) * 0.9 + 0.05).to(dtype)
        return torch.randn(
            self.shape, generator=generator, dtype=dtype if dtype.is_complex else torch.float32
        ).to(dtype)


def array(*shape: int, **options: Any) -> Array:
    return Array(shape, **options)


def ints(*shape: int, low: int = -5, high: int = 5, dtype: str = "int64") -> Array:
    return Array(shape, dtype, "integers", low, high)


def bools(*shape: int) -> Array:
    return Array(shape, "bool", "bools")


@dataclass(frozen=True)
class Sample:
    """A call that must give in every target what it gives in torch.

    function, args, kwargs: the recorded call; arguments may contain :class:`Array`.
    other: positional arguments of another call, which the same graph must serve; None if there is none.
    name: name in test ids; that of the function by default.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    other: tuple[Any, ...] | None = None
    name: str = ""

    def __str__(self) -> str:
        kwargs = "".join(f"-{key}={value}" for key, value in self.kwargs.items())
        return f"{self.name or getattr(self.function, '__name__', 'call')}{kwargs}"[:80]


@dataclass(frozen=True)
class ErrorSample:
    """A call whose conversion must raise ``exception`` with a message that matches the regular expression
    ``message``.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    exception: type[BaseException]
    message: str


def made(structure: Any, seed: int = 0) -> Any:
    """Return ``structure`` with a tensor in place of each :class:`Array`; equal seeds give equal tensors."""
    generator = torch.Generator().manual_seed(seed)
    return map_structure(lambda item: item.make(generator) if isinstance(item, Array) else item, structure)


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)`` with warnings ignored, for functions that torch has deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)
