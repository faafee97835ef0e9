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
DEPENDENCIES = ("networkx", "numpy", "safetensors")


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


def test_import_imports_no_library_at_all() -> None:
    # What is imported decides what the import costs, on a slow machine and on a busy one too.
    code = "import sys, graph_compiler; print(*(name for name in sys.modules if name.startswith('graph_compiler.')))"
    assert sorted(run_python(code).split()) == ["graph_compiler._rooms", "graph_compiler.errors"]
    code = f"import sys, graph_compiler; print(*(name for name in {DEPENDENCIES} if name in sys.modules))"
    assert run_python(code) == ""


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    code = "import graph_compiler; print(*(name for name in graph_compiler.__all__ if not hasattr(graph_compiler, name)))"
    assert run_python(code) == ""
    assert set(graph_compiler.__all__) <= set(dir(graph_compiler))
    with pytest.raises(AttributeError, match="no attribute 'complie'"):
        graph_compiler.complie  # type: ignore[attr-defined]  # noqa: B018


def test_random_numbers_are_those_without_the_framework() -> None:
    """TensorFlow and JAX draw numbers of Python and numpy while they are imported."""
    draw = "print(random.random(), numpy.random.rand())"
    code = f"import random, numpy, torch, graph_compiler; random.seed(1); numpy.random.seed(1); {{}}; {draw}"
    compiled = "graph_compiler.compile(lambda x: x + 1, to='tensorflow')(torch.ones(2))"
    assert run_python(code.format(compiled)).splitlines()[-1] == run_python(code.format("pass"))


@pytest.mark.parametrize("room", ["backends", "frontends"])
def test_rooms_refuse_another_name(room: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(checkout)
    with pytest.raises(ImportError, match=f"import this folder as graph_compiler.{room}, not as {room}"):
        importlib.import_module(room)


def test_version_is_a_literal() -> None:
    # setup.cfg reads it from the source without an import
    assert graph_compiler.__version__.count(".") >= 2


def _with_triton(folder: Path, code: str) -> list[str]:
    """What code prints in a process that finds a ``triton``, as beside builds of torch for CUDA, which tells when it is loaded."""
    (folder / "triton.py").write_text("import sys; print('triton', 'tensorflow' in sys.modules)")
    return run_python(f"import sys; sys.path.insert(0, {str(folder)!r}); {code}").splitlines()


def test_triton_is_loaded_before_tensorflow(tmp_path: Path) -> None:
    """Loaded after it, it ends the process."""
    code = "import torch, graph_compiler; print(graph_compiler.compile(torch.sin, to='tensorflow')(torch.zeros(())).numpy())"
    assert _with_triton(tmp_path, code) == ["triton False", "0.0"]


def test_nothing_loads_triton_after_tensorflow(tmp_path: Path) -> None:
    code = """import tensorflow, torch, graph_compiler
print(graph_compiler.compile(torch.sin, to="tensorflow")(torch.zeros(())).numpy())
try: graph_compiler.compile(lambda x: torch.cond(x > 0, torch.sin, torch.cos, (x,)), args=(torch.ones(()),))
except graph_compiler.errors.TracingError as error: print(error)"""
    number, said = _with_triton(tmp_path, f"exec({code!r})")
    assert number == "0.0" and "write `import torch._dynamo` above `import tensorflow`" in said


COMPILING = {
    "torch.cond": "torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))",
    "a checkpoint": "__import__('torch.utils.checkpoint').utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)",
}


@pytest.mark.parametrize("called", COMPILING)
def test_the_compiler_of_torch_is_loaded_where_the_function_uses_it(called: str) -> None:
    """It takes longer to load than most functions to record, and what it takes from torch while it is loaded are torch's own functions."""
    code = f"""import sys, torch, graph_compiler
x, loaded = torch.ones(2, 3), lambda: "torch._dynamo" in sys.modules
graph_compiler.compile(lambda x: torch.nn.functional.gelu(x) @ x.T, args=(x,))
print(loaded())
function = lambda x: {COMPILING[called]}
graph = graph_compiler.compile(function, args=(x,))
print(loaded(), [finder for finder in sys.meta_path if type(finder).__module__.endswith('process.compiler')], torch.equal(graph(x / 2), function(x / 2)))
asks = torch.compile(lambda x: x + torch.is_grad_enabled(), backend="eager", fullgraph=True)
print(torch.equal(asks(x), x + 1))"""
    printed = run_python(f"exec({code!r})").splitlines()
    assert printed == ["False", "True [] True", "True"]
