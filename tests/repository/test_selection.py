"""Tests of the choice of cases: it is the same for everyone, includes the cases that a change affects, and
leaves nothing unexercised.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import affected, changes, selection

NODES = [
    f"tests/corpora/test_samples.py::test_sample[elementwise-{place}-{to}]"
    for place in range(200)
    for to in affected.TARGETS
]
PROGRAMS = [
    f"tests/corpora/test_programs.py::test_recorded_before[sizes-{place}-{to}]"
    for place in range(20)
    for to in affected.TARGETS
]


def test_a_share_is_drawn_by_names_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a case is chosen must not depend on the other cases or on their order."""
    monkeypatch.setitem(selection.table()["shares"], "tests/corpora/test_samples.py::test_sample", 8)
    drawn = selection.selected(NODES)
    assert 60 < len(drawn) < 140
    assert selection.selected(reversed(NODES)) == drawn
    assert selection.selected(NODES[:400]) == drawn & set(NODES[:400])
    assert drawn == {node for node in NODES if selection.is_drawn(*node.removesuffix("]").split("["))}


def test_every_test_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selection.table()["shares"], "tests/corpora/test_samples.py::test_sample", 10**9)
    assert len(selection.selected(NODES)) == 1


def test_a_test_without_a_share_runs_whole() -> None:
    nodes = [f"tests/test_new.py::test_new[{place}]" for place in range(30)]
    assert selection.selected(nodes) == set(nodes)


def test_a_case_that_is_named_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selection.table()["shares"], "tests/corpora/test_samples.py::test_sample", 10**9)
    monkeypatch.setitem(selection.table()["cases"], NODES[17], ["lower jax abs"])
    assert NODES[17] in selection.selected(NODES)


def test_a_draw_is_the_same_in_any_order() -> None:
    drawn = selection.draw(NODES, 100)
    assert len(drawn) == 100 and selection.draw(reversed(NODES), 100) == drawn
    assert selection.draw(NODES, 50) < drawn
    assert selection.draw(NODES, None) == set(NODES)


def test_missing_and_stale_names_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        selection.table(), "exceptions", {"pass idle": "why", "pass gone": "why", "pass runs": "why"}
    )
    assert selection.unexercised({"pass idle", "pass runs", "pass new"}, {"pass runs"}) == [
        "pass new",
        "pass runs: listed as an exception, and exercised",
        "pass gone: listed as an exception, and there is none",
    ]


# -------------------------------------------------------------------------------------- what a change affects
AFFECTED = {
    "backends/jax/lowering/reductions.py": (
        [case for case in NODES if "-jax]" in case],
        [case for case in NODES if "-jax]" not in case],
    ),
    "tests/corpora/programs/sizes.py": (PROGRAMS, NODES),
    "tests/corpora/samples/elementwise.py": ([], PROGRAMS),
    "graph_compiler/cli/app.py": ([], [*NODES, *PROGRAMS]),
    "docs/guards.md": ([], [*NODES, *PROGRAMS]),
}


@pytest.mark.parametrize("changed", AFFECTED)
def test_affected(changed: str, checkout: Path) -> None:
    found = affected.affected([*NODES, *PROGRAMS], [changed])
    runs, rests = AFFECTED[changed]
    assert found >= set(runs) and not found & set(rests)


@pytest.mark.parametrize(
    "changed",
    [
        "graph_compiler/passes/cleanup/redundancy.py",
        "frontends/torch/lifting/reductions.py",
        "graph_compiler/codegen/scope.py",
    ],
)
def test_each_program_runs_where_the_core_changes(changed: str) -> None:
    found = affected.affected([*NODES, *PROGRAMS], [changed])
    programs = [case.rpartition("-")[0] for case in found if case in PROGRAMS]
    assert len(programs) == len(set(programs)) == 20


def test_rules_run_in_other_frameworks_than_their_own() -> None:
    found = affected.affected([*NODES, *PROGRAMS], ["frontends/torch/lifting/reductions.py"])
    assert found and not any(case.endswith("-torch]") for case in found)


def test_every_file_of_the_package_reaches_a_test(checkout: Path) -> None:
    """This fails for a new folder without a row in ``REACH``."""
    names = [
        path.relative_to(checkout).as_posix()
        for room in ("graph_compiler", "backends", "frontends")
        for path in (checkout / room).rglob("*.py")
    ]
    assert not [name for name in names if not list(affected.reached(name))]


def test_every_row_is_that_of_a_file(checkout: Path) -> None:
    """A row whose files have moved would reach nothing, and the tests that it names would not run."""
    names = ["setup.cfg", *(path.relative_to(checkout).as_posix() for path in checkout.rglob("*.py"))]
    rows = {
        next((row.files for row in affected.REACH if re.fullmatch(row.files, name)), None) for name in names
    }
    assert not [row.files for row in affected.REACH if row.files not in rows]


def test_groups_name_frameworks(checkout: Path) -> None:
    """A row whose group matches a shared folder would name a target that does not exist, so that no case
    would run.
    """
    names = [path.relative_to(checkout).as_posix() for path in (checkout / "backends").rglob("*.py")]
    targets = {target for name in names for _, found, _ in affected.reached(name) for target in found}
    assert targets == set(affected.TARGETS)


def test_patterns_name_tests_that_exist(checkout: Path) -> None:
    files = [path.relative_to(checkout) for path in (checkout / "tests").rglob("*.py")]
    patterns = {test for row in affected.REACH for test in (*row.each, *row.one) if "{" not in test}
    assert not [pattern for pattern in patterns if not any(file.match(pattern) for file in files)]


# ---------------------------------------------------------------------------------------------- what changed
FIRST = {
    "notes": "1",
    "gone": "1",
    "backends/a.py": "def f(x):\n    return x\n\n\ndef g(x):\n    return 1\n",
    "backends/b.py": "def f(x):\n    return -x\n",
    "backends/user.py": "from .a import f\n\ny = f(2)\n",
    "backends/other.py": "from .a import g\n\nz = g(2)\n",
}
EDITS: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing": ({}, []),
    "no Python": ({"notes": "2", "gone": "", "new": "1"}, ["gone", "new", "notes"]),
    "docstring": ({"backends/b.py": 'def f(x):\n    """Return minus x."""\n    return -x  # minus\n'}, []),
    "code": ({"backends/b.py": "def f(x):\n    return 0 - x\n"}, ["backends/b.py"]),
    "order": ({"backends/a.py": "def g(x):\n    return 1\n\n\ndef f(x):\n    return x\n"}, []),
    "moved": (
        {
            "backends/a.py": "def f(x):\n    return x\n",
            "backends/c.py": "def g(x):\n    return 1\n",
            "backends/other.py": "from .c import g\n\nz = g(2)\n",
        },
        [],
    ),
    "file moved": ({"backends/b.py": "", "backends/c/b.py": FIRST["backends/b.py"]}, []),
    "deleted": ({"backends/a.py": "def f(x):\n    return x\n"}, ["backends/a.py"]),
    "import of another": ({"backends/user.py": "from .b import f\n\ny = f(2)\n"}, ["backends/user.py"]),
    "not to be parsed": ({"backends/b.py": "def f("}, ["backends/b.py"]),
}


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text) if text else path.unlink()


def write_and_commit(folder: Path, texts: dict[str, str]) -> None:
    write(folder, texts)
    for command in (["init"], ["add", "."], ["commit", "-m", "first"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *command],
            cwd=folder,
            check=True,
            capture_output=True,
        )


@pytest.mark.parametrize("edit", EDITS)
def test_changed_files(edit: str, tmp_path: Path) -> None:
    write_and_commit(tmp_path, FIRST)
    texts, changed = EDITS[edit]
    write(tmp_path, texts)
    assert changes.changed_files("HEAD", tmp_path) == changed


def test_results_follow_a_test_that_is_moved(tmp_path: Path) -> None:
    write_and_commit(tmp_path, {"tests/test_a.py": FIRST["backends/a.py"], "tests/test_b.py": "pass\n"})
    (tmp_path / "tests" / "runtime").mkdir()
    (tmp_path / "tests" / "test_a.py").rename(tmp_path / "tests" / "runtime" / "test_a.py")
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    assert changes.moved_files("HEAD", tmp_path) == {"tests/test_a.py": "tests/runtime/test_a.py"}


# ------------------------------------------------------------------------------------ results of a report
CASES = [f"tests/test_{file}.py::test_{case}" for file in "ab" for case in "12"]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path) -> Any:
    """Return the module of ``scripts/test --all``, for a checkout with one commit and no results."""
    spec = importlib.util.spec_from_file_location("test_all", checkout / "scripts" / "test_all.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    monkeypatch.setitem(sys.modules, "test_all", module)
    spec.loader.exec_module(module)
    write_and_commit(tmp_path, {"tests/test_a.py": FIRST["backends/a.py"], "tests/test_b.py": "pass\n"})
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "REPORT", tmp_path / "test_report.md")
    return module


def _report(runner: Any, commit: str, outcomes: dict[str, str]) -> None:
    result = {"outcomes": outcomes, "memory": 0, "seconds": 0}
    runner.REPORT.write_text(runner.report(commit, [result]))


def test_a_report_tells_what_passed(runner: Any) -> None:
    commit = runner.git("rev-parse", "HEAD")
    assert runner.passed_at(commit, CASES) == {}
    _report(runner, commit, dict.fromkeys(CASES, "passed") | {CASES[1]: "failed: why"})
    assert runner.passed_at(commit, CASES) == dict.fromkeys([CASES[0], *CASES[2:]], runner.BEFORE)


def test_a_report_of_a_process_that_died_tells_nothing(runner: Any) -> None:
    commit = runner.git("rev-parse", "HEAD")
    died = {"tests/test_a.py and others (part 1 of 2)": "failed: exit status -9"}
    _report(runner, commit, dict.fromkeys(CASES, "passed") | died)
    assert runner.passed_at(commit, CASES) == {}


def test_a_failure_is_found_in_a_file_that_was_moved(runner: Any) -> None:
    commit = runner.git("rev-parse", "HEAD")
    _report(runner, commit, dict.fromkeys(CASES, "passed") | {CASES[0]: "failed: why"})
    (runner.ROOT / "tests" / "test_a.py").rename(runner.ROOT / "tests" / "test_c.py")
    runner.git("add", "-A")
    now = [case.replace("test_a", "test_c") for case in CASES]
    assert runner.passed_at(commit, now) == dict.fromkeys(now[1:], runner.BEFORE)


def test_results_of_this_checkout_come_before_the_report(runner: Any) -> None:
    commit = runner.git("rev-parse", "HEAD")
    _report(runner, commit, dict.fromkeys(CASES, "passed"))
    folder = runner.ROOT / ".pytest_cache" / "all" / commit
    folder.mkdir(parents=True)
    outcomes = {CASES[0]: "passed", CASES[1]: "skipped", CASES[2]: "failed: why"}
    (folder / "part.json").write_text(json.dumps({"outcomes": outcomes}))
    assert runner.passed_at(commit, CASES) == {CASES[0]: "passed", CASES[1]: "skipped"}


# ------------------------------------------------------------------------------------ runs of parts
def test_a_large_process_is_replaced(
    runner: Any, monkeypatch: pytest.MonkeyPatch, checkout: Path, tmp_path: Path
) -> None:
    file = "tests/ir/test_printer.py"
    ids = ["-q", "--collect-only", "-p", "no:cacheprovider", file]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", *ids], cwd=checkout, capture_output=True, text=True, check=True
    )
    cases = [line for line in listed.stdout.split("\n") if "::" in line][:2]
    (tmp_path / "cases.txt").write_text("\n".join(cases))
    monkeypatch.setattr(runner, "ROOT", checkout)
    # Every process needs more than this, so each runs one case.
    monkeypatch.setattr(runner, "MOST_MEMORY", 0.001)
    result = runner.run(runner.Part((file,)), tmp_path)
    assert result["outcomes"] == dict.fromkeys(cases, "passed")
    log = next(tmp_path.glob("*.log")).read_text()
    assert log.count("the process has grown large") == len(cases) == 2


# ------------------------------------------------------------------------------- other environments
def test_a_report_keeps_the_rows_of_other_environments(runner: Any) -> None:
    from scripts import test_environments

    commit = runner.git("rev-parse", "HEAD")
    _report(runner, commit, dict.fromkeys(CASES, "passed"))
    text = runner.REPORT.read_text()
    assert test_environments.section(text) == ""
    old, new = ["3.10", *"12345"], ["3.13", *"22345"]
    for versions, results in (
        (old, ["9", "1", "0", "a"]),
        (new, ["9", "0", "0", "a"]),
        (old, ["9", "0", "1", "b"]),
    ):
        text = test_environments.with_row(text, versions, results)
    rows = [line for line in test_environments.section(text).splitlines() if line.startswith("| 3.")]
    assert rows == [
        "| 3.10 | 1 | 2 | 3 | 4 | 5 | 9 | 0 | 1 | b |",
        "| 3.13 | 2 | 2 | 3 | 4 | 5 | 9 | 0 | 0 | a |",
    ]
    runner.REPORT.write_text(text)
    assert runner.passed_at(commit, CASES) == dict.fromkeys(CASES, runner.BEFORE)
    assert test_environments.section(text + "\n## More\n") == test_environments.section(text) + "\n"
