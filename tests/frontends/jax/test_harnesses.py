"""Tests of some of JAX's own harnesses, each in one target; ``python scripts/coverage.py harnesses`` runs
all.
"""

from __future__ import annotations

import pytest

from tests.corpora.coverage import harnesses
from tests.corpora.coverage.outcome import CRASHED, WRONG, outcome_of

TARGETS = ("torch", "tensorflow", "numpy")

# group -> one of how many harnesses runs. Those that were wrong once, and those with many dtypes, run more
# often.
GROUPS = {
    "approx_top_k": 4, "argmax": 12, "bitcast_convert_type": 12, "clamp": 5, "conv_general_dilated": 22, "cummax": 6, "cumsum": 9,
    "dot_general": 40, "dynamic_update_slice": 12, "eig": 12, "gather": 40, "max": 7, "pad": 44, "qr": 14, "reduce": 6,
    "reduce_window_add": 10, "reduce_window_max": 13, "scatter": 80, "scatter_add": 110, "scatter_max": 110, "scatter_mul": 110,
    "select_and_scatter_add": 7, "shift_right_logical": 2, "sort": 5, "svd": 26,
    "top_k": 5, "triangular_solve": 7,
}  # fmt: skip


def sample() -> list[tuple[str, str]]:
    names = [
        name
        for group, step in GROUPS.items()
        for name in [name for name in harnesses.names() if harnesses.group_of(name) == group][::step]
    ]
    return [(name, TARGETS[place % len(TARGETS)]) for place, name in enumerate(names)]


@pytest.mark.parametrize(("name", "target"), sample())
def test_harness(name: str, target: str) -> None:
    outcome = outcome_of(lambda: harnesses.judge(name, target))
    assert outcome.status not in (WRONG, CRASHED), outcome.detail
