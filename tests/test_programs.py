"""Small programs of every behaviour: as they are and as graphs, recorded at once or at the first call, in each target."""

from __future__ import annotations

import pytest

from graph_compiler.errors import GraphCompilerError

from .programs import (
    asked_types,
    batching,
    called,
    captured,
    changes,
    closures,
    computed_sizes,
    containers,
    control_flow,
    encoders,
    failing,
    foreign,
    found,
    given,
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
    resets,
    schedules,
    signatures,
    sizes,
    standing,
    state,
    training,
    transforms,
    turns,
    twins,
    uncounted,
    unseen,
    views,
    wanted_numbers,
    wrappers,
)
from .programs.table import RAISED, Program, check

TABLES = {
    "asked_types": asked_types,
    "signatures": signatures,
    "guards": guards,
    "gradient_reads": gradient_reads,
    "numbers": numbers,
    "numpy_state": numpy_state,
    "sizes": sizes,
    "wanted_numbers": wanted_numbers,
    "computed_sizes": computed_sizes,
    "views": views,
    "standing": standing,
    "called": called,
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
    "found": found,
    "given": given,
    "growing": growing,
    "memory": memory,
    "resets": resets,
    "schedules": schedules,
    "training": training,
    "turns": turns,
    "twins": twins,
    "uncounted": uncounted,
    "unseen": unseen,
}
CASES = [
    pytest.param(table, program, to, id=f"{table}-{program.name}-{to}")
    for table, module in TABLES.items()
    for program in module.PROGRAMS
    for to in program.targets
]
# Tables, and the targets, in which a program is recorded before, too: the recording is the same, so one target that is recorded for suffices.
BEFORE = {
    "views": (), "kept_views": ("numpy",), "memory": (), "control_flow": (), "resets": (), "training": (), "turns": (), "twins": (), "unseen": (), "numbers": (), "computed_sizes": (), "schedules": (),
    "gradient_reads": ("torch",), "containers": ("torch",), "encoders": (), "failing": (), "uncounted": ("torch",), "asked_types": (), "inner_gradients": (), "given": ("torch",), "growing": (), "standing": (), "called": ("jax",),
    "numpy_state": ("numpy",), "foreign": ("jax",), "wrappers": ("jax",), "transforms": ("jax",), "batching": ("jax",),
}  # fmt: skip
RECORDED = [case for case in CASES if case.values[2] in BEFORE.get(case.values[0], ("torch", "jax"))]
# JAX compiles each operation of a call: each second program always, all with -m slow.
EAGER = [
    pytest.param(*case.values, id=case.id, marks=[pytest.mark.slow] if case.values[2] == "jax" and place // 2 % 2 else [])
    for place, case in enumerate(RECORDED)
]


def run(table: str, program: Program, to: str, lazy: bool) -> None:
    """The program gives what the original gives, or the error that its row tells."""
    reason = guards.LIMITATIONS.get((program.name, "torch" if to == RAISED else to)) if table == "guards" else None
    if reason:
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
