"""What holds for every test: no hub, no accelerator, one thread a process, and the checkout where a test needs it."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support.compiled import keep_programs
from tests.support.contexts import share_contexts
from tests.support.environment import set_variables
from tests.support.turns import rests

set_variables()  # before any framework is imported
if importlib.util.find_spec("triton") is not None:  # of torch for CUDA; torch loads it at times, and after TensorFlow it ends the process
    importlib.import_module("triton")

# the machine may be busy: how long an example takes says nothing
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")
# it would read the source of the package and of all tests for numbers to try, which takes each process five seconds
providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
providers.is_local_module_file = lambda file: False


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout; a test that needs it is skipped where the tests run against an installed package."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "setup.py").is_file():
        pytest.skip("needs the checkout, and these tests run outside of it")
    return root


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of large tables, and of what takes long, each week takes a share."""
    for item in items:
        if isinstance(item, pytest.Function):
            file = item.nodeid.partition("::")[0]
            case = item.callspec.id if hasattr(item, "callspec") else ""
            if rests(file, item.originalname, case):
                item.add_marker(pytest.mark.out_of_turn)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Frameworks and tests are some two million objects that stay: the garbage collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        share_contexts()
        keep_programs()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
