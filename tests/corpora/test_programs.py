"""Tests of small programs of every behaviour, directly and as graphs, recorded before or at the first call.

Recording is the same for every target, and samples test how each operation is written. So a program runs
in its own framework, and through canonical operations in the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from graph_compiler.errors import GraphCompilerError, InternalError
from tests.support.gave_up import assert_gave_up

from .programs import (
    aliased_state,
    alternating_modules,
    argument_extras,
    batching,
    captured,
    changes,
    closures,
    computed_sizes,
    containers,
    control_flow,
    encoders,
    failing,
    foreign,
    fuzz_regressions,
    gradient_reads,
    growing,
    guards,
    initialising,
    inner_gradients,
    kept_views,
    memory,
    numbers,
    numpy_state,
    places,
    proxies,
    resets,
    schedules,
    signatures,
    sizes,
    state,
    training,
    transforms,
    transitive_calls,
    type_queries,
    uncounted,
    unseen,
    views,
    wanted_numbers,
    wrappers,
)
from .programs.gave_up import GAVE_UP
from .programs.table import LIFTED, Program, check

TABLES = {
    "type_queries": type_queries,
    "signatures": signatures,
    "guards": guards,
    "gradient_reads": gradient_reads,
    "numbers": numbers,
    "numpy_state": numpy_state,
    "sizes": sizes,
    "wanted_numbers": wanted_numbers,
    "computed_sizes": computed_sizes,
    "views": views,
    "proxies": proxies,
    "transitive_calls": transitive_calls,
    "state": state,
    "changes": changes,
    "closures": closures,
    "captured": captured,
    "kept_views": kept_views,
    "initialising": initialising,
    "inner_gradients": inner_gradients,
    "places": places,
    "containers": containers,
    "encoders": encoders,
    "failing": failing,
    "foreign": foreign,
    "wrappers": wrappers,
    "transforms": transforms,
    "batching": batching,
    "control_flow": control_flow,
    "fuzz_regressions": fuzz_regressions,
    "argument_extras": argument_extras,
    "growing": growing,
    "memory": memory,
    "resets": resets,
    "schedules": schedules,
    "training": training,
    "alternating_modules": alternating_modules,
    "aliased_state": aliased_state,
    "uncounted": uncounted,
    "unseen": unseen,
}


def limitation(table: str, program: Program, to: str) -> str | None:
    """Return why a program is known to differ in a target, or None."""
    return (
        guards.LIMITATIONS.get((program.name, "torch" if to == LIFTED else to)) if table == "guards" else None
    )


def cases(module_of: dict[str, Any]) -> Iterator[Any]:
    """Yield a parameter set (table, program, target) of each program in each of its targets."""
    for table, module in module_of.items():
        for program in module.PROGRAMS:
            for to in program.targets:
                yield pytest.param(table, program, to, id=f"{table}-{program.name}-{to}")


CASES = list(cases(TABLES))
# Tables, and the targets, in which a program is recorded before, too: the recording is the same, so one
# target that is recorded for suffices.
BEFORE = {
    "views": (), "kept_views": ("numpy",), "memory": (), "control_flow": (), "resets": (), "training": (), "alternating_modules": (),
    "aliased_state": (), "unseen": (), "numbers": (), "computed_sizes": (), "schedules": (), "gradient_reads": ("torch",),
    "containers": ("torch",), "encoders": (), "failing": (), "uncounted": ("torch",), "type_queries": (), "inner_gradients": (),
    "argument_extras": ("torch",), "growing": (), "proxies": (), "transitive_calls": ("jax",), "numpy_state": ("numpy",),
    "foreign": ("jax",), "wrappers": ("jax",), "transforms": ("jax",), "batching": ("jax",),
}  # fmt: skip
RECORDED = [case for case in CASES if case.values[2] in BEFORE.get(case.values[0], ("torch", "jax"))]


def run(table: str, program: Program, to: str, lazy: bool) -> None:
    """Check a program, or assert that it raises the error that its row lists. Known limitations count as
    expected failures.
    """
    if reason := limitation(table, program, to):
        with pytest.raises((AssertionError, GraphCompilerError, RuntimeError)):
            check(program, to, lazy)
        pytest.xfail(reason)
    if words := program.error(to):
        with pytest.raises(GraphCompilerError, match=words) as caught:
            check(program, to, lazy)
        assert not isinstance(caught.value, InternalError)
        return
    graph = check(program, to, lazy)
    if lazy and to == program.targets[0]:
        assert_gave_up(graph, GAVE_UP.get(f"{table}-{program.name}", ()))


@pytest.mark.parametrize(("table", "program", "to"), CASES)
def test_recorded_at_the_first_call(table: str, program: Program, to: str) -> None:
    run(table, program, to, lazy=True)


@pytest.mark.parametrize(("table", "program", "to"), RECORDED)
def test_recorded_before(table: str, program: Program, to: str) -> None:
    run(table, program, to, lazy=False)
