"""Tests of ``import graph_compiler``: it is fast, imports no framework, and gives each subpackage one name."""

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
DEPENDENCIES = (
    "networkx",
    "numpy",
    "safetensors",
    "rich",
    "typer",
    "graph_compiler.visualise",
    "graph_compiler.cli",
)


def run_python(code: str) -> str:
    """Run ``code`` in a new interpreter with the same graph_compiler; return what it prints, or fail if it
    raises.
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_imports_no_framework() -> None:
    code = f"import sys, graph_compiler; print(*(name for name in {FRAMEWORKS} if name in sys.modules))"
    assert run_python(code) == ""


def test_the_rooms_themselves_import_no_framework() -> None:
    code = f"import sys, graph_compiler.backends, graph_compiler.frontends; print(*(n for n in {FRAMEWORKS} if n in sys.modules))"
    assert run_python(code) == ""


def test_import_imports_no_library_at_all() -> None:
    # What is imported decides what the import costs, on a slow machine and on a busy one too.
    code = "import sys, graph_compiler; print(*(name for name in sys.modules if name.startswith('graph_compiler.')))"
    assert sorted(run_python(code).split()) == ["graph_compiler._rooms", "graph_compiler.errors"]
    code = f"import sys, graph_compiler; print(*(name for name in {DEPENDENCIES} if name in sys.modules))"
    assert run_python(code) == ""


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    code = "import graph_compiler; print(*(name for name in graph_compiler.__all__ if not hasattr(graph_compiler, name)))"
    assert run_python(code) == ""
    code = "import graph_compiler; print(graph_compiler.transforms.grad, graph_compiler.training.fit, graph_compiler.parallel.psum)"
    assert run_python(code).count("<function") == 3
    assert {*graph_compiler.__all__, "transforms"} <= set(dir(graph_compiler))
    with pytest.raises(AttributeError, match="no attribute 'complie'"):
        graph_compiler.complie  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("room", ["backends", "frontends"])
def test_rooms_refuse_another_name(room: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(checkout)
    with pytest.raises(ImportError, match=f"import this folder as graph_compiler.{room}, not as {room}"):
        importlib.import_module(room)


def test_version_is_a_literal() -> None:
    # setup.cfg reads the version from the source without an import.
    assert graph_compiler.__version__.count(".") >= 2
