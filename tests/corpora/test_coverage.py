"""Tests of the judges of corpora: only right results count as right, and a process that hangs or dies affects
its own case alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

# torch's operator database imports it.
pytest.importorskip("expecttest")

from graph_compiler.backends import jax as jax_backend
from graph_compiler.errors import UnsupportedOperation

from .coverage import dtypes, operators, published, zoo
from .coverage.judging import assert_right, assert_same_distribution
from .coverage.outcome import CRASHED, REFUSED, RIGHT, SKIPPED, TIMEOUT, WRONG, Skipped, outcome_of
from .coverage.pool import Worker
from .coverage.results import Results, page


def _raise(problem: BaseException) -> None:
    raise problem


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (AssertionError("2 for 1"), WRONG),
        (UnsupportedOperation("no row"), REFUSED),
        (KeyError("x"), CRASHED),
        (Skipped("torch cannot"), SKIPPED),
    ],
)
def test_every_end_has_a_status(problem: BaseException, status: str) -> None:
    assert outcome_of(lambda: _raise(problem)).status == status
    assert outcome_of(lambda: {"samples": 1}).status == RIGHT


def test_operators_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert operators.judge("square", "jax")["samples"] > 0
    assert operators.judge("bernoulli", "jax")["samples"] > 0
    assert operators.judge_errors("cat", "jax")["inputs"] > 0
    monkeypatch.setitem(jax_backend.rows._rows, "square", lambda x: f"({x} * {x} * 1.001)")
    with pytest.raises(AssertionError, match="sample 0"):
        operators.judge("square", "jax")


def test_operators_are_judged_in_every_data_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong dtype counts as wrong even if the values are equal."""
    assert {"square@int8", "square@bfloat16", "square@complex128"} <= set(dtypes.names())
    assert dtypes.judge("square@int8", "jax")["samples"] > 0
    monkeypatch.setitem(jax_backend.rows._rows, "square", lambda x: f"({x} * {x}).astype(jnp.int32)")
    with pytest.raises(AssertionError, match="sample 0"):
        dtypes.judge("square@int8", "jax")


def test_models_are_judged() -> None:
    facts = zoo.judge("bert-BertModel", "torch")
    assert facts["other"] == RIGHT and facts["variants"] == 1


def test_no_further_than_torch_counts_as_right() -> None:
    expected, exact = np.float32([1.0, 2.0]), np.float64([1.001, 2.0])
    assert_right(np.float32([1.0015, 2.0]), expected, lambda: exact)
    with pytest.raises(AssertionError):
        assert_right(np.float32([1.01, 2.0]), expected, lambda: exact)


def test_distributions_are_told_apart() -> None:
    one, other = np.random.default_rng(0), np.random.default_rng(1)
    assert_same_distribution(lambda: one.normal(size=50), lambda: other.normal(size=50))
    with pytest.raises(AssertionError, match="distribution"):
        assert_same_distribution(lambda: one.normal(size=50) * 2.0, lambda: other.normal(size=50))
    with pytest.raises(AssertionError, match="every draw"):
        assert_same_distribution(lambda: np.zeros(50), lambda: other.normal(size=50))


@pytest.mark.parametrize(
    ("script", "status"),
    [("import time; time.sleep(60)", TIMEOUT), ("input(); raise SystemExit(3)", CRASHED), ("", CRASHED)],
)
def test_a_process_that_hangs_or_dies(script: str, status: str) -> None:
    worker = Worker("operators", seconds=2)
    worker.command = [sys.executable, "-c", f"print('ready', flush=True); {script}"]
    record = worker.judge("add", "jax")
    worker.stop()
    assert record["status"] == status


def test_results_are_kept_and_summed_up(tmp_path: Path) -> None:
    results = Results(tmp_path, "operators", "jax")
    for name, status in {"a": WRONG, "b": RIGHT, "c": SKIPPED}.items():
        results.keep({"name": name, "status": status, "detail": "2 for 1", "facts": {}, "seconds": 0.1})
    results.keep(
        {
            "name": "a",
            "status": RIGHT,
            "detail": "",
            "facts": {"other": WRONG, "other_detail": "5 for 4", "variants": 2},
            "seconds": 0.1,
        }
    )
    again = Results(tmp_path, "operators", "jax")
    assert (
        again.summary()["share"] == 1.0
        and again.summary()["cases"] == 2
        and again.summary()["other_share"] == 0.0
    )
    assert "at other shapes: wrong: N for N`: a" in page([again])


def test_published_shares_are_those_of_the_last_run(tmp_path: Path) -> None:
    file = tmp_path / "coverage.json"
    first, other = Results(tmp_path, "operators", "jax"), Results(tmp_path, "numpy-calls", "torch")
    for results in (first, other):
        results.keep({"name": "a", "status": WRONG, "detail": "", "facts": {}, "seconds": 0.1})
        results.keep({"name": "b", "status": RIGHT, "detail": "", "facts": {}, "seconds": 0.1})
    published.publish([first, other], every=4, file=file)
    first.keep({"name": "a", "status": RIGHT, "detail": "", "facts": {}, "seconds": 0.1})
    published.publish([first], every=1, file=file)
    torch_line, numpy_line = published.section(published.rows_of(file))[2:]
    assert "| not measured | 100.0% of 2 | not measured | not measured |" in torch_line
    assert "| 50.0% of 2, 1 in 4, 1 wrong |" in numpy_line
