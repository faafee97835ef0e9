"""Find cases that exercise what the selection misses, and name them in ``tests/support/selection.json``.

A run of the whole selection leaves ``.pytest_cache/exercised.json``: what it missed. This script runs
unselected cases, those first whose id names what is missing, notes what each exercises and how long it takes,
and adds as few and as short ones as it takes.

    scripts/test; python scripts/select_cases.py

Removing ``.pytest_cache/record.jsonl`` makes it forget what the cases exercised before.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support import affected, selection  # noqa: E402
from tests.support.together import EACH_ALONE  # noqa: E402

RECORD = ROOT / ".pytest_cache" / "record.jsonl"
MISSED = ROOT / ".pytest_cache" / "exercised.json"
# At most this many cases are tried for a missing name.
BY_NAME = 4
# Cases in these targets come first, because nothing is compiled for them.
QUICK = ("canonical", "lifted", "numpy", "torch")
SOURCES = {
    "torch": (
        "tests/corpora/test_samples.py",
        "tests/corpora/test_random.py",
        "tests/corpora/test_programs.py",
        "tests/frontends/torch/test_inner_gradient_sizes.py",
    ),
    "jax": (
        "tests/frontends/jax/test_",
        "tests/corpora/control_flow/test_values.py",
        "tests/corpora/custom_derivatives/test_jax",
    ),
    "numpy": ("tests/frontends/numpy/", "tests/backends/numpy/", "tests/recording/test_math_of_elements.py"),
    "tensorflow": (
        "tests/frontends/tensorflow/test_samples.py",
        "tests/frontends/tensorflow/test_functions.py",
    ),
}
EVERY = tuple(test for tests in SOURCES.values() for test in tests)


def main() -> int:
    missing = set(json.loads(MISSED.read_text("utf-8")))
    nodes = _collected()
    taken = selection.selected(nodes)
    tried = _known()
    for search in (_by_name, _of_sources)[: 1 if "--by-name" in sys.argv else 2]:
        left = missing - {name for row in tried.values() for name in row["exercised"]}
        chosen = set(search(left, nodes)) & set(nodes) - taken - tried.keys()
        print(f"{len(left)} missing, {len(chosen)} cases are tried", flush=True)
        tried.update(_recorded(sorted(chosen)))
    for name, reasons in _cover(missing, tried):
        selection.table()["cases"][name] = sorted(reasons)
        missing -= reasons
    table = {key: dict(sorted(rows.items())) for key, rows in selection.table().items()}
    selection.PATH.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    print("no case found of: ", *sorted(missing), sep="\n    ")
    return 1 if missing else 0


def _collected() -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in ran.stdout.split("\n") if "::" in line and not line.startswith(" ")]


def _by_name(missing: Iterable[str], nodes: list[str]) -> Iterator[str]:
    """Yield cases whose id contains a missing name, from its source or in its target.

    For the row of an operation, first yield the twins of cases that exercised it in other targets.
    """
    plain = [(_plain(node.partition("[")[2]), node) for node in nodes]
    for name in missing:
        kind, framework, *words = name.split(" ")
        word = _plain(words[-1].removesuffix("_p").rpartition(".")[2]) if words else framework
        fitting = [node for text, node in plain if word in text and _may_exercise(kind, framework, node)]
        if kind == "lower":
            yield from _twins(words[-1], framework)
        yield from sorted(fitting, key=lambda node: (affected.target_of(node) not in QUICK, len(node)))[
            :BY_NAME
        ]


def _twins(operation: str, framework: str) -> Iterator[str]:
    """Yield the ids, in one target, of cases that exercised the row of an operation in another target."""
    names = {f"lower {target} {operation}": target for target in affected.TARGETS}
    for node, row in _known().items():
        for name in names.keys() & set(row["exercised"]):
            yield node.replace(f"-{names[name]}]", f"-{framework}]")


def _of_sources(missing: Iterable[str], nodes: list[str]) -> Iterator[str]:
    """Yield cases that may exercise what is missing.

    For a lifting rule these are samples of its source, once each; for a row, samples of torch in its
    target.
    """
    for framework in {name.split(" ")[1] for name in missing if name.startswith("lift ")}:
        yield from affected.one_target(node for node in nodes if _may_exercise("lift", framework, node))
    for framework in {name.split(" ")[1] for name in missing if name.startswith("lower ")}:
        yield from (
            node
            for node in nodes
            if _may_exercise("lower", framework, node) and node.startswith(SOURCES["torch"][:2])
        )


def _may_exercise(kind: str, framework: str, node: str) -> bool:
    """Return True if a case belongs to the tests of samples that may exercise a row or a lifting rule.

    A row is exercised in its own target, and a lifting rule from its source in any other target.
    """
    target = affected.target_of(node)
    if kind == "lower":
        return target in (framework, None) and node.startswith(EVERY)
    # The calls of a function for its own framework are written as they are recorded, without being lifted.
    return target != framework and node.startswith(SOURCES.get(framework, EVERY))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _known() -> dict[str, dict[str, Any]]:
    lines = RECORD.read_text("utf-8").splitlines() if RECORD.exists() else []
    return {row["id"]: row for row in map(json.loads, lines)}


def _recorded(nodes: list[str]) -> dict[str, dict[str, Any]]:
    """Run the cases ``nodes`` and return all records by id: what a case exercised, and its seconds.

    The records of earlier runs are included. Without ``nodes``, return an empty dict.
    """
    if not nodes:
        return {}
    ids = RECORD.with_name("ids")
    ids.write_text("\n".join(nodes), "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "--record",
        str(RECORD),
        f"@{ids}",
    ]
    # The tests run several samples in one program, which would count for the first of them alone, so this
    # variable makes each sample a program of its own.
    subprocess.run(
        command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, env={**os.environ, EACH_ALONE: "1"}
    )
    return _known()


def _cover(missing: set[str], tried: dict[str, dict[str, Any]]) -> Iterator[tuple[str, set[str]]]:
    """Yield pairs of a case and the names that it adds, greedily: most new names for its seconds first."""
    left = set(missing)
    rows = {node: left & set(row["exercised"]) for node, row in tried.items()}
    while True:
        node = max(
            rows, key=lambda each: (len(rows[each] & left) / (0.02 + tried[each]["cpu"]), each), default=None
        )
        if node is None or not rows[node] & left:
            return
        yield node, rows[node] & left
        left -= rows.pop(node)


if __name__ == "__main__":
    sys.exit(main())
