"""Tests on two logical CPUs of TensorFlow, which run the checks of ``tensorflow_checks`` in one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")

from .checks import outcomes_in_process

NAMES = re.findall(
    r"^def (check_\w+)", Path(__file__).with_name("tensorflow_checks.py").read_text("utf-8"), re.MULTILINE
)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[str, str]:
    return outcomes_in_process(request, "tensorflow_checks")


@pytest.mark.parametrize("name", NAMES)
def test_checks(name: str, outcomes: dict[str, str]) -> None:
    assert not outcomes[name], outcomes[name]
