"""Limits on the number of package functions that a small conversion calls, measured at the second one, when
all tables exist.

The count is the same on every machine. Python 3.12 enters no frame for a comprehension, so it is lower
there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import graph_compiler

pytest.importorskip("torch")
pytest.importorskip("jax")

# One that grows is to be looked at: what is the same for all conversions belongs to the process, and what
# finds nothing is not to run. Some 20 of them wrap the flat function for the target's compiler, which JAX has
# by default.
MOST = {"named": 673, "all": 819}

SCRIPT = """
import sys
from pathlib import Path
import torch, jax, graph_compiler

def warm(x): return torch.relu(x) * 2
def small(x): return torch.relu(x) * 2

def entered():
    codes = set()
    sys.setprofile(lambda frame, event, _: codes.add(frame.f_code) if event == "call" else None)
    graph_compiler.transpile(small, to="jax", args=(torch.ones(3, 4),))
    sys.setprofile(None)
    roots = [str(Path(room.__path__[0])) for room in (graph_compiler, graph_compiler.frontends, graph_compiler.backends)]
    return [code for code in codes if code.co_filename.startswith(tuple(roots))]

graph_compiler.transpile(warm, to="jax", args=(torch.ones(3, 4),))
found = entered()
print(sum(not code.co_name.startswith("<") for code in found), len(found))
"""


def test_a_small_conversion_enters_no_more_functions(tmp_path: Path) -> None:
    script = tmp_path / "small.py"
    script.write_text(SCRIPT, "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1]),
        "GRAPH_COMPILER_VERIFY": "",
    }
    done = subprocess.run(
        [sys.executable, str(script)], check=False, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    counts = dict(zip(MOST, map(int, done.stdout.split())))
    # The limits mean nothing if no calls are counted.
    assert all(count > 100 for count in counts.values())
    assert all(counts[what] <= most for what, most in MOST.items()), (
        f"{counts} functions entered, {MOST} before"
    )
