"""Tests of Python code around TensorFlow's calls: sizes and elements it computes with, classes it queries,
what it captures, passes and catches.
"""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from .traps.table import cases, judge, named

MODULES = (
    "asked_types", "autograph", "beside_tensorflow", "captured", "computed_sizes", "number_types", "numpy_mode", "python_reads", "ranks",
    "signatures", "structured_loops",
)  # fmt: skip
TRAPS = named(MODULES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to"), cases(TRAPS))
def test_trap(name: str, to: str) -> None:
    judge(TRAPS[name], to)
