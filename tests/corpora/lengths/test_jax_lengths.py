"""Tests of Python loops in JAX functions: recorded once for all lengths where that is proven, and right at
each length otherwise.
"""

from __future__ import annotations

import pytest

from tests.support.compare import assert_same_leaves
from tests.support.selection import pairs

from . import nested, programs
from .inside import by_jax, by_jit, by_tape, by_torch
from .jax_programs import COUNTED, FOLDED, RIGHT
from .running import arguments, check, compiled

_COMMON = ("damped", "timed", "averaged_rows", "numbered_pairs", "newton_between", "one_of_two_turned")
_NESTED = ("windows", "lower_triangle")
WAYS = [f"jax {to}" for to in ("numpy", "torch", "jax", "tensorflow")]
SIZED = {
    **FOLDED,
    **{name: programs.SIZED[name] for name in _COMMON if name in programs.SIZED},
    **{name: nested.FOLDED[name] for name in _NESTED},
}
NUMBERED = {**COUNTED, **{name: programs.COUNTED[name] for name in _COMMON if name in programs.COUNTED}}


@pytest.mark.parametrize(("name", "way"), pairs(NUMBERED, WAYS))
def test_one_recording_serves_all_numbers_of_steps(name: str, way: str) -> None:
    graph, variants = check(NUMBERED[name], *way.split())
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), pairs(SIZED, WAYS))
def test_one_recording_serves_all_sizes(name: str, way: str) -> None:
    graph, variants = check(SIZED[name], *way.split(), number=5, most=9)
    assert variants == 1, graph.explain()


def test_fresh_inputs_have_the_number_of_steps() -> None:
    _, graph = compiled(programs.COUNTED["damped"], "jax", "numpy")
    graph(*arguments(6, 5, "numpy"))
    assert graph.verify()


def test_gradients_are_those_of_the_steps() -> None:
    for name, way, taken in (
        ("lower_sums", "tensorflow", by_tape),
        ("history", "torch", by_torch),
        ("prefix_sums_at", "jax", by_jax),
    ):
        run, graph = compiled(FOLDED[name], "jax", way)
        graph(*arguments(6, 5, way))
        found, wanted = taken(graph, *arguments(4, 5, way)), by_jax(run, *arguments(4, 5, "jax"))
        assert_same_leaves(found, wanted, name)
        assert len(graph.variants) == 1


def test_the_recording_serves_all_lengths_inside_of_jit() -> None:
    run, graph = compiled(FOLDED["every_pair"], "jax", "jax")
    graph(*arguments(6, 5, "jax"))
    assert_same_leaves(by_jit(graph, *arguments(4, 5, "jax")), run(*arguments(4, 5, "jax")), "in jit")
    assert len(graph.variants) == 1


TRAPS = {**RIGHT, "hashed_columns": programs.RIGHT["hashed_columns"]}


@pytest.mark.parametrize(("name", "way"), pairs(TRAPS, WAYS))
def test_what_only_looks_like_it_is_right(name: str, way: str) -> None:
    check(TRAPS[name], *way.split(), most=9)
