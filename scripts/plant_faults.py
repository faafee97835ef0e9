"""Plant one fault after the other in a copy of the checkout, and see if the tests find each.

The tests are the cases that ``scripts/test --changed`` adds. A fault is some lines at the end of a file,
which make one row, rule, pass, kind of guard or writer of that file wrong. The cases that
``tests/support/affected.py`` maps to the file run until one fails, those first that are likely to. A fault
that no case finds is a hole in the tests, or in that table.

    python scripts/plant_faults.py --list
    python scripts/plant_faults.py lower:jax          # the faults whose name contains the text
    scripts/test --record cases.jsonl; python scripts/plant_faults.py --recorded cases.jsonl
    nice python scripts/plant_faults.py --results /tmp/faults.jsonl   # continues where it stopped
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import functools
import importlib
import json
import multiprocessing
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support import affected, selection  # noqa: E402

TARGETS = ("torch", "jax", "tensorflow", "numpy")
FRAMEWORKS = (
    "torch",
    "jax.numpy",
    "tensorflow",
    "keras",
    "transformers",
    "flax",
    "equinox",
    "optax",
    "torch._dynamo",
)
# At most this many cases are tried before all others.
LIKELY = 60
# The frameworks are imported before pytest can rewrite their assertions, which it warns of.
OPTIONS = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")

# -------------------------------------------------------------------------------------------- what is planted
ROW = """
_sound_expression = rows.expression


def _faulty_expression(name, *details):
    text = _sound_expression(name, *details)
    return f"(({{text}}) * 1.01)" if name == {name!r} else text


rows.expression = _faulty_expression
"""

WRITER = """
_sound_writer = rows.structured[{name!r}]


def _faulty_writer(scope, node):
    _sound_writer(scope, node)
    scope.line("raise ArithmeticError('planted')")


rows.structured[{name!r}] = _faulty_writer
"""

RULE = """
import functools as _functools

_sound_rule = rows._rows[{name!r}]


@_functools.wraps(_sound_rule)
def _faulty_rule(b, *args, **kwargs):
    result = _sound_rule(b, *args, **kwargs)
    if hasattr(result, "spec") and result.spec is not None and result.spec.dtype != "bool":
        return b.add(b.add(result, result), 1)
    raise ArithmeticError("planted")


for _name, _row in list(rows._rows.items()):
    if _row is _sound_rule:
        rows._rows[_name] = _faulty_rule
"""

PASS = """
import functools as _functools

_sound_pass = {name}


@_functools.wraps(_sound_pass)
def {name}(graph, *args, **kwargs):
    result, changed = _sound_pass(graph, *args, **kwargs)
    if changed and len(result.outputs) > 1:
        return result.derive(outputs=result.outputs[::-1]), True
    if changed:
        raise ArithmeticError("planted")
    return result, changed
"""

# These passes refuse graphs and never change one. With the fault they refuse none.
CHECKS = frozenset({"require_known_sizes"})
CHECK = """
def {name}(graph, *args, **kwargs):
    return graph, False
"""

BLOCK_PASS = """
import dataclasses as _dataclasses

_sound_pass = {name}


def _faulty_run(block):
    made = _sound_pass.run(block)
    if made is not block:
        raise ArithmeticError("planted")
    return made


{name} = _dataclasses.replace(_sound_pass, run=_faulty_run)
"""

MAKER = """
import functools as _functools

_sound_maker = {name}


@_functools.wraps(_sound_maker)
def {name}(*args, **kwargs):
    made = _sound_maker(*args, **kwargs)

    def faulty(graph):
        result, changed = made(graph)
        if changed:
            raise ArithmeticError("planted")
        return result, changed

    return faulty
"""

KIND = """
{name}.lines = lambda self, names: []
{name}.why_broken = lambda self, call: None
"""


# What each case exercised.
Recorded = Mapping[str, set[str]]


@dataclass(frozen=True)
class Fault:
    """Lines that make a file wrong when they are appended to it.

    name: kind, framework, file and row of the fault, joined by colons.
    file: the path from the root of the checkout.
    lines: the text to append.
    rows: names of the rows that it makes wrong, if these are rows of a table.
    """

    name: str
    file: str
    lines: str
    rows: tuple[str, ...] = ()


# ---------------------------------------------------------------------------------------------- where
def faults() -> Iterator[Fault]:
    yield from _of_guards()
    yield from _of_passes()
    for target in TARGETS:
        yield from _of_writers(target)
        yield from _of_tables("lower", target, ROOT / "backends" / target / "lowering", ROW)
    for target in TARGETS:
        yield from _of_tables("lift", target, ROOT / "frontends" / target / "lifting", RULE)


def _of_tables(kind: str, framework: str, folder: Path, lines: str) -> Iterator[Fault]:
    """Yield a fault for one row of each file of a table; the names determine which row it is."""
    room = "backends" if kind == "lower" else "frontends"
    module = f"graph_compiler.{room}.{framework}.{folder.name}"
    importlib.import_module(module if kind == "lower" else f"{module}.driver")
    known = importlib.import_module(f"{module}.table").rows._rows
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        names = [name for name in _row_names(text) if name in known]
        if names and " rows" in text:
            # A hash picks the row, so that the choice is the same on every machine and is not always the
            # first row.
            name = min(names, key=lambda each: zlib.crc32(each.encode()))
            wrong = tuple(each for each, row in known.items() if row is known[name])
            yield Fault(
                f"{kind}:{framework}:{path.stem}:{name}", _relative(path), lines.format(name=name), wrong
            )


def _row_names(text: str) -> list[str]:
    """Return the names that a file passes to ``rows.table`` and ``rows.row`` as literals."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("rows.table", "rows.row"):
            parts = [
                key
                for each in node.args
                if isinstance(each, ast.Dict)
                for key in each.keys
                if key is not None
            ]
            found += [each.value for part in (*node.args, *parts) for each in _strings(part)]
    return found


def _strings(node: ast.expr) -> Iterator[Any]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    if isinstance(node, ast.Tuple):
        yield from (
            each for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )


def _of_writers(target: str) -> Iterator[Fault]:
    rows = importlib.import_module(f"graph_compiler.backends.{target}").rows
    path = ROOT / "backends" / target / "lowering" / "control.py"
    text = path.read_text("utf-8")
    for name in rows.structured:
        if f'"{name}"' in text:
            yield Fault(f"writer:{target}:{name}", _relative(path), WRITER.format(name=name))


def _of_passes() -> Iterator[Fault]:
    exercised = importlib.import_module("tests.support.exercised")
    package = importlib.import_module("graph_compiler.passes")
    for name, item in exercised._passes().items():
        if isinstance(item, package.Pass):
            module, lines = item.run.__module__, BLOCK_PASS
        else:
            module = item.__module__
            lines = MAKER if item.__annotations__["return"] == "GraphPass" else PASS
            lines = CHECK if name in CHECKS else lines
        path = Path(str(sys.modules[module].__file__))
        yield Fault(f"pass:{name}", _relative(path), lines.format(name=name))


def _of_guards() -> Iterator[Fault]:
    for name, kind in importlib.import_module("graph_compiler.assumptions").KINDS.items():
        path = ROOT.joinpath(*kind.__module__.split(".")).with_suffix(".py")
        yield Fault(f"guard:{name}", _relative(path), KIND.format(name=kind.__name__))


def _relative(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix()


# ---------------------------------------------------------------------------------------------- runs
def forked(function: Callable[[], Any], seconds: float, log: Path) -> Any:
    """Call ``function`` in a fork of this process, which has not imported the package; return its result.

    Return None if the fork dies or takes more than ``seconds``. Its output goes to ``log``.
    """
    # Only a fork inherits the frameworks that the parent has imported.
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def call() -> None:
        with log.open("a", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        theirs.send(function())

    process = context.Process(target=call, daemon=True)
    process.start()
    # With this end still open, the parent would not notice that the child has died.
    theirs.close()
    try:
        return ours.recv() if ours.poll(seconds) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def copied(folder: Path) -> Path:
    """Copy the files of the checkout, also those that are not committed yet, to ``folder`` and return it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def enter(folder: Path) -> None:
    """Make this process import the package and its tests from a copy of the checkout."""
    os.chdir(folder)
    sys.dont_write_bytecode = True
    # The modules of tests that are imported so far are those of the checkout.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path[:] = [
        str(folder),
        *(entry for entry in sys.path if entry not in ("", str(ROOT), str(ROOT / "scripts"))),
    ]


class _Cases:
    """Plugin of pytest that keeps only the given cases, in their order, and records failures.

    nodes: the ids of the cases; None to collect all that are not slow.
    failed: the ids of the cases that failed.
    ran: how many cases ran.
    """

    def __init__(self, nodes: list[str] | None) -> None:
        self.nodes, self.failed, self.ran = nodes, list[str](), 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.nodes is None:
            self.nodes = [item.nodeid for item in items if item.get_closest_marker("slow") is None]
            return
        # pytest collects by file, but the cases that are likely to fail must run first.
        place = {node: number for number, node in enumerate(self.nodes)}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran += report.when == "call"
        if report.failed:
            self.failed.append(report.nodeid)


def collect(folder: Path) -> list[str]:
    """Return the ids of all cases in ``folder`` that are not slow."""
    enter(folder)
    plugin = _Cases(None)
    pytest.main([*OPTIONS, "--collect-only", "-q"], [plugin])
    return plugin.nodes or []


def run(folder: Path, nodes: list[str], options: tuple[str, ...] = ("-x",)) -> tuple[int, list[str], int]:
    """Run cases in ``folder``; return the exit status, the cases that failed, and how many ran."""
    enter(folder)
    plugin = _Cases(nodes)
    files = sorted({node.partition("::")[0] for node in nodes})
    code = pytest.main([*OPTIONS, "--tb=short", *options, *files], [plugin])
    return int(code), plugin.failed, plugin.ran


def ranked(fault: Fault, nodes: list[str], recorded: Recorded) -> tuple[list[str], list[str]]:
    """Return the cases that a change of the fault's file can affect: those likely to find it, and the rest.

    Cases that exercised what is faulty come first, or that the selection names for it, then those with its
    name in their ids or files, those of tests that are for this folder alone, the rest of the selection, and
    the rest.
    """
    chosen, named = selection.selected(nodes), selection.table()["cases"]
    kind, _, rest = fault.name.partition(":")
    framework, _, name = rest.rpartition(":")
    framework = framework.partition(":")[0]
    reason = f"{'lower' if kind == 'writer' else kind} {framework} {name}" if framework else f"{kind} {name}"
    reasons = {reason, *(f"{kind} {framework} {row}" for row in fault.rows)}
    # An exception of the selection names the folder whose tests run the row in processes of their own.
    exceptions = selection.table()["exceptions"]
    alike = (text for known, text in exceptions.items() if known.endswith(f" {name}"))
    folder = exceptions.get(reason, next(alike, "")).partition(" runs it")[0]
    words = {part for part in name.split("_") if len(part) > 4}
    called = [_plain(row.rpartition(".")[2].removesuffix("_p")) for row in fault.rows or (name,)]
    patterns = [test for test, _, only_one in affected.reached(fault.file) if not only_one]
    files = {node.partition("::")[0] for node in nodes}
    naming = {
        file for file in files if re.search(rf"\b{re.escape(name)}\b", (ROOT / file).read_text("utf-8"))
    }
    dedicated = {file for file in files for test in patterns if fnmatch.fnmatch(file, test)}

    def rank(node: str) -> int:
        test, _, case = node.partition("[")
        signs = (
            not reasons.isdisjoint(named.get(node, ())) or not reasons.isdisjoint(recorded.get(node, ())),
            bool(folder) and node.startswith(f"{folder}/test_{framework}_"),
            bool(folder) and node.startswith(f"{folder}/"),
            any(word in _plain(case) for word in called) and node in chosen,
            any(word in _plain(node) for word in called),
            not words.isdisjoint(Path(test.partition("::")[0]).stem.split("_")),
            kind in ("guard", "pass") and node in chosen and test.partition("::")[0] in naming,
            kind in ("guard", "pass", "writer") and test.partition("::")[0] in dedicated,
            node in chosen,
        )
        return next((place for place, sign in enumerate(signs) if sign), len(signs))

    ordered = sorted(
        affected.affected(nodes, [fault.file]), key=lambda node: (rank(node), selection.digest(node))
    )
    likely = [node for node in ordered if rank(node) < 8][:LIKELY]
    return likely, [node for node in ordered if node not in set(likely)]


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def outcome(
    fault: Fault, folder: Path, nodes: list[str], recorded: Recorded, seconds: float, log: Path
) -> dict[str, Any]:
    """Plant a fault in ``folder``, run the cases it can affect, and return what became of it.

    ``result`` is ``found`` by a case, ``missed`` by all that the change affects, ``broken`` if nothing
    could be collected, or ``unfinished`` if the process died or took more than ``seconds``. The file is
    restored.
    """
    path, started = folder / fault.file, time.monotonic()
    before, ran = path.read_text("utf-8"), 0
    result = "missed"
    first: list[str] = []
    path.write_text(before + fault.lines, "utf-8")
    try:
        # The likely cases run in a process of their own, because collecting all others takes longer than
        # running these.
        for cases in filter(None, ranked(fault, nodes, recorded)):
            answer = forked(functools.partial(run, folder, cases), seconds, log)
            if answer is None or answer[0] != 0:
                result = "unfinished" if answer is None else {1: "found"}.get(answer[0], "broken")
                first = answer[1] if answer else []
                ran += answer[2] if answer else 0
                break
            ran += answer[2]
    finally:
        path.write_text(before, "utf-8")
    return {
        "fault": fault.name,
        "result": result,
        "seconds": round(time.monotonic() - started, 1),
        "cases": ran,
        "first": first[:1],
    }


def listed_faults() -> list[Fault]:
    return list(faults())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("containing", nargs="?", default="", help="a part of the names of the faults")
    parser.add_argument("--list", action="store_true", help="name the faults and exit")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th fault alone")
    parser.add_argument(
        "--results", type=Path, help="a file that keeps the results, so that the next run continues"
    )
    parser.add_argument(
        "--recorded",
        type=Path,
        help="what the option --record of pytest wrote in a run of the selection: cases that exercised what is "
        "faulty then run first",
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="the longest run for a fault")
    options = parser.parse_args()
    runpy.run_path(str(ROOT / "tests" / "support" / "environment.py"))["set_variables"]()
    # Each fork inherits these modules, so that it starts within a second.
    for framework in FRAMEWORKS:
        importlib.import_module(framework)
    with tempfile.TemporaryDirectory() as temporary:
        folder, log = copied(Path(temporary) / "checkout"), Path(temporary) / "log"
        # The search for faults imports the package, so it runs in a fork.
        every: list[Fault] = forked(listed_faults, 120, log)
        chosen = [fault for fault in every if options.containing in fault.name][:: options.every]
        if options.list:
            print("\n".join(fault.name for fault in chosen))
            return 0
        known: dict[str, Any] = {}
        if options.results and options.results.exists():
            known = {
                row["fault"]: row for row in map(json.loads, options.results.read_text("utf-8").splitlines())
            }
        recorded: Recorded = {}
        if options.recorded:
            lines = map(json.loads, options.recorded.read_text("utf-8").splitlines())
            recorded = {line["id"]: set(line["exercised"]) for line in lines}
        nodes: list[str] = forked(functools.partial(collect, folder), 1200, log)
        for fault in chosen:
            if fault.name in known:
                continue
            known[fault.name] = row = outcome(fault, folder, nodes, recorded, options.seconds, log)
            print(
                f"{fault.name}: {row['result']} after {row['seconds']} s, {row['cases']} cases {row['first']}",
                flush=True,
            )
            if options.results:
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
        rows = [known[fault.name] for fault in chosen]
        # A case that also fails without a fault has found nothing, so these cases run once more in the sound
        # copy.
        finders = sorted({node for row in rows if row["result"] == "found" for node in row["first"]})
        failing = set(
            (forked(functools.partial(run, folder, finders, ()), 3600, log) or (0, finders, 0))[1]
            if finders
            else ()
        )
    missed = [row["fault"] for row in rows if row["result"] != "found" or failing & set(row["first"])]
    print(
        f"{len(rows) - len(missed)} of {len(rows)} faults are found",
        *(f"    not found: {name}" for name in missed),
        sep="\n",
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
