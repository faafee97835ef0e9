"""Tests of loading graphs in a process without the source framework."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

READER = """
import json, sys
sys.modules["torch"] = None  # as if it were not installed
import numpy, graph_compiler

found = {}
for name in ("numpy", "jax"):
    graph = graph_compiler.load(f"{sys.argv[1]}/{name}.zip")
    graph(numpy.array([[1, 2]]), {"scale": 2})  # statistics go on
    graph.save(f"{sys.argv[1]}/again.zip")
    again = graph_compiler.load(f"{sys.argv[1]}/again.zip", to="numpy")
    found[name] = [numpy.asarray(each(numpy.array([[3, 0, 1]]), {"scale": 2})).tolist() for each in (graph, again)]
    try:
        graph(numpy.array([1.0]), {"scale": 2})
    except graph_compiler.errors.GuardFailed as problem:
        found[name].append(str(problem))
try:
    graph_compiler.load(f"{sys.argv[1]}/torch.zip")
except graph_compiler.errors.FrameworkNotInstalled as problem:
    found["torch"] = str(problem)
print(json.dumps(found))
"""


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, tokens: Any, options: Any) -> Any:
        self.calls += 1
        return self.head(self.words(tokens)).softmax(-1) * options["scale"] + self.calls


def test_a_file_needs_the_target_alone(tmp_path: Path) -> None:
    model = Model()
    for name in ("numpy", "jax", "torch"):
        graph_compiler.compile(model, to=name, args=(torch.tensor([[0, 1]]), {"scale": 2})).save(
            tmp_path / f"{name}.zip"
        )
    run = subprocess.run(
        [sys.executable, "-c", READER, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    model(torch.tensor([[1, 2]]), {"scale": 2})
    expected = model(torch.tensor([[3, 0, 1]]), {"scale": 2}).detach().numpy()
    for name in ("numpy", "jax"):
        results = [np.array(numbers, np.float32) for numbers in found[name][:2]]
        assert_same(results, [expected, expected])
        assert "no original to record again" in found[name][2]
    assert "torch is not installed here" in found["torch"]
