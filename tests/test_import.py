"""``import graph_compiler`` costs little and imports no framework; the rooms have one name each."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graph_compiler

pytestmark = pytest.mark.smoke

FRAMEWORKS = ("torch", "jax", "jaxlib", "tensorflow", "keras", "transformers", "flax", "optax", "torchvision")
MOST_SECONDS = 0.3
TRIES = 5  # other processes share the cores: the fastest of some tries is what the import costs


def run_python(code: str) -> str:
    """What a fresh interpreter prints that finds the same graph_compiler as this one."""
    environment = {**os.environ, "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_imports_no_framework() -> None:
    code = f"import sys, graph_compiler; print(*(name for name in {FRAMEWORKS} if name in sys.modules))"
    assert run_python(code) == ""


def test_the_rooms_themselves_import_no_framework() -> None:
    code = f"import sys, graph_compiler.backends, graph_compiler.frontends; print(*(n for n in {FRAMEWORKS} if n in sys.modules))"
    assert run_python(code) == ""


def test_import_is_quick() -> None:
    # Of this process alone: on a busy machine the clock on the wall tells of the others.
    code = "import time; start = time.process_time(); import graph_compiler; print(time.process_time() - start)"
    seconds = []
    while len(seconds) < TRIES and (not seconds or min(seconds) >= MOST_SECONDS):
        seconds.append(float(run_python(code)))
    assert min(seconds) < MOST_SECONDS


@pytest.mark.parametrize("room", ["backends", "frontends"])
def test_rooms_refuse_another_name(room: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(checkout)
    with pytest.raises(ImportError, match=f"import this folder as graph_compiler.{room}, not as {room}"):
        importlib.import_module(room)


def test_version_is_a_literal() -> None:
    # setup.cfg reads it from the source without an import
    assert graph_compiler.__version__.count(".") >= 2
