"""Tests on two and four torch processes, which run the checks of ``torch_checks``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch.distributed")

from .checks import outcomes_in_process

NAMES = re.findall(
    r"^def (check_\w+)", Path(__file__).with_name("torch_checks.py").read_text("utf-8"), re.MULTILINE
)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[str, str]:
    return outcomes_in_process(request, "torch_checks")


@pytest.mark.parametrize("name", NAMES)
def test_checks(name: str, outcomes: dict[str, str]) -> None:
    assert not outcomes[name], outcomes[name]
