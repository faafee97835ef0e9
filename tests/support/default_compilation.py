"""Choice of the tests whose graphs run compiled, as they do for users by default.

To compile thousands of small graphs would multiply the duration of the suite, so most tests run graphs
operation by operation. A fixed twelfth of the tests, and the files that test the default, compile them.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from graph_compiler.backends.common import compilers
from graph_compiler.runtime.executable import Compilation

from .selection import bucket, case_of

SHARE = 12
FILES = (
    "tests/runtime/test_compiled_by_default.py",
    "tests/repository/test_doctests.py",
    "tests/repository/test_documentation.py",
    "tests/backends/jax/test_uses.py",
)
# Cases in which the compiler of the target computes something else than the target does by itself -> what.
NOT_COMPILED = {
    "test_sample[elementwise-ReluGrad-edges-tensorflow]": "XLA returns 0 for a gradient of NaN or infinity "
    "where the feature is not positive; TensorFlow's own kernel multiplies, which gives NaN",
}
# "all": every test, to find what the default breaks. "none": no test but those that ask for it.
VARIABLE = "GRAPH_COMPILER_TEST_COMPILED"

_by_default = Compilation.is_compiled


def runs_compiled(node: str) -> bool:
    """Return True if graphs run as they do by default in the test with the id ``node``."""
    asked, case = os.environ.get(VARIABLE), case_of(node)
    if case in NOT_COMPILED:
        return False
    return node.startswith(FILES) or asked == "all" or (asked != "none" and bucket(case, SHARE) == 0)


def use_xla_first() -> None:
    """Let this package be the first in the process to use XLA in TensorFlow, if TensorFlow is imported.

    TensorFlow reads ``XLA_FLAGS`` once. After a test that compiles with XLA itself, graphs would not use XLA
    by default in all later tests.
    """
    if "tensorflow" in sys.modules:
        importlib.import_module("graph_compiler.backends.tensorflow.compiled").why_not_exact()


def choose(node: str) -> None:
    """Patch ``Compilation.is_compiled`` for the test with the id ``node``.

    Graphs then compile by default, or only if they were created with ``compile=True``. XLA compiles for first
    calls, too, since most tests make no second one.
    """
    compilers.is_second_call_compiled = False
    Compilation.is_compiled = _by_default if runs_compiled(node) else _only_if_wanted  # type: ignore[method-assign]


def _only_if_wanted(self: Compilation, target: Any) -> bool:
    return bool(self.is_wanted)
