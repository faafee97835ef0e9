"""Samples as data: one call of a torch function with descriptions of its arrays, and a second set at other
sizes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from graph_compiler.trees import map_structure


@dataclass(frozen=True)
class Array:
    """A random array: ``kind`` is normal, positive (0.5 to 2), unit (-0.9 to 0.9), fraction (0.05 to 0.95),
    integers (``low`` to ``high``), bools, or distinct.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: str = "normal"
    low: int = -5
    high: int = 5

    def make(self, generator: torch.Generator) -> torch.Tensor:
        """The array, from the generator's numbers."""
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
    """An :class:`Array` of this shape."""
    return Array(shape, **options)


def ints(*shape: int, low: int = -5, high: int = 5, dtype: str = "int64") -> Array:
    """Random integers."""
    return Array(shape, dtype, "integers", low, high)


def bools(*shape: int) -> Array:
    """Random truth values."""
    return Array(shape, "bool", "bools")


@dataclass(frozen=True)
class Sample:
    """``function(*args, **kwargs)`` must give in every target what it gives in torch; at ``other`` arguments
    too, with the same graph.
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
    """``function(*args, **kwargs)`` must raise ``exception`` with ``message`` (a regular expression) while it
    is converted.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    exception: type[BaseException]
    message: str


def made(structure: Any, seed: int = 0) -> Any:
    """``structure`` with arrays in the place of their descriptions; the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return map_structure(lambda item: item.make(generator) if isinstance(item, Array) else item, structure)


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)`` without its warnings: for what torch calls deprecated and still has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)
