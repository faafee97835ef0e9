"""A backend that lacks required members."""

from __future__ import annotations

from typing import Any

from graph_compiler import contracts

from .backend import rows


class Target(contracts.Target):
    name = "toy_unfinished"

    def dtype(self, name: str) -> Any:
        return name


class Backend(contracts.Backend):
    name = "toy_unfinished"
    rows = rows
    target = Target()  # type: ignore[abstract]


backend = Backend()  # type: ignore[abstract]
