"""Tests of what type checkers and ``dir`` see of the package."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import graph_compiler
from graph_compiler.runtime import overloads as declared

HERE = Path(__file__).parent / "typing"
PUBLIC = {
    "add_variant", "as_module", "eval", "explain", "frozen", "functional", "gave_up", "guards", "list_missing", "load_weights", "name",
    "parameters", "program", "save", "seed", "show", "source", "state", "summary", "to", "to_source", "train", "trained", "variants",
    "verify", "with_passes",
}  # fmt: skip


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    api = pytest.importorskip("mypy.api")
    package = Path(graph_compiler.__file__).parent
    config = tmp_path_factory.mktemp("mypy") / "mypy.ini"
    # Only signatures of the package count here: what it imports, and its own bodies, are for the check of the
    # package itself.
    config.write_text(
        f"[mypy]\nmypy_path = {package.parent}\ncache_dir = {config.parent / 'cache'}\n"
        "[mypy-graph_compiler.*]\nfollow_imports = silent\n[mypy-torch.*,jax.*,tensorflow.*,numpy.*,networkx.*]\nfollow_imports = skip\n",
        "utf-8",
    )
    words = [
        "--strict",
        "--config-file",
        str(config),
        "--no-error-summary",
        "--hide-error-context",
        "--no-pretty",
    ]
    out, said, _ = api.run([*words, str(HERE / "script.py"), str(HERE / "wrong.py")])
    assert not said, said
    return [line for line in out.splitlines() if ": error:" in line]


def test_a_users_script_is_well_typed(problems: list[str]) -> None:
    assert not [line for line in problems if "wrong.py" not in line]


def test_mistakes_are_found(problems: list[str]) -> None:
    found = {
        (int(number), code)
        for number, code in re.findall(r"wrong\.py:(\d+): error: .*\[([\w-]+)\]", "\n".join(problems))
    }
    lines = enumerate((HERE / "wrong.py").read_text("utf-8").splitlines(), 1)
    assert found == {(number, line.rpartition("# ")[2]) for number, line in lines if "  # " in line}


def test_the_declared_options_are_those_of_the_functions() -> None:
    for function in (graph_compiler.compile, graph_compiler.transpile):
        options = {
            p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
        }
        assert options == {*declared.CompileOptions.__annotations__, "args", "kwargs"}
        assert "options" not in inspect.signature(function).parameters


def test_a_graph_shows_its_public_names() -> None:
    graph = graph_compiler.compile(lambda x: np.sin(x) + 1, args=(np.ones(2),))
    assert {name for name in dir(graph) if not name.startswith("_")} == PUBLIC
    assert getattr(graph, "autograph_info__", 0) is None


def test_operations_are_counted_once_and_the_same_everywhere() -> None:
    def steps(x: np.ndarray) -> np.ndarray:
        for _ in range(x.shape[0]):
            x = np.tanh(x @ x.T) @ x
        return x

    graph = graph_compiler.compile(steps, to="numpy", args=(np.ones((3, 3)),))
    count = graph.summary().total.operations
    assert sum(graph.program.count_operations().values()) == count > len(graph.program.nodes)
    assert f"{count} operations" in repr(graph.variants[0])
    assert (
        f", {count} operations." in graph.source
        and f"{count} operations" in graph.explain()
        and f"{count} operations" in str(graph.summary())
    )
