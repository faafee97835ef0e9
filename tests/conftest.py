"""What holds for every test: no hub, no accelerator, one thread a process, and the checkout where a test needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.environment import set_variables

set_variables()  # before any framework is imported


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout; a test that needs it is skipped where the tests run against an installed package."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "setup.py").is_file():
        pytest.skip("needs the checkout, and these tests run outside of it")
    return root
