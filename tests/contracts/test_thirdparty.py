"""Tests of a frontend and a backend in packages of their own, found by their entry points: what
docs/extending.md describes is sufficient.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graph_compiler

PACKAGES = ("toy_arrays", "toy_lists")
_POINTS = re.compile(r'^\[project\.entry-points\."(.+)"\]\n((?:\w+ = ".+"\n)+)', re.MULTILINE)

COMMON = """
import numpy as np
import graph_compiler
from graph_compiler.registration import backends, frontends
"""
TOY = """
import toy_arrays
weight = toy_arrays.Array([[1, 2], [3, 4], [5, 6]])

def function(x, scale):
    return {"y": toy_arrays.tanh(x @ weight) * scale + 2, "total": (x * x).sum()}

def drawn(*shape):
    return toy_arrays.Array(np.random.default_rng(len(shape)).uniform(-1, 1, shape))

def check(graph, to_numpy):
    for rows in (2, 5):  # 4 were recorded
        args = drawn(rows, 3), drawn(1)
        found, expected = graph(*args), function(*args)
        assert list(found) == list(expected)
        for name, array in expected.items():
            np.testing.assert_allclose(to_numpy(found[name]), array.elements, rtol=1e-5)
    assert len(graph.variants) == 1
"""

PROGRAMS = {
    "from the toy frontend to numpy": TOY
    + """
graph = graph_compiler.transpile(function, to="numpy", args=(drawn(4, 3), drawn(1)))
assert frontends._is_read and not backends._is_read  # the target is this package's own
check(graph, np.asarray)
check(graph_compiler.transpile(function, args=(drawn(4, 3), drawn(1))), np.asarray)  # what its entry names
graph.verify()
assert "np.tanh" in graph.source
""",
    "from the toy frontend to the toy backend": TOY
    + """
graph = graph_compiler.transpile(function, to="toy_lists", args=(drawn(4, 3), drawn(1)))
check(graph, graph._pipeline.target.target.to_numpy)
assert "tl.tanh(" in graph.source and type(graph(drawn(2, 3), drawn(1))["y"]).__module__ == "toy_lists"
graph.verify()
weight = toy_arrays.Array([[1, 1], [1, 1], [1, 1]])
graph(drawn(2, 3), drawn(1))
assert len(graph.variants) == 2  # what the function refers to is looked at
""",
    "from torch to the toy backend": """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
graph = graph_compiler.transpile(model, to="toy_lists", args=(torch.randn(5, 3),))
for rows in (2, 7):
    x = torch.randn(rows, 3)
    np.testing.assert_allclose(graph._pipeline.target.target.to_numpy(graph(x)), model(x).detach().numpy(), rtol=1e-5)
assert len(graph.variants) == 1
assert list(frontends.known()) == list(frontends.own)  # torch was told without a look at the entry points of frontends
""",
    "an operation without a row": """
from graph_compiler.errors import UnsupportedOperation
try:
    graph_compiler.transpile(lambda x: np.arctan2(x, x), source="numpy", to="toy_lists", args=(np.ones(3, "float32"),))
except UnsupportedOperation as problem:
    assert "toy_lists" in str(problem) and "atan2" in str(problem), problem
else:
    raise AssertionError
""",
    "a graph of the toy frontend in a file": TOY
    + """
import tempfile, os
graph = graph_compiler.transpile(function, to="toy_lists", args=(drawn(4, 3), drawn(1)))
with tempfile.TemporaryDirectory() as folder:
    graph.save(os.path.join(folder, "graph.zip"))
    again = graph_compiler.load(os.path.join(folder, "graph.zip"))
check(again, graph._pipeline.target.target.to_numpy)
""",
    "a backend that is not finished": """
from graph_compiler.errors import InvalidRegistration
try:
    graph_compiler.transpile(np.tanh, source="numpy", to="toy_unfinished", args=(np.ones(3),))
except InvalidRegistration as problem:
    lines = [line.strip() for line in str(problem).splitlines()]
    assert "is no Backend; it lacks" in lines[0] and "'toy_unfinished'" in lines[0], lines
    assert all(text.strip() for text in (line.partition(":")[2] for line in lines[1:-1])), lines
    assert {line.partition(":")[0] for line in lines[1:-1]} == {
        "dialect", "target.array_types", "target.convert", "target.from_bytes", "target.to_numpy"}, lines
else:
    raise AssertionError
""",
    "an entry of what does not exist": """
from graph_compiler.errors import InvalidRegistration
from graph_compiler.registration import BackendEntry, FrontendEntry
for registry, kind, option in ((backends, BackendEntry, "to"), (frontends, FrontendEntry, "source")):
    for module, message in (
        ("graph_compiler_toy_lists.bakend:backend", "No module named 'graph_compiler_toy_lists.bakend'; the entry 'wrong'"),
        ("toy_compiler.backend", "No module named 'toy_compiler'; the entry 'wrong'"),
        ("graph_compiler_toy_lists.backend:bakend", "graph_compiler_toy_lists.backend has no 'bakend'; the entry 'wrong'"),
    ):
        registry.register(kind(name="wrong", module=module, packages=("toy_lists",)))
        try:
            graph_compiler.transpile(np.tanh, args=(np.ones(3),), **{"source": "numpy", "to": "numpy", option: "wrong"})
        except InvalidRegistration as problem:
            assert message in str(problem) and "module=" in str(problem), problem
        else:
            raise AssertionError
        registry.unregister("wrong")
""",
    "arrays that are not finished": """
import toy_lists
from graph_compiler.errors import InvalidRegistration
graph = graph_compiler.transpile(lambda x: x + 1, source="numpy", to="toy_lists", args=(np.ones(3, "float32"),))
for name in ("shape", "ndim", "dtype"):
    x = toy_lists.Lists([1.0, 2.0], (2,), "float32")
    delattr(x, name)
    try:
        graph(x)
    except InvalidRegistration as problem:
        assert f"toy_lists: an array of class Lists has no {name}" in str(problem), problem
    else:
        raise AssertionError
""",
    "what is registered": """
from graph_compiler.errors import UnknownFramework
assert list(frontends.all())[-1:] == ["toy_arrays"] and list(backends.all())[-2:] == ["toy_lists", "toy_unfinished"]
try:
    graph_compiler.transpile(np.tanh, source="toys", args=(np.ones(3),))
except UnknownFramework as problem:
    assert "did you mean 'toy_arrays'" in str(problem), problem
""",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> list[str]:
    """Return the entries of ``sys.path`` with which both packages look installed: a folder with the metadata
    of their entry points, and the folders of their code.
    """
    folder = tmp_path_factory.mktemp("site-packages")
    for name in PACKAGES:
        text = (checkout / "tests" / "contracts" / "thirdparty" / name / "pyproject.toml").read_text("utf-8")
        points = _POINTS.findall(text)
        assert points
        metadata = folder / f"graph_compiler_{name}-0.1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: graph-compiler-{name}\nVersion: 0.1\n", "utf-8"
        )
        rows = "\n".join(f"[{group}]\n{lines}" for group, lines in points).replace('"', "")
        (metadata / "entry_points.txt").write_text(rows, "utf-8")
    return [str(folder), *(str(checkout / "tests" / "contracts" / "thirdparty" / name) for name in PACKAGES)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_packages_of_others(program: str, site: list[str]) -> None:
    if "torch" in program:
        pytest.importorskip("torch")
    path = os.pathsep.join([str(Path(graph_compiler.__file__).parents[1]), *site])
    code = f"{COMMON}{PROGRAMS[program]}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr


def test_the_page_shows_what_is_run_here(checkout: Path) -> None:
    page = (checkout / "docs" / "extending.md").read_text("utf-8")
    written = "\n".join(
        file.read_text("utf-8")
        for file in sorted((checkout / "tests" / "contracts" / "thirdparty").rglob("*.[pt][yo]*"))
    )
    parts = [
        part
        for block in re.findall(r"```(?:py|toml)\n(.*?)```", page, re.DOTALL)
        for part in block.split("\n...\n")
    ]
    assert len(parts) > 5
    assert [part for part in parts if part.strip() not in written] == []


def test_the_packages_are_small(checkout: Path) -> None:
    for name in PACKAGES:
        files = (checkout / "tests" / "contracts" / "thirdparty" / name / f"graph_compiler_{name}").glob(
            "*.py"
        )
        assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= 250
