"""Tests of Python loops: recorded once for all lengths where that is proven, and right at each length
otherwise.
"""

from __future__ import annotations

import pytest

from tests.support.gave_up import assert_gave_up
from tests.support.selection import pairs

from .inside import COMPILERS, GRADIENTS, check_compiled, check_gradients
from .programs import COUNTED, RIGHT, SIZED
from .running import check

FOLDED = {**COUNTED, **SIZED}
WAYS = [f"{source} {to}" for source in ("numpy", "torch") for to in ("numpy", "torch", "jax", "tensorflow")]


@pytest.mark.parametrize(("name", "way"), pairs(COUNTED, WAYS))
def test_one_recording_serves_all_numbers_of_steps(name: str, way: str) -> None:
    graph, variants = check(COUNTED[name], *way.split())
    assert variants == 1, graph.explain()
    assert_gave_up(graph)


@pytest.mark.parametrize(("name", "way"), pairs(SIZED, WAYS))
def test_one_recording_serves_all_sizes(name: str, way: str) -> None:
    graph, variants = check(SIZED[name], *way.split(), number=5)
    assert variants == 1, graph.explain()
    assert_gave_up(graph)


@pytest.mark.parametrize(("name", "way"), pairs(RIGHT, WAYS))
def test_what_only_looks_like_it_is_right(name: str, way: str) -> None:
    check(RIGHT[name], *way.split())


@pytest.mark.parametrize(
    ("name", "way"), pairs(FOLDED, [f"{source} {way}" for way in COMPILERS for source in ("numpy", "torch")])
)
def test_the_recording_serves_all_lengths_inside_of_compilers(name: str, way: str) -> None:
    check_compiled(FOLDED[name], *way.split())


@pytest.mark.parametrize(
    ("name", "way"), pairs(FOLDED, [f"{source}:{way}" for source in ("torch", "numpy") for way in GRADIENTS])
)
def test_gradients_are_those_of_the_steps(name: str, way: str) -> None:
    check_gradients(FOLDED[name], *way.split(":"))
