"""Tests of iterations that branch on the loop index: one recording if all later iterations take the same
branch, else one for each length.
"""

from __future__ import annotations

import pytest

from tests.support.selection import pairs

from .questions import ONCE, RIGHT
from .running import check
from .test_lengths import WAYS


@pytest.mark.parametrize(("name", "way"), pairs(ONCE, WAYS))
def test_one_recording_serves_all_lengths(name: str, way: str) -> None:
    graph, variants = check(ONCE[name], *way.split(), number=5, most=9)
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), pairs(RIGHT, WAYS))
def test_other_answers_are_right(name: str, way: str) -> None:
    check(RIGHT[name], *way.split(), most=9)
