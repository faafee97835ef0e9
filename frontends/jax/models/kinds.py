"""The two kinds of models: objects whose variables are assigned to, and objects that never change."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any


class WithVariables:
    """An object that holds variables, by name."""

    changes = True

    def __init__(self, item: Any, variables: Mapping[str, Any]) -> None:
        self.item, self._variables = item, dict(variables)

    def leave_out(self, known: Set[int]) -> None:
        """Variables with these identities belong to another model."""
        self._variables = {name: variable for name, variable in self._variables.items() if id(variable) not in known}

    def owner_of(self, name: str) -> Any:
        """The variable."""
        return self._variables[name]


class Fixed:
    """An object that is made again with other arrays; it shares no variables."""

    changes = False

    def __init__(self, item: Any) -> None:
        self.item = item

    def leave_out(self, known: Set[int]) -> None:
        """It has none."""

    def owner_of(self, name: str) -> Any:
        """The object."""
        return self.item

    def put(self, name: str, array: Any) -> None:
        """It never changes."""
