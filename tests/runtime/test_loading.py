"""Tests of imports: when the target, torch's compiler and triton are loaded, and that this has no side
effects.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.repository.test_import import run_python


def _with_triton(folder: Path, code: str) -> list[str]:
    """Return the lines that ``code`` prints in a process with a fake ``triton``, which prints when it is
    imported.
    """
    (folder / "triton.py").write_text("import sys; print('triton', 'tensorflow' in sys.modules)")
    return run_python(f"import sys; sys.path.insert(0, {str(folder)!r}); {code}").splitlines()


def test_what_is_loaded_for_a_conversion(tmp_path: Path) -> None:
    """``triton`` must be imported before TensorFlow, or the process aborts. Importing frameworks must not
    advance the user's generators.
    """
    code = """import random, numpy, torch, graph_compiler
random.seed(1), numpy.random.seed(1)
print(graph_compiler.compile(torch.sin, to="tensorflow")(torch.zeros(())).numpy())
print(random.random(), numpy.random.rand())"""
    drawn = f"{random.Random(1).random()} {np.random.RandomState(1).rand()}"
    assert _with_triton(tmp_path, f"exec({code!r})") == ["triton False", "0.0", drawn]


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
    """Its import is slow, and must see torch's own functions instead of patched ones."""
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
