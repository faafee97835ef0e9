"""Test of docs/extending.md: the code of the page alone adds a working region operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from tests.repository.test_import import run_python

# Runs each half of the block with the names that the file it belongs into has.
PROGRAM = """
import graph_compiler, importlib
import numpy as np
from graph_compiler.backends import numpy as backend
from graph_compiler.codegen import load, write
from graph_compiler.ir import Builder, Graph, verify
from graph_compiler.ops import ArraySpec

for file, block in zip(("ops.control", "backends.numpy.lowering.control"), {blocks!r}):
    exec(block, dict(vars(importlib.import_module(f"graph_compiler.{{file}}"))))

build = Builder(Graph("f", "canonical"))
x, scale = build.input("x", ArraySpec((3,), "float32")), build.input("scale", ArraySpec((), "float32"))
body = build.body("body", [build.argument("state", x.spec)], lambda state: (build.add(build.multiply(state, scale), x),))
build.graph.outputs = list(build.run("repeat_block", [x], [body], carried=1, times=5))
program = write(verify(build.graph), backend.dialect, "f")
lines = {written!r}
print(all(line in program.source.splitlines() for line in lines))
print(load(program)(np.arange(3, dtype="float32"), np.float32(0.5)))

# The operation is also checked among recorded calls.
build.graph.dialect = "torch"
verify(build.graph).nodes[-1].params["steps"] = 5
try:
    verify(build.graph)
except graph_compiler.errors.GraphCompilerError as problem:
    print(problem)
"""


def test_the_block_of_the_page_makes_a_region_operation(checkout: Path) -> None:
    """The code runs in a process of its own, because the registry of operations would keep the new operation."""
    page = (checkout / "docs" / "extending.md").read_text("utf-8")
    *_, operation, written = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    blocks = operation.split("# backends/")
    assert len(blocks) == 2
    blocks[1] = "# " + blocks[1]
    said = run_python(
        PROGRAM.format(blocks=blocks, written=[f"    {line}" for line in written.splitlines()])
    ).splitlines()
    assert said[:2] == ["True", "[0.      1.96875 3.9375 ]"]
    assert "has no parameter 'steps'" in said[2]
