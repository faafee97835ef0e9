"""Tests on random programs, which must be right in every target or raise a clear error, and tests of the
fuzzer itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from graph_compiler.backends import jax as jax_backend
from graph_compiler.runtime.effects import Effects
from graph_compiler.runtime.graph import Graph
from graph_compiler.runtime.variant import Variant

from .fuzzing.check import Setting, Verdict, judge, settings
from .fuzzing.program import Call, Line, Program
from .fuzzing.reduce import reduced
from .fuzzing.writer import draws_numbers, write

PROGRAMS = range(10)
# Least share of right runs: a fuzzer whose programs are all rejected finds nothing.
LEAST_RIGHT = 0.6
MOST_UNTOLD = 0.05


def test_random_programs_are_right_or_a_clear_error() -> None:
    counts: Counter[str] = Counter()
    failures = []
    for number in PROGRAMS:
        program = write(number)
        for setting in settings(draws_numbers(program)):
            verdict = judge(program.source(), setting)
            counts[verdict.kind] += 1
            if verdict.fails:
                failures.append(
                    f"program {number}, {setting}: {verdict.kind}\n{verdict.detail}\n\n{program.source()}"
                )
    assert not failures, "\n".join(failures)
    assert counts["right"] >= LEAST_RIGHT * counts.total(), counts
    assert counts["untold"] <= MOST_UNTOLD * counts.total(), counts


def test_a_number_gives_the_same_program_again() -> None:
    assert write(5) == write(5)
    assert len({write(number).source() for number in range(20)}) == 20


# ------------------------------------------------------------------------------------------ the tester tested
def first_failure(setting: Setting, programs: range = range(60)) -> tuple[Program, Verdict]:
    """Return (program, verdict) of the first program that fails, reduced; raise ``AssertionError`` if none
    does.
    """
    for number in programs:
        program = write(number, draws=False)
        verdict = judge(program.source(), setting)
        if verdict.fails:
            kind = verdict.kind
            return reduced(
                program, lambda smaller, kind=kind: judge(smaller.source(), setting).kind == kind
            ), verdict
    raise AssertionError(f"nothing was found in {len(programs)} programs")


def _slightly(x1: Any, x2: Any) -> str:
    return f"({x1} * {x2} * 1.001)"


def _fails(x1: Any, x2: Any) -> str:
    raise KeyError("planted")


@pytest.mark.parametrize(("row", "kind"), [(_slightly, "wrong"), (_fails, "crash")])
def test_a_broken_row_is_found(row: Callable[..., str], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(jax_backend.rows._rows, "multiply", row)
    program, verdict = first_failure(Setting("jax"))
    assert verdict.kind == kind
    assert len(program.lines) <= 3, program.source()


def test_a_lost_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Effects, "write", lambda *args: None)
    program, verdict = first_failure(Setting("jax"))
    assert verdict.kind == "wrong"
    assert len(program.lines) <= 3, program.source()


def test_a_lost_guard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Variant, "_check", lambda *args: None)
    # Few programs have a guard that matters; 103 is the first.
    program, verdict = first_failure(Setting("torch"), range(100, 300))
    assert verdict.kind == "wrong"
    assert len(program.calls) > 1, program.source()


def _program(*lines: str, result: str = "a") -> Program:
    call = Call((Line("x = torch.tensor([1.0, 2.0, 3.0])"),), "x,")
    return Program("x", tuple(map(Line, lines)), result, (call,))


def test_nothing_is_told_where_rounding_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(jax_backend.rows._rows, "divide", lambda x1, x2: f"({x1} / {x2} * 1.000001)")
    assert judge(_program("a = x / 3 > torch.tensor(2.0) / 3").source(), Setting("jax")).kind == "untold"
    # The result is exact, so rounding cannot explain the difference.
    assert judge(_program("a = x / 4 > 0.5").source(), Setting("jax")).kind == "wrong"


def test_memory_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(_program("a = x[1:]").source(), Setting("torch")).kind == "right"
    original = Graph.__call__
    monkeypatch.setattr(
        Graph, "__call__", lambda self, *args, **kwargs: original(self, *args, **kwargs).clone()
    )
    assert judge(_program("a = x[1:]").source(), Setting("torch")).kind == "wrong"


def test_the_reducer_keeps_what_matters() -> None:
    program = _program("a = x + 1", "b = a * 2", "c = x - 1", result="(b, c)")
    smallest = reduced(
        program, lambda candidate: "a * 2" in candidate.source() and "a = x + 1" in candidate.source()
    )
    assert [line.text for line in smallest.lines] == ["a = x + 1", "b = a * 2"]
    assert smallest.result == "None"
