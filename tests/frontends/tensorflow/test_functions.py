"""Tests of public functions of TensorFlow and of ``keras.ops``. A run takes a part of the samples, which
changes from week to week; ``scripts/coverage.py tf-functions keras-ops`` runs all.
"""

from __future__ import annotations

import pytest

from tests.corpora.coverage import functions
from tests.corpora.coverage.outcome import CRASHED, WRONG, outcome_of
from tests.support.selection import bucket

from .functions.left_out import reason
from .functions.limits import LIMITS

TARGETS = ("torch", "jax", "numpy", "tensorflow")
ALL = [*functions.names(of_keras=False), *functions.names(of_keras=True)]
NAMES = [name for name in ALL if functions.group_of(name) not in LIMITS]


@pytest.mark.parametrize("name", NAMES)
def test_function(name: str) -> None:
    outcome = outcome_of(lambda: functions.judge(name, TARGETS[bucket(name, len(TARGETS))]))
    assert outcome.status not in (WRONG, CRASHED), outcome.detail


def test_every_public_function_has_samples_or_a_reason() -> None:
    sampled = functions.samples()
    missing = [
        names
        for names in functions.public_names().values()
        if not any(name in sampled or reason(name) is not None for name in names)
    ]
    assert not missing


def test_reasons_are_of_functions_without_samples() -> None:
    assert not [name for name in functions.samples() if reason(name) is not None]


def test_limits_name_functions() -> None:
    assert LIMITS.keys() <= functions.samples().keys()


def test_every_function_has_three_samples() -> None:
    assert not [name for name, calls in functions.samples().items() if len(calls) < 3]
