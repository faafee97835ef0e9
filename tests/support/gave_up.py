"""Assertion on the ways to record that a graph gave up."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def assert_gave_up(graph: Any, listed: Collection[str] = ()) -> None:
    """Assert that the graph gave up exactly the ways to record that are in ``listed``."""
    assert {each.way for each in graph.gave_up} == set(listed), graph.explain()
