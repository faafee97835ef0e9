"""Small programs of every behaviour: as they are and as graphs, recorded at once or at the first call.

Programs test how things are recorded, which is the same for every target; how operations are written for each of them the samples
test. So the default run proves of a program that it is recorded rightly, in the framework that it is written in, and that its graph
goes through the canonical operations to one other target: a target in turn, by the program's name and the week, so that four weeks
are all targets. Where an error is right, or a limit is known, it is held to in every target in every run. ``EVERYWHERE`` are the programs
that reach a part of a target's lowering which neither a sample nor another test reaches; they run in all targets as well.
``scripts/test --all-targets`` runs everything in every target.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from graph_compiler.errors import GraphCompilerError

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
from .programs.table import LIFTED, TARGETS, Program, check
from .support.turns import WEEK, turn

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
EVERYWHERE = frozenset({"views-through_view_sizes_add_", "wrappers-autocast_model"})


def limitation(table: str, program: Program, to: str) -> str | None:
    """Why a program gives something else in a target."""
    return guards.LIMITATIONS.get((program.name, "torch" if to == LIFTED else to)) if table == "guards" else None


def is_in_turn(table: str, program: Program, to: str) -> bool:
    """Whether a program runs in a target whatever the run: in its own framework, where that is wrong or refused, and in one of the
    others."""
    own, *others = program.targets
    name = f"{table}-{program.name}"
    always = to == own or name in EVERYWHERE or program.error(to) or limitation(table, program, to)
    return bool(always) or to == others[turn(name, len(others))]


def cases(module_of: dict[str, Any]) -> Iterator[Any]:
    """(table, program, target)."""
    for table, module in module_of.items():
        for program in module.PROGRAMS:
            for to in program.targets:
                marks = [] if is_in_turn(table, program, to) else [pytest.mark.out_of_turn]
                yield pytest.param(table, program, to, id=f"{table}-{program.name}-{to}", marks=marks)


CASES = list(cases(TABLES))
# Tables, and the targets, in which a program is recorded before, too: the recording is the same, so one target that is recorded for
# suffices.
BEFORE = {
    "views": (), "kept_views": ("numpy",), "memory": (), "control_flow": (), "resets": (), "training": (), "alternating_modules": (),
    "aliased_state": (), "unseen": (), "numbers": (), "computed_sizes": (), "schedules": (), "gradient_reads": ("torch",),
    "containers": ("torch",), "encoders": (), "failing": (), "uncounted": ("torch",), "type_queries": (), "inner_gradients": (),
    "argument_extras": ("torch",), "growing": (), "proxies": (), "transitive_calls": ("jax",), "numpy_state": ("numpy",),
    "foreign": ("jax",), "wrappers": ("jax",), "transforms": ("jax",), "batching": ("jax",),
}  # fmt: skip
RECORDED = [case for case in CASES if case.values[2] in BEFORE.get(case.values[0], ("torch", "jax"))]


def is_before_in_turn(table: str, program: Program, to: str) -> bool:
    """JAX, which has to compile the calls, takes a quarter of the programs each week."""
    return to != "jax" or turn(f"{table}-{program.name} before", 4) == 0


EAGER = [
    pytest.param(*case.values, id=case.id, marks=[] if is_before_in_turn(*case.values) else [pytest.mark.out_of_turn]) for case in RECORDED
]


def run(table: str, program: Program, to: str, lazy: bool) -> None:
    """The program gives what the original gives, or the error that its row tells."""
    if reason := limitation(table, program, to):
        with pytest.raises((AssertionError, GraphCompilerError, RuntimeError)):
            check(program, to, lazy)
        pytest.xfail(reason)
    if words := program.error(to):
        with pytest.raises(GraphCompilerError, match=words):
            check(program, to, lazy)
        return
    check(program, to, lazy)


@pytest.mark.parametrize(("table", "program", "to"), CASES)
def test_recorded_at_the_first_call(table: str, program: Program, to: str) -> None:
    run(table, program, to, lazy=True)


@pytest.mark.parametrize(("table", "program", "to"), EAGER)
def test_recorded_before(table: str, program: Program, to: str) -> None:
    run(table, program, to, lazy=False)


def in_turn_in(week: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The ids of what a run of a week takes."""
    monkeypatch.setenv(WEEK, str(week))
    return {str(case.id) for case in cases(TABLES) if not case.marks}


def test_four_weeks_are_every_target(monkeypatch: pytest.MonkeyPatch) -> None:
    weeks = [in_turn_in(week, monkeypatch) for week in range(2000, 2004)]
    assert set.union(*weeks) == {case.id for case in CASES}
    limits = {case.id for case in CASES if case.values[1].error(case.values[2])}
    assert all(limits <= week and len(week) < 0.5 * len(CASES) for week in weeks)


def test_targets_share_a_week(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = in_turn_in(2000, monkeypatch)
    for target in TARGETS[1:]:
        ids = {case.id for case in CASES if case.values[2] == target}
        assert 0.2 < len(taken & ids) / len(ids) < 0.4, target
