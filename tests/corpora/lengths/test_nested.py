"""Tests of slices and inner loops that depend on the index of an outer loop: recorded once for all sizes."""

from __future__ import annotations

import pytest

from tests.support.selection import pairs

from .inside import COMPILERS, GRADIENTS, check_compiled, check_gradients
from .nested import FOLDED, NEW_ARRAYS, NUMBERED, RIGHT
from .running import check
from .test_lengths import WAYS


@pytest.mark.parametrize(("name", "way"), pairs(FOLDED, WAYS))
def test_one_recording_serves_all_sizes(name: str, way: str) -> None:
    graph, variants = check(FOLDED[name], *way.split(), number=5, most=9)
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), pairs(NUMBERED, WAYS))
def test_one_recording_serves_all_numbers(name: str, way: str) -> None:
    graph, variants = check(NUMBERED[name], *way.split())
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), pairs(RIGHT, WAYS))
def test_what_only_looks_like_it_is_right(name: str, way: str) -> None:
    check(RIGHT[name], *way.split(), most=9)


@pytest.mark.parametrize(
    ("name", "way"), pairs(FOLDED, [f"{source} {way}" for way in COMPILERS for source in ("numpy", "torch")])
)
def test_the_recording_serves_all_sizes_inside_of_compilers(name: str, way: str) -> None:
    check_compiled(FOLDED[name], *way.split())


@pytest.mark.parametrize(
    ("name", "way"),
    pairs(NEW_ARRAYS, [f"{source}:{way}" for source in ("torch", "numpy") for way in GRADIENTS]),
)
def test_gradients_are_those_of_the_steps(name: str, way: str) -> None:
    check_gradients(FOLDED[name], *way.split(":"))
