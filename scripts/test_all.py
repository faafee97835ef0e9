"""Run every test in every target, slow ones too, and write ``docs/test_report.md``.

The tests are split into parts of some hundred cases. Each part runs in a process of its own, so that no
test depends on what ran before. A process that has needed 2.5 GiB of memory ends after the case with which
it has, or before a case marked ``large``, and another one runs the cases that are left. The result of a
finished part is stored under ``.pytest_cache/all/<commit>``: an interrupted run continues after it. With
``--since``, cases that passed at an earlier commit run again only if the changes since can affect them
(``tests/support/affected.py``). The results of that commit are read from its folder, or, for the commit of
``docs/test_report.md``, from the report: on another machine, too, every case passed then unless the report
lists it as failed. The exit status is 0 if no test failed.

    scripts/test --all                        two processes at a time
    scripts/test --all --jobs 4               four processes at a time
    scripts/test --all --since COMMIT         only what changes since COMMIT can affect
    scripts/test --all --shard 1/3            a third of the parts, for a run on several machines

The report is written by the run that finds the results of all parts in that folder.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from scripts import test_environments  # noqa: E402
from tests.support import affected, changes  # noqa: E402

REPORT = ROOT / "docs" / "test_report.md"
# A part has at most this many cases, so that an interrupted run loses little.
MOST_CASES = 700
# A process that has needed this much memory, in GiB, is replaced by a new one.
MOST_MEMORY = 2.5
# Exit status of pytest in such a process (tests/conftest.py).
GROWN = 75
# A process that takes more seconds is killed.
TIMEOUT = 3600
# This file has the results of the cases that need not run again.
CARRIED = "carried.json"
# Outcome of a case of which only the report of an earlier commit is known: it did not fail.
BEFORE = "passed before"
PACKAGES = (
    "torch",
    "jax",
    "jaxlib",
    "tensorflow-cpu",
    "keras",
    "numpy",
    "scipy",
    "transformers",
    "flax",
    "equinox",
    "pytest",
)
_COMMIT = re.compile(r"^\| commit \| `([0-9a-f]{40})` \|$", re.MULTILINE)
_FAILED = re.compile(r"^- `(.+)`$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """Unit of a run: files of tests that run in one process, or a share of one large file.

    files: the files.
    place: the number of this share, from 1.
    count: how many shares the file has.
    """

    files: tuple[str, ...]
    place: int = 1
    count: int = 1

    @property
    def name(self) -> str:
        # The names of all files would make a file name that is too long.
        digest = hashlib.sha256("\n".join(self.files).encode()).hexdigest()[:12]
        return f"{digest}-{self.place}-of-{self.count}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2, help="parts that run at the same time")
    parser.add_argument("--shard", default="1/1", help="K/N: run the K-th of N shares of the parts")
    parser.add_argument(
        "--since",
        metavar="COMMIT",
        help="carry results of this commit over to cases that no change can affect",
    )
    parser.add_argument(
        "--reported-commit", action="store_true", help="print the commit of docs/test_report.md and exit"
    )
    options = parser.parse_args()
    if options.reported_commit:
        print(reported_commit())
        return 0
    commit = git("rev-parse", "HEAD")
    if git("status", "--porcelain", "--untracked-files=no"):
        # Results of a changed tree must not be mixed with those of the commit.
        commit += "-changed"
    folder = ROOT / ".pytest_cache" / "all" / commit
    folder.mkdir(parents=True, exist_ok=True)
    nodes = collected(folder)
    if options.since and not (folder / CARRIED).exists():
        carry(git("rev-parse", options.since), nodes, folder)
    passed = outcomes_of(folder / CARRIED)
    waiting = [node for node in nodes if node not in passed]
    (folder / "cases.txt").write_text("\n".join(waiting), "utf-8")
    every = parts(collections.Counter(node.partition("::")[0] for node in waiting))
    place, count = map(int, options.shard.split("/"))
    mine = [part for number, part in enumerate(every) if number % count == place - 1]
    run_all([part for part in mine if not (folder / f"{part.name}.json").exists()], folder, options.jobs)
    done = [folder / f"{part.name}.json" for part in every] + ([folder / CARRIED] if passed else [])
    if not all(path.exists() for path in done):
        say("the other shards are not finished: no report is written")
        return 0
    results = [json.loads(path.read_text("utf-8")) for path in done]
    kept = test_environments.section(REPORT.read_text("utf-8")) if REPORT.exists() else ""
    REPORT.write_text(report(commit, results) + (f"\n{kept}" if kept else ""), "utf-8")
    failed = [case for result in results for case in failures(result)]
    say(
        f"{sum(len(result['outcomes']) for result in results)} tests, {len(failed)} failed: {REPORT.relative_to(ROOT)}"
    )
    return 1 if failed else 0


def say(text: str) -> None:
    print(text, flush=True)


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def reported_commit() -> str:
    """Return the commit of the last report.

    If the report does not exist, or its commit is unknown, return the first parent of HEAD.
    """
    found = _COMMIT.search(REPORT.read_text("utf-8")) if REPORT.exists() else None
    if (
        found
        and subprocess.run(
            ["git", "cat-file", "-e", f"{found[1]}^{{commit}}"], cwd=ROOT, check=False
        ).returncode
        == 0
    ):
        return found[1]
    return git("rev-parse", "HEAD^")


# ---------------------------------------------------------------------------------------------- parts
def parts(counts: Mapping[str, int]) -> list[Part]:
    """Return the parts for files with ``counts`` cases each: small files together, large files split."""
    found: list[Part] = []
    together: list[str] = []
    for file, count in counts.items():
        if count > MOST_CASES:
            pieces = -(-count // MOST_CASES)
            found += [Part((file,), place, pieces) for place in range(1, pieces + 1)]
            continue
        if together and sum(counts[each] for each in together) + count > MOST_CASES:
            found.append(Part(tuple(together)))
            together = []
        together.append(file)
    return [*found, *([Part(tuple(together))] if together else [])]


def collected(folder: Path) -> list[str]:
    """Return the ids of all cases, which are collected once for a commit and then read from ``folder``.

    Exit with the output of pytest if it cannot collect them.
    """
    listing = folder / "collected.txt"
    if not listing.exists():
        say("collecting")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-m",
            "slow or not slow",
            "-p",
            "no:cacheprovider",
        ]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stdout[-3000:] + ran.stderr[-3000:])
        listing.write_text("\n".join(line for line in ran.stdout.split("\n") if "::" in line), "utf-8")
    return listing.read_text("utf-8").split("\n")


def carry(since: str, nodes: list[str], folder: Path) -> None:
    """Write to ``folder`` the results of cases that need not run again.

    These are the cases that passed or were skipped at the commit ``since`` and that no change since can
    affect. A file of tests that was renamed since keeps its results.
    """
    passed = passed_at(since, nodes)
    again = affected.affected(nodes, changes.changed_files(since, ROOT))
    kept = {case: passed[case] for case in nodes if case in passed and case not in again}
    say(f"{len(kept)} of {len(nodes)} cases have passed at {since[:12]}, and no change since can affect them")
    result = {"files": [], "outcomes": kept, "seconds": 0, "memory": 0, "since": since}
    (folder / CARRIED).write_text(json.dumps(result), "utf-8")


def passed_at(since: str, nodes: list[str]) -> dict[str, str]:
    """Map the cases that passed or were skipped at the commit ``since`` to their outcomes, by their ids of now.

    If this checkout has no results of ``since`` and the report is of ``since``, these are all of ``nodes``
    that the report does not list as failed. Return an empty dict if a process died in the reported run,
    because the report does not name the cases that were lost.
    """
    moved = changes.moved_files(since, ROOT)

    def now(case: str) -> str:
        file, separator, name = case.partition("::")
        return moved.get(file, file) + separator + name

    outcomes: dict[str, str] = {}
    for path in (ROOT / ".pytest_cache" / "all" / since).glob("*.json"):
        outcomes |= outcomes_of(path)
    if outcomes:
        return {now(case): outcome for case, outcome in outcomes.items() if not outcome.startswith("failed")}
    if not REPORT.exists() or since != reported_commit():
        return {}
    failed = set(map(now, _FAILED.findall(REPORT.read_text("utf-8"))))
    # A case that is new since then is in a file that changed, so it runs in any case.
    return {} if failed - set(nodes) else {case: BEFORE for case in nodes if case not in failed}


def outcomes_of(path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(path.read_text("utf-8"))["outcomes"] if path.exists() else {}
    return found


# ---------------------------------------------------------------------------------------------- runs
def run_all(waiting: list[Part], folder: Path, jobs: int) -> None:
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, result in enumerate(pool.map(lambda part: run(part, folder), waiting), 1):
            failed = failures(result)
            say(
                f"{number} of {len(waiting)} at {time.monotonic() - started:.0f} s: {len(result['outcomes'])} tests, {len(failed)} failed"
            )
            for case in failed:
                say(f"    {case}")


def run(part: Part, folder: Path) -> dict[str, Any]:
    """Run the cases of a part in processes of their own; write the result to ``folder`` and return it.

    If a process dies or the collection fails, the result has an outcome that says so, and the cases that are
    left do not run.
    """
    lines, cases = folder / f"{part.name}.lines", folder / f"{part.name}.cases"
    lines.write_text("", "utf-8")
    waiting = (folder / "cases.txt").read_text("utf-8").split("\n")
    outcomes: dict[str, str] = {}
    started, memory, code = time.monotonic(), 0, GROWN
    with (folder / f"{part.name}.log").open("w", encoding="utf-8") as log:
        while code == GROWN:
            cases.write_text("\n".join(case for case in waiting if case not in outcomes), "utf-8")
            code, needed = run_process(part, cases, lines, log)
            memory = max(memory, needed)
            outcomes = dict(json.loads(line) for line in lines.read_text("utf-8").splitlines())
    # pytest ends with 0 or 1 after tests, and with 5 if it has none. Any other status means that the process
    # died or that the collection failed, which must not pass for success.
    if code not in (0, 1, 5):
        outcomes[f"{part.files[0]} and others (part {part.place} of {part.count})"] = (
            f"failed: exit status {code}"
        )
    result = {
        "files": part.files,
        "outcomes": outcomes,
        "seconds": round(time.monotonic() - started, 1),
        "memory": memory,
    }
    (folder / f"{part.name}.json").write_text(json.dumps(result), "utf-8")
    return result


def run_process(part: Part, cases: Path, lines: Path, log: TextIO) -> tuple[int, int]:
    """Run those cases of a part that the file ``cases`` names in a new process.

    It appends the outcomes to the file ``lines`` and its output to ``log``. Return its exit status and its
    largest memory in bytes.
    """
    options = ["-q", "-m", "slow or not slow", "-p", "no:cacheprovider", "--tb=short"]
    options += ["--outcomes", str(lines), "--cases", str(cases), "--most-memory", str(MOST_MEMORY)]
    options += ["--part", f"{part.place}/{part.count}"] if part.count > 1 else []
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *part.files],
        cwd=ROOT,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    # os.wait4 has no timeout.
    timer = threading.Timer(TIMEOUT, process.kill)
    timer.start()
    # Only wait4 tells the largest memory of this very process; getrusage has the maximum of all children.
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    # Popen does not see that the process has ended.
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


def failures(result: dict[str, Any]) -> list[str]:
    return sorted(case for case, outcome in result["outcomes"].items() if outcome.startswith("failed"))


# ---------------------------------------------------------------------------------------------- report
def report(commit: str, results: list[dict[str, Any]]) -> str:
    counts: dict[str, collections.Counter[str]] = {}
    for result in results:
        for case, outcome in result["outcomes"].items():
            counts.setdefault(case.partition("::")[0], collections.Counter())[outcome.partition(":")[0]] += 1
    failed = sorted(case for result in results for case in failures(result))
    total = sum(counts.values(), collections.Counter())
    carried = [
        (
            f"of these, passed at `{each['since'][:12]}`, and no change since can affect them",
            str(len(each["outcomes"])),
        )
        for each in results
        if "since" in each
    ]
    rows = [
        ("commit", f"`{commit}`"),
        ("date", datetime.date.today().isoformat()),
        ("processor", processor()),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in PACKAGES),
        ("largest process", f"{max(result['memory'] for result in results) / 2**30:.1f} GiB"),
        (
            "time of all parts",
            f"{sum(result['seconds'] for result in results) / 60:.0f} minutes, two at a time",
        ),
        *sorted((f"tests that {outcome}", str(count)) for outcome, count in total.items()),
        *carried,
    ]
    text = [
        "# Test report",
        "",
        "Written by `scripts/test --all`: every test in every target, slow ones too.",
        "",
        "| what | value |",
    ]
    text += ["|---|---|", *(f"| {name} | {value} |" for name, value in rows), "", "## Failures", ""]
    text += [f"- `{case}`" for case in failed] or ["None."]
    text += [
        "",
        "## Tests by file",
        "",
        "| file | passed | failed | skipped | passed before |",
        "|---|---|---|---|---|",
    ]
    for file, outcomes in sorted(counts.items()):
        numbers = (outcomes[outcome] for outcome in ("passed", "failed", "skipped", BEFORE))
        text.append(f"| {file} | {' | '.join(map(str, numbers))} |")
    return "\n".join(text) + "\n"


def processor() -> str:
    """Return the name of the processor, and whether it has AVX-512."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor()
    text = path.read_text("utf-8")
    name = re.search(r"model name\s*: (.*)", text)
    return f"{name[1] if name else platform.machine()}, {'with' if 'avx512f' in text else 'without'} AVX-512"


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
