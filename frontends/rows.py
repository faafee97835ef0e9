"""Lifting rows: how one call of a source framework is written in canonical operations.

    @rows.row("add", "__radd__")
    def add(b, input, other, *, alpha=1): ...

    rows.table({("exp2", "special_exp2"): lambda b, input: b.pow(2.0, b.floating(input))})

A row has the signature of the framework's function, after ``b``, the builder. Arrays come as canonical values,
sizes as ints or ``Size``, everything else as the user's code gave it; it returns values in the structure that the call returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..errors import DuplicateRow

Row = TypeVar("Row", bound=Callable[..., Any])


class Rows:
    """The lifting table of one framework, by the names of its functions. A second row for a name is an error."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self._rows: dict[str, Callable[..., Any]] = {}

    def row(self, *names: str) -> Callable[[Row], Row]:
        """Adds a row under one or more names."""

        def register(function: Row) -> Row:
            for name in names:
                if name in self._rows:
                    raise DuplicateRow(f"{self.framework} has two lifting rows for {name!r}")
                self._rows[name] = function
            return function

        return register

    def table(self, rows: Mapping[str | tuple[str, ...], Callable[..., Any]]) -> None:
        """Adds rows that are an expression each, under a name or several."""
        for names, function in rows.items():
            self.row(*((names,) if isinstance(names, str) else names))(function)

    def get(self, name: str) -> Callable[..., Any] | None:
        """The row for a name, or None."""
        return self._rows.get(name)

    def names(self) -> list[str]:
        """All names that have a row."""
        return list(self._rows)
