"""Set up every test run: the environment, the choice of cases, the record of what they exercise, shared
fixtures.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import random
import resource
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from .support.compiled import keep_programs
from .support.contexts import share_contexts
from .support.environment import set_variables

# Exit status of a run that ends because of --most-memory.
GROWN = 75
# A case marked `large` begins in a process that has needed at most this much memory, in GiB.
_LITTLE_MEMORY = 1.3

# This must come before any framework is imported.
set_variables()
# triton belongs to torch for CUDA, which may import it at any time; after TensorFlow that aborts the process.
if importlib.util.find_spec("triton") is not None:
    importlib.import_module("triton")

from .support import affected, changes, default_compilation, exercised, selection  # noqa: E402

# The machine may be busy, so the duration of an example says nothing.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# The examples follow from the test alone, so that every run tries the same ones.
hypothesis.settings.register_profile(
    "fixed", hypothesis.settings.get_profile("busy"), derandomize=True, database=None
)
hypothesis.settings.load_profile("fixed")
# hypothesis would search the source of the package and of all tests for numbers to try, which takes each
# process five seconds.
providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
providers.is_local_module_file = lambda file: False


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the checkout, or skip the test if the tests run outside of a checkout (against an
    installed package).
    """
    root = Path(__file__).resolve().parent.parent
    if not (root / "setup.py").is_file():
        pytest.skip("needs the checkout, and these tests run outside of it")
    return root


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cases that run")
    group.addoption(
        "--selection",
        action="store_true",
        help="run the fixed selection of cases (tests/support/selection.py)",
    )
    group.addoption(
        "--changed",
        metavar="BASE",
        help="run the selection, and each case that the changes since BASE can affect",
    )
    group.addoption(
        "--at-most",
        metavar="N",
        type=int,
        help="of the cases that --changed adds, run N, chosen by a hash of their names",
    )
    group.addoption("--part", metavar="K/N", help="run the K-th of N parts of the cases")
    group.addoption("--cases", metavar="FILE", help="run the cases that the file names, one in a line")
    group.addoption(
        "--outcomes",
        metavar="FILE",
        help="append a line of JSON for each case: id, and passed, skipped or failed: why",
    )
    group.addoption(
        "--most-memory",
        metavar="GIB",
        type=float,
        help=f"end with status {GROWN} after the case with which the process has needed this much memory",
    )
    group.addoption(
        "--record",
        metavar="FILE",
        help="append a line of JSON for each case: id, CPU seconds, what it exercised",
    )


def pytest_configure(config: pytest.Config) -> None:
    exercised.install()
    if config.option.outcomes:
        config.pluginmanager.register(_Outcomes(config.option.outcomes))
    if config.option.most_memory:
        config.pluginmanager.register(_MemoryLimit(config.option.most_memory))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    nodes = [item.nodeid for item in items]
    taken: set[str] | None = None
    if config.option.selection or config.option.changed:
        taken = selection.selected(item.nodeid for item in items if item.get_closest_marker("slow") is None)
    if taken is not None and config.option.changed:
        by_file = affected.affected_by_file(
            nodes, changes.changed_files(config.option.changed, affected.ROOT)
        )
        added = set[str]().union(*by_file.values()) - taken
        drawn = selection.draw(added, config.option.at_most)
        _added[:] = [
            affected.summary(
                {file: len(cases - taken) for file, cases in by_file.items()}, config.option.changed[:12]
            ),
            *(
                [f"{len(drawn)} of these {len(added)} cases run (--at-most)"]
                if len(drawn) < len(added)
                else []
            ),
        ]
        taken |= drawn
    if config.option.cases:
        taken = set(Path(config.option.cases).read_text("utf-8").split("\n"))
    if config.option.part:
        place, count = map(int, config.option.part.split("/"))
        taken = {
            node for node in (nodes if taken is None else taken) if selection.bucket(node, count) == place - 1
        }
    if taken is not None:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
        items[:] = [item for item in items if item.nodeid in taken]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, and exclude from later collections what exists afterwards.

    Frameworks and tests are some two million objects that live until the end. Scanning them again and
    again would take a noticeable part of the run. JAX is patched here (``share_contexts``,
    ``keep_programs``) because only after the collection is it known whether it was imported.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        default_compilation.use_xla_first()
        share_contexts()
        keep_programs()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


class _Outcomes:
    """Plugin that appends the outcome of each case to a file as soon as it is known, so that a process that
    dies loses only the current case.
    """

    def __init__(self, path: str) -> None:
        self._path, self._failed = Path(path), set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
            self._write(report.nodeid, f"failed: {str(report.longrepr).splitlines()[-1][:300]}")
        elif (report.when == "call" or report.skipped) and report.nodeid not in self._failed:
            self._write(report.nodeid, report.outcome)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid, f"failed: {str(report.longrepr).splitlines()[-1][:300]}")

    def _write(self, node: str, outcome: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([node, outcome]) + "\n")


class _MemoryLimit:
    """Plugin that ends the run after the case with which the process has reached ``gib`` GiB of memory.

    It also ends the run before a case marked ``large``, unless the process has needed little memory or has
    run no case.
    """

    def __init__(self, gib: float) -> None:
        self._gib, self._has_run = gib, False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._has_run = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self._has_run and item.get_closest_marker("large"):
            self._end_above(_LITTLE_MEMORY)

    def pytest_runtest_logfinish(self) -> None:
        self._end_above(self._gib)

    def _end_above(self, gib: float) -> None:
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > gib * 2**20:
            pytest.exit("the process has grown large", returncode=GROWN)


# --------------------------------------------------------------------------------------- what a run exercises
_exercised: set[str] = set()
_existing: set[str] = set()
_missing: list[str] = []
# Lines that say which cases a change added to the selection, and how many of them run.
_added: list[str] = []


def pytest_runtest_setup() -> None:
    # TensorFlow keeps one scalar for 0.0 and -0.0 outside of functions: the one that a process makes first.
    if pywrap_tfe := sys.modules.get("tensorflow.python.pywrap_tfe"):
        pywrap_tfe.TFE_ClearScalarCache()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    exercised.found.clear()
    default_compilation.choose(item.nodeid)
    # Libraries draw from this generator too, such as Keras, which chooses the steps of an augmentation.
    random.seed(selection.digest(selection.case_of(item.nodeid)))
    before = time.process_time()
    try:
        return (yield)
    finally:
        _exercised.update(exercised.found)
        if path := item.config.option.record:
            line = {
                "id": item.nodeid,
                "cpu": round(time.process_time() - before, 3),
                "exercised": sorted(exercised.found),
            }
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def pytest_testnodedown(node: Any) -> None:
    """Collect what a worker of pytest-xdist exercised and how many cases a change added there."""
    output = getattr(node, "workeroutput", {})
    _exercised.update(output.get("exercised", ()))
    _existing.update(output.get("existing", ()))
    _added[:] = _added or output.get("added", [])


def _is_whole(config: pytest.Config) -> bool:
    """Return True if the run is of the whole selection, without a filter on the command line.

    Only such a run fails if something was not exercised.
    """
    option = config.option
    narrowed = (
        option.keyword or option.part or option.markexpr != "not slow" or option.maxfail or option.collectonly
    )
    return (
        bool(option.selection or option.changed)
        and not narrowed
        and config.args_source is not pytest.Config.ArgsSource.ARGS
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["added"] = _added
    if not _is_whole(config):
        return
    if output is not None:
        output["exercised"], output["existing"] = sorted(_exercised), sorted(exercised.everything())
        return
    existing = _existing or exercised.everything()
    _missing[:] = selection.unexercised(existing, _exercised, not config.option.changed)
    if getattr(config, "cache", None) is not None:
        (config.rootpath / ".pytest_cache" / "exercised.json").write_text(json.dumps(_missing), "utf-8")
    if _missing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in _added:
        terminalreporter.write_line(line)
    if _missing:
        terminalreporter.section("not exercised by any selected case", red=True)
        for line in _missing:
            terminalreporter.write_line(line)
        terminalreporter.write_line(
            f"{len(_missing)} in all: add a case of each to tests/support/selection.json (scripts/select_cases.py)"
        )
