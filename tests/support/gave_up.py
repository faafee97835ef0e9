"""Judge of the ways to record that a graph gave up: exactly those that a case lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def assert_gave_up(graph: Any, listed: Collection[str] = ()) -> None:
    """Raise ``AssertionError`` if the ways that the graph gave up are not those that are ``listed``."""
    assert {each.way for each in graph.gave_up} == set(listed), graph.explain()
