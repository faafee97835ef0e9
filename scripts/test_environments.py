"""Run tests in other environments, and write the section about them in ``docs/test_report.md``.

These are the files that have smoke tests: an installation, imports, and all examples in docstrings.

    scripts/test --environments PYTHON ...    the interpreters of the environments; each needs pytest

An environment is a Python with the frameworks and the packages of the tests, such as one with the oldest or
newest versions. This package need not be installed there. A row replaces the one of the same versions.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "test_report.md"
TITLE = "## Imports and examples in other environments"
PACKAGES = ("torch", "jax", "tensorflow-cpu", "numpy", "transformers")
# Prints the versions of Python and of these packages as JSON.
VERSIONS = """
import importlib.metadata, json, platform, sys

def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"

print(json.dumps([platform.python_version(), *map(version, sys.argv[1:])]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="+", metavar="PYTHON", help="interpreter of an environment")
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    failed = False
    for python in parser.parse_args().pythons:
        versions, outcomes = versions_of(python), outcomes_of(python)
        failed |= bool(outcomes["failed"] or not outcomes["passed"])
        numbers = [str(outcomes[outcome]) for outcome in ("passed", "failed", "skipped")]
        print(*versions, *numbers, flush=True)
        text = REPORT.read_text("utf-8")
        REPORT.write_text(with_row(text, versions, [*numbers, f"`{commit}`"]), "utf-8")
    return int(failed)


def versions_of(python: str) -> list[str]:
    """Return the versions of Python and of ``PACKAGES`` in an environment; "none" for a missing package."""
    ran = subprocess.run(
        [python, "-c", VERSIONS, *PACKAGES], capture_output=True, text=True, check=True, cwd=ROOT
    )
    found: list[str] = json.loads(ran.stdout)
    return found


def outcomes_of(python: str) -> collections.Counter[str]:
    """Run the tests, and return how many passed, failed and were skipped.

    A test whose file could not be imported counts as failed.
    """
    files = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "mark.smoke" in path.read_text("utf-8")
    ]
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "outcomes")
        # Other versions warn of what they will change.
        options = ["-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider", "--tb=short"]
        options += ["--outcomes", str(lines)]
        ran = subprocess.run(
            [python, "-m", "pytest", *options, *files],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        cases = [json.loads(line) for line in lines.read_text("utf-8").splitlines()] if lines.exists() else []
    counts = collections.Counter(outcome.partition(":")[0] for _, outcome in cases)
    if ran.returncode not in (0, 1):
        counts["failed"] += 1
    return counts


# ---------------------------------------------------------------------------------------------- the section
def section(report: str) -> str:
    """Return the section about other environments of a report, or an empty string."""
    found = re.search(rf"^{re.escape(TITLE)}\n.*?(?=^## |\Z)", report, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


def with_row(report: str, versions: list[str], results: list[str]) -> str:
    """Return ``report`` with a row for these versions, in place of an earlier one."""
    old = section(report)
    heads = ["Python", *PACKAGES, "passed", "failed", "skipped", "commit"]
    rows = [line for line in old.splitlines() if line.startswith("|")][2:]
    start = f"| {' | '.join(versions)} |"
    rows = [row for row in rows if not row.startswith(start)] + [f"{start} {' | '.join(results)} |"]
    lines = [TITLE, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *sorted(rows)]
    # The section is the last one of the report.
    return f"{report.replace(old, '').rstrip()}\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
