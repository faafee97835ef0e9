"""Which tests run graphs as users do by default: as one compiled program where the target asks for it.

To compile thousands of small graphs would take the suite several times as long, so most tests run them
operation by operation. A fixed share of all tests, and the files that test the default, compile them.
"""

from __future__ import annotations

import os
from typing import Any

from graph_compiler.runtime.compilation import Compilation

from .selection import bucket, case_of

SHARE = 12
FILES = (
    "tests/runtime/test_compiled_by_default.py",
    "tests/repository/test_doctests.py",
    "tests/repository/test_documentation.py",
    "tests/backends/jax/test_uses.py",
)
# "all": every test, to find what the default breaks. "none": no test but those that ask for it.
VARIABLE = "GRAPH_COMPILER_TEST_COMPILED"

_by_default = Compilation.is_compiled


def runs_compiled(node: str) -> bool:
    """Return True if the test with this id runs graphs as they run by default."""
    asked = os.environ.get(VARIABLE)
    return node.startswith(FILES) or asked == "all" or (asked != "none" and bucket(case_of(node), SHARE) == 0)


def choose(node: str) -> None:
    """Let graphs that the test with this id makes run compiled by default, or operation by operation."""
    Compilation.is_compiled = _by_default if runs_compiled(node) else _only_if_wanted  # type: ignore[method-assign]


def _only_if_wanted(self: Compilation, target: Any) -> bool:
    return bool(self.is_wanted)
