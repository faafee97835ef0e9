"""What holds for every test: no hub, no accelerator, one thread a process, and the checkout where a test needs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Set before any framework is imported. Two pytest processes share two cores: more threads would only wait for each other.
for variable, value in {
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
}.items():
    os.environ.setdefault(variable, value)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout; a test that needs it is skipped where the tests run against an installed package."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "setup.py").is_file():
        pytest.skip("needs the checkout, and these tests run outside of it")
    return root
