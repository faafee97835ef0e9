"""What a random program has at a line: it is run up to there, and a line that torch refuses is not written."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from tests.support.seeding import seed

from .program import Line, Program

MOST_ELEMENTS, MOST_AXES, LARGEST = 300, 5, 2000
Names = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """What the grammar needs to know of a value."""

    kind: str
    ndim: int = 0
    dtype: torch.dtype | None = None

    def fits(self, letter: str) -> bool:
        """Whether a value like this may stand in a hole."""
        return self.kind == "array" and _FITS[letter](self) if letter in _FITS else self.kind == letter


_FITS: dict[str, Callable[[Fact], bool]] = {
    "x": lambda fact: True,
    "f": lambda fact: fact.dtype is not None and fact.dtype.is_floating_point,
    "b": lambda fact: fact.dtype == torch.bool,
    "i": lambda fact: (
        fact.dtype is not None
        and not fact.dtype.is_floating_point
        and not fact.dtype.is_complex
        and fact.dtype != torch.bool
    ),
    "v": lambda fact: fact.ndim >= 1,
    "m": lambda fact: fact.ndim >= 2,
}


def names_after(program: Program, lines: tuple[Line, ...], calls: int) -> dict[str, Fact] | None:
    """The values that a program has after these lines, by their text; None where torch refuses one of its
    first calls.
    """
    found: dict[str, Fact] = {}
    probe = replace(program, lines=tuple(map(_without_exits, lines)), result="locals()")
    with warnings.catch_warnings(), _every_warning():
        warnings.simplefilter("error")
        try:
            scope = probe.load()
            for make_call in scope["calls"][:calls]:
                seed(0)
                names = scope["make"]()(*make_call())
                if not all(map(is_moderate, _arrays(names))):
                    return None
                found = found or facts(names)
        except Exception:
            return None
    return found


@contextmanager
def _every_warning() -> Iterator[None]:
    """torch itself says some things once a process, and the program of a number is to be the same whatever
    was written before.
    """
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_warn_always(before)


def _without_exits(line: Line) -> Line:
    exits = line.text.startswith(("return", "break"))
    return Line("pass") if exits else Line(line.text, tuple(map(_without_exits, line.body)))


def is_moderate(array: torch.Tensor) -> bool:
    """Small enough to be quick, and with numbers that no framework overflows."""
    if array.numel() > MOST_ELEMENTS or array.ndim > MOST_AXES:
        return False
    return bool((array.detach().to(torch.complex64).abs() <= LARGEST).all())  # false for NaN too


def facts(names: Names) -> dict[str, Fact]:
    """Text -> fact of everything that can be named."""
    found: dict[str, Fact] = {}
    for name, value in names.items():
        if isinstance(value, torch.nn.Module):
            found.update({f"{name}.{key}": fact_of(buffer) for key, buffer in value.named_buffers()})
        elif fact := fact_of(value):
            found[name] = fact
            if fact.kind == "l":
                found.update(
                    {
                        f"{name}[{i}]": inner
                        for i, item in enumerate(value[:2])
                        if (inner := fact_of(item)).kind == "array"
                    }
                )
    return found


def fact_of(value: Any) -> Any:
    """The fact of one value; None for what the grammar has no use for."""
    if isinstance(value, torch.Tensor):
        return Fact("array", value.ndim, value.dtype)
    if isinstance(value, (int, float)):
        return Fact("p")
    if isinstance(value, list) and value and all(isinstance(item, torch.Tensor) for item in value):
        return Fact("l")
    return Fact("")


def _arrays(names: Names) -> Iterable[torch.Tensor]:
    for value in names.values():
        held = (
            value.buffers()
            if isinstance(value, torch.nn.Module)
            else value
            if isinstance(value, list)
            else [value]
        )
        yield from (item for item in held if isinstance(item, torch.Tensor))
