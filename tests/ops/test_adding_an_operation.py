"""Test of docs/adding_an_operation.md: the code of the page alone adds a working operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("jax")
pytest.importorskip("scipy")

from tests.repository.test_import import run_python

# Runs each block of the page with the names that the file it belongs into has; the function that the page
# tells of is made up before.
PROGRAM = """
import importlib
import torch
from torch.overrides import handle_torch_function, has_torch_function

def norm2(input, other):
    if torch._C._is_torch_function_mode_enabled() or has_torch_function((input, other)):
        return handle_torch_function(norm2, (input, other), input, other)
    return torch.sqrt(input**2 + other**2)

norm2.__module__, torch.norm2 = "torch", norm2

import graph_compiler
from tests.support import samples
from tests.support.compare import assert_same

files = ["ops.elementwise", "ops.elementwise", "backends.jax.lowering.elementwise", "frontends.torch.lifting.elementwise", None]
blocks = {blocks!r}
assert len(blocks) == len(files), f"the page has {{len(blocks)}} blocks"
import graph_compiler.ops.registry as registry
for file, block in zip(files, blocks):
    names = dict(vars(importlib.import_module(f"graph_compiler.{{file}}")) if file else vars(samples), decomposition=registry.decomposition, torch=torch)
    made = eval(f"[{{block}}]", names) if file is None else exec(block, names)

for sample in made:
    for to in ("jax", "numpy"):
        graph = graph_compiler.transpile(sample.function, source="torch", to=to, args=samples.made(sample.args))
        for args in (samples.made(sample.args), samples.made(sample.other)):
            assert_same(graph(*args), sample.function(*args))
        print(to, "jnp.hypot(" in graph.source, "np.sqrt(" in graph.source, len(graph.variants))
"""


# Runs the block with the row of an operation that is registered in torch's library of operations.
CUSTOM = """
import torch
import graph_compiler

@torch.library.custom_op("toy::softsign_squared", mutates_args=())
def operation(x: torch.Tensor) -> torch.Tensor:
    return (x / (1 + x.abs())) ** 2

{block}

x = torch.tensor([-3.0, 1.0])
graph = graph_compiler.transpile(lambda x: operation(x) + 1, to="numpy", args=(torch.ones(3),))
print(graph(x).tolist(), operation(x).add(1).tolist())
"""


def test_the_row_of_the_page_lifts_a_custom_operation(checkout: Path) -> None:
    page = (checkout / "docs" / "adding_an_operation.md").read_text("utf-8")
    (block,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    assert run_python(CUSTOM.format(block=block)) == "[1.5625, 1.25] [1.5625, 1.25]"


def test_the_blocks_of_the_page_make_an_operation(checkout: Path) -> None:
    """The code runs in a process of its own, because the registry would keep the new operation."""
    page = (checkout / "docs" / "adding_an_operation.md").read_text("utf-8")
    blocks = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    said = run_python(PROGRAM.format(blocks=blocks)).splitlines()
    assert said == ["jax True False 1", "numpy False True 1"]
