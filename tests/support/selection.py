"""Choose the cases that ``scripts/test`` runs: the same ones for a commit on every machine and on every day.

``selection.json`` holds the choice as data. ``shares`` maps a test to a number n: about one case in n runs,
drawn by a hash of the case's name (the id without the file, so
that a file can be moved), and at least one. A test without a share runs whole. ``cases`` names the
cases that run besides their share, each with the rows, rules, passes and guards that no other selected case
reaches (see ``exercised.py``). ``exceptions`` lists what no case in this process can exercise, or none does
yet, with the reason.
"""

from __future__ import annotations

import functools
import itertools
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("selection.json")


@functools.cache
def table() -> dict[str, Any]:
    """Return ``selection.json``."""
    found: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
    return found


def digest(name: str) -> int:
    """Return a number that depends on nothing but the name."""
    return zlib.crc32(name.encode())


def bucket(name: str, count: int) -> int:
    """Return a number below ``count`` that follows from the name.

    >>> bucket("abs", 4) == bucket("abs", 4) < 4
    True
    """
    return digest(name) % count


def case_of(node: str) -> str:
    """Return the name of a case: its id without the file.

    >>> case_of("tests/corpora/test_samples.py::test_sample[elementwise-abs-jax]")
    'test_sample[elementwise-abs-jax]'
    """
    return node.partition("::")[2]


def pairs(names: Iterable[Any], ways: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return each name in each way.

    >>> pairs("ab", (1, 2))
    [('a', 1), ('a', 2), ('b', 1), ('b', 2)]
    """
    return list(itertools.product(names, ways))


def is_jitted(name: str, to: str) -> bool:
    """Return True if the test ``name`` calls its graph for JAX as one compiled function: three of four do,
    for it takes half the time.
    """
    return to == "jax" and bucket(f"{name} operation by operation", 4) != 0


def test_of(node: str) -> str:
    """Return the id of the test function of a case.

    >>> test_of("tests/corpora/test_samples.py::test_sample[elementwise-abs-jax]")
    'tests/corpora/test_samples.py::test_sample'
    """
    return node.partition("[")[0]


def is_drawn(test: str, case: str) -> bool:
    """Return True if the case is drawn by the share of its test, or named."""
    node = f"{test}[{case}]"
    return bucket(case_of(node), table()["shares"].get(test, 1)) == 0 or node in table()["cases"]


def selected(nodes: Iterable[str]) -> set[str]:
    """Return the ids that the selection takes out of the ids of all cases."""
    nodes = list(nodes)
    of_test: dict[str, list[str]] = {}
    for node in nodes:
        of_test.setdefault(test_of(node), []).append(node)
    chosen = {node for node in nodes if node in table()["cases"]}
    for test, cases in of_test.items():
        share = table()["shares"].get(test, 1)
        drawn = [node for node in cases if bucket(case_of(node), share) == 0]
        chosen.update(drawn or [min(cases, key=lambda node: digest(case_of(node)))])
    return chosen


def unexercised(existing: Iterable[str], exercised: Iterable[str], is_selection: bool = True) -> list[str]:
    """Return what a run should have exercised and did not, and names in ``exceptions`` that are none.

    A run of more than the selection may exercise exceptions: with ``is_selection=False`` that is no fault.
    """
    exceptions, ran, there = table()["exceptions"], set(exercised), set(existing)
    missing = [name for name in sorted(there - ran) if name not in exceptions]
    stale = [
        f"{name}: listed as an exception, and exercised"
        for name in exceptions
        if name in ran and is_selection
    ]
    gone = [f"{name}: listed as an exception, and there is none" for name in exceptions if name not in there]
    return missing + stale + gone
