"""Tests of the arithmetic of the benchmarks: rounds, ratios, floors, and the report on a contender that
fails.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

pytest.importorskip("rich")
measure = pytest.importorskip("benchmarks.measure")
results = pytest.importorskip("benchmarks.results")
floors = pytest.importorskip("benchmarks.floors")


def test_rounds_are_interleaved_and_rotate() -> None:
    calls: list[str] = []
    makers = {name: lambda name=name: calls.append(name) or 1.0 for name in "abc"}
    samples = measure.interleave_once(makers, rounds=3)
    assert "".join(calls) == "abcbcacab"
    assert samples == {name: [1.0] * 3 for name in "abc"}


def test_every_contender_gets_one_sample_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure.gc, "collect", lambda: 0)
    samples = measure.interleave({"a": lambda: None, "b": lambda: sum(range(1000))}, rounds=5, batch=1e-4)
    assert [len(taken) for taken in samples.values()] == [5, 5]
    assert measure.interleave({}, rounds=5) == {}


def test_a_ratio_is_taken_within_each_round() -> None:
    """A machine that is twice as slow during one round must not change the ratio."""
    samples = {"slow": [2.0, 4.0, 2.2], "fast": [1.0, 2.0, 1.0]}
    assert measure.ratio(samples, "slow", "fast") == 2.0
    assert measure.difference(samples, "slow", "fast") == pytest.approx(1.2)


def test_the_call_before_and_interruptions_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = [0.0], iter(range(1_000_000))

    def taking(usual: float) -> measure.Call:
        def call() -> None:
            clock[0] += usual + (100.0 if next(calls) % 7 == 0 else 0.0)

        return call

    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    assert measure.steady_after(taking(3.0), taking(200.0), times=100) == pytest.approx(3.0)
    assert measure.steady(taking(2.0), batches=20, repeats=3) == pytest.approx(2.0)


def test_floors_judge_the_right_side() -> None:
    assert floors.FLOORS["speed-up over eager"].holds(1.31)
    assert not floors.FLOORS["speed-up over eager"].holds(1.29)
    assert floors.FLOORS["against hand-flattened"].holds(1.03)
    assert not floors.FLOORS["against hand-flattened"].holds(1.04)


def test_failures_and_missed_floors_are_listed(tmp_path: Path) -> None:
    made = results.Results("section")
    made.add_samples("case", "steady call", {"graph": [1.0, 3.0, 2.0]})
    made.add_figure("case", "against hand-flattened", 2.0, "x")
    made.add_figure("case", "of no floor", 2.0, "x")
    assert made.attempt("case", {"graph": lambda: 1 / 0, "torch eager": lambda: 5}) == {"torch eager": 5}
    assert made.missed == ["case: against hand-flattened", "case: graph failed"]
    results.save(tmp_path / "run.json", [made], {"quick": True})
    section = json.loads((tmp_path / "run.json").read_text("utf-8"))["sections"][0]
    assert section["timings"][0]["median"] == 2.0
    assert [figure["reached"] for figure in section["figures"]] == [False, None]
    assert section["failures"][0]["reason"] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("duration", "text"), [(1.5, "1.5 s"), (0.0025, "2.5 ms"), (3e-6, "3 µs"), (-3e-6, "-3 µs")]
)
def test_durations_are_readable(duration: float, text: str) -> None:
    assert results.human(duration) == text


def test_every_section_can_be_imported() -> None:
    sections = pytest.importorskip("benchmarks.sections")
    files = {path.stem for path in Path(sections.__file__).parent.glob("*.py")} - {"__init__"}
    for name in sorted(files):
        assert callable(importlib.import_module(f"benchmarks.sections.{name}").run), name
