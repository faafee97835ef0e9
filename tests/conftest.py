"""What holds for every test: no hub, no accelerator, one thread a process, and the checkout where a test needs it."""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.contexts import share_contexts
from tests.support.environment import set_variables

set_variables()  # before any framework is imported


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout; a test that needs it is skipped where the tests run against an installed package."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "setup.py").is_file():
        pytest.skip("needs the checkout, and these tests run outside of it")
    return root


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Frameworks and tests are some two million objects that stay: the garbage collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        share_contexts()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
