"""Loops of Python's own in functions of JAX are recorded once for all lengths, where their code proves these; all others are right."""

from __future__ import annotations

import pytest

from ..control_flow.running import in_turn
from . import nested, programs
from .jax_programs import COUNTED, FOLDED, RIGHT
from .running import check

_COMMON = ("damped", "timed", "averaged_rows", "numbered_pairs", "newton_between", "one_of_two_turned")
_NESTED = ("windows", "lower_triangle")
WAYS = [f"jax {to}" for to in ("numpy", "torch", "jax", "tensorflow")]
SIZED = {
    **FOLDED,
    **{name: programs.SIZED[name] for name in _COMMON if name in programs.SIZED},
    **{name: nested.FOLDED[name] for name in _NESTED},
}
NUMBERED = {**COUNTED, **{name: programs.COUNTED[name] for name in _COMMON if name in programs.COUNTED}}


@pytest.mark.parametrize(("name", "way"), in_turn(NUMBERED, WAYS, weeks=4))
def test_one_recording_serves_all_numbers_of_steps(name: str, way: str) -> None:
    graph, variants = check(NUMBERED[name], *way.split())
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), in_turn(SIZED, WAYS, weeks=4))
def test_one_recording_serves_all_sizes(name: str, way: str) -> None:
    graph, variants = check(SIZED[name], *way.split(), number=5, most=9)
    assert variants == 1, graph.explain()


TRAPS = {**RIGHT, "hashed_columns": programs.RIGHT["hashed_columns"]}


@pytest.mark.parametrize(("name", "way"), in_turn(TRAPS, WAYS, weeks=4))
def test_what_only_looks_like_it_is_right(name: str, way: str) -> None:
    check(TRAPS[name], *way.split(), most=9)
