"""The values that a random program has at a line, found by running it up to there. Lines that torch rejects
are not written.
"""

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
    """The properties of a value that the grammar needs."""

    kind: str
    ndim: int = 0
    dtype: torch.dtype | None = None

    def fits(self, letter: str) -> bool:
        """Return True if such a value may fill a hole with this letter."""
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
    """Return the fact of each value after ``lines``, by the text of its expression, in the first of ``calls``
    calls.

    Return None if torch raises or warns at one of the calls, or if an array is too large (see
    :func:`is_moderate`).
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
    """Show warnings again that torch gives once per process, so that the program of a seed does not depend on
    earlier ones.
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
    """Return True if the array is small, and its elements are far from overflow in any framework."""
    if array.numel() > MOST_ELEMENTS or array.ndim > MOST_AXES:
        return False
    # The comparison is false for NaN too.
    return bool((array.detach().to(torch.complex64).abs() <= LARGEST).all())


def facts(names: Names) -> dict[str, Fact]:
    """Map each expression that a program may use to the fact of its value."""
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
    """Return the fact of a value. Its kind is an empty string if the grammar has no use for it."""
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
