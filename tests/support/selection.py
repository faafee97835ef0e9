"""Choice of the cases that ``scripts/test`` runs: for a commit the same ones on every machine and every day.

The choice is data in ``selection.json``:

shares: maps a test to a number n. About one of n of its cases runs, chosen by a hash of the case's name
    (the id without the file, so that a file can be moved), and at least one. A test that is not listed
    runs completely.
cases: cases that run in addition, each with the rows, rules, passes and guards that no other selected case
    reaches (see ``exercised.py``), or with the fault that no other selected case found.
exceptions: what no case in this process can exercise, or none does yet, with the reason.
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
    found: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
    return found


def digest(name: str) -> int:
    """Return a hash of the name that is the same in every process."""
    return zlib.crc32(name.encode())


def bucket(name: str, count: int) -> int:
    """Return a number from 0 to ``count - 1`` that a hash of the name determines.

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
    """Return the Cartesian product as a list.

    >>> pairs("ab", (1, 2))
    [('a', 1), ('a', 2), ('b', 1), ('b', 2)]
    """
    return list(itertools.product(names, ways))


def is_jitted(name: str, to: str) -> bool:
    """Return True if the test ``name`` calls its graph for JAX under ``jax.jit``.

    Three of four tests do, because that takes half the time.
    """
    return to == "jax" and bucket(f"{name} operation by operation", 4) != 0


def test_of(node: str) -> str:
    """Return the id of the test function of a case.

    >>> test_of("tests/corpora/test_samples.py::test_sample[elementwise-abs-jax]")
    'tests/corpora/test_samples.py::test_sample'
    """
    return node.partition("[")[0]


def is_drawn(test: str, case: str) -> bool:
    """Return True if the case runs by the share of its test, or because ``cases`` lists it."""
    node = f"{test}[{case}]"
    return bucket(case_of(node), table()["shares"].get(test, 1)) == 0 or node in table()["cases"]


def selected(nodes: Iterable[str]) -> set[str]:
    """Return the ids among ``nodes``, the ids of all cases, that the selection contains."""
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


def draw(nodes: Iterable[str], most: int | None) -> set[str]:
    """Return the ``most`` ids whose names have the smallest hashes, or all ids if ``most`` is None.

    >>> draw({"t.py::a", "t.py::b"}, 1) == draw({"t.py::b", "t.py::a"}, 1)
    True
    >>> len(draw({"t.py::a", "t.py::b"}, None))
    2
    """
    return set(sorted(nodes, key=lambda node: (digest(case_of(node)), node))[:most])


def unexercised(existing: Iterable[str], exercised: Iterable[str], is_selection: bool = True) -> list[str]:
    """Return the names in ``existing`` that were not exercised, and the wrong entries of ``exceptions``, as
    lines.

    An exception is wrong if it was exercised or does not exist. A run of more than the selection
    (``is_selection=False``) may exercise exceptions.
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
