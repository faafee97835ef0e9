"""Tests of lowered programs that are cached between processes. A second graph of the same function stands for
a second process.
"""

from __future__ import annotations

import collections
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import torch

import graph_compiler
from graph_compiler.backends.jax import compiled as kept_programs
from graph_compiler.errors import InternalError
from tests.support.logs import logged

Pair = collections.namedtuple("Pair", ["first", "second"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPH_COMPILER_CACHE", str(tmp_path))
    monkeypatch.setattr(kept_programs, "_LEAST_SECONDS", 0.0)
    return tmp_path / "jax"


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows whenever a function is traced or a program is lowered."""
    seen: list[str] = []
    sin, lowered = jax.lax.sin, kept_programs._ExportedCall.lowered
    monkeypatch.setattr(jax.lax, "sin", lambda x: (seen.append("traced"), sin(x))[1])
    monkeypatch.setattr(
        kept_programs._ExportedCall, "lowered", lambda self: (seen.append("lowered"), lowered(self))[1]
    )
    return seen


def compiled(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return graph_compiler.transpile(
        function, source="torch", to="jax", args=args, return_backend_compiled_fn=True, **options
    )


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*"))


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "array": (torch.sin, (torch.ones(3),)),
    "containers": (
        lambda x: {"b": torch.sin(x), "a": (x + 1, [x.shape[0], "text", None, 2.5])},
        (torch.ones(3),),
    ),
    "named tuple of torch": (lambda x: torch.sin(x).max(0), (torch.rand(3, 2),)),
    "argument as it is": (lambda x, y: (x, torch.sin(y), x), (torch.ones(3), torch.ones(2))),
    "nothing computed": (lambda x: (x, 3), (torch.ones(3),)),
    "static number": (lambda x, n: torch.sin(x).repeat(n), (torch.ones(3), 2)),
    "number": (lambda x, c: torch.sin(x) * c, (torch.ones(3), 2.5)),
    "checked elements": (lambda x: torch.sin(x) if x.sum() > 0 else x, (torch.ones(3),)),
    "half precision": (lambda x: torch.sin(x) * 3, (torch.ones(3, dtype=torch.bfloat16),)),
    "truth values": (lambda x: torch.sin(x) > 0, (torch.ones(3),)),
    "linear algebra": (lambda x: torch.linalg.solve(x, torch.sin(x)), (torch.eye(3) * 2,)),
    "loop": (lambda x: torch.stack([torch.sin(row) for row in x]), (torch.ones(3, 2),)),
    "sorted": (lambda x: torch.sort(torch.sin(x), dim=0), (torch.rand(5),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(name: str, folder: Path, traces: list[str]) -> None:
    function, args = FUNCTIONS[name]
    first = compiled(function, *args)(*args)
    files, count = kept(folder), len(traces)
    second = compiled(function, *args)(*args)
    assert len(files) == 1 and kept(folder) == files and len(traces) == count
    assert type(first) is type(second) and str(jax.tree.structure(first)) == str(jax.tree.structure(second))
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second)):
        assert type(one) is type(other)
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
        assert getattr(one, "weak_type", None) == getattr(other, "weak_type", None)


@pytest.mark.parametrize("size", [3, 100_000])
def test_captured_arrays_are_part_of_the_key(size: int, folder: Path, traces: list[str]) -> None:
    def shifted(table: torch.Tensor) -> Callable[..., Any]:
        return lambda x: torch.sin(x) + table

    x = torch.rand(size)
    for offset in (0.0, 1.0, 0.0):
        table = torch.arange(float(size)) + offset
        found = compiled(shifted(table), torch.ones(size))(x)
        np.testing.assert_allclose(np.asarray(found), np.sin(x.numpy()) + table.numpy(), rtol=1e-5)
    # A large array is an argument of the program.
    assert len(kept(folder)) == (2 if size == 3 else 1)


def polynomial(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) ** 2


@pytest.mark.parametrize("first_is_plain", [True, False])
def test_transformed_calls_run_the_function_itself(first_is_plain: bool, folder: Path) -> None:
    x = jnp.arange(1.0, 4.0)
    compiled(polynomial, torch.ones(3))(x)
    graph = compiled(polynomial, torch.ones(3))
    if first_is_plain:
        graph(x)
    for _ in range(2):
        np.testing.assert_allclose(jax.grad(lambda x: graph(x).sum())(x), np.sin(2 * x), rtol=1e-5)
        np.testing.assert_allclose(
            jax.hessian(lambda x: graph(x).sum())(x), np.diag(2 * np.cos(2 * x)), rtol=1e-5
        )
        np.testing.assert_allclose(jax.vmap(graph)(x[:, None]), np.sin(x)[:, None] ** 2, rtol=1e-5)
        np.testing.assert_allclose(jax.jit(graph)(x), np.sin(x) ** 2, rtol=1e-5)
        np.testing.assert_allclose(jax.make_jaxpr(graph)(x).eqns and graph(x), np.sin(x) ** 2, rtol=1e-5)


def test_other_arguments_have_files_of_their_own(folder: Path, traces: list[str]) -> None:
    for count in (1, 2, 3):
        compiled(polynomial, torch.ones(count))(torch.ones(count))
    graph = compiled(polynomial, torch.ones(2))
    before = len(traces)
    for count in (2, 3, 2, 3):
        assert graph(torch.ones(count)).shape == (count,)
    assert len(kept(folder)) == 3 and len(traces) == before
    assert graph(torch.ones(4)).shape == (4,) and len(kept(folder)) == 4


SETTINGS = [
    ("jax_default_matmul_precision", "highest"),
    ("jax_debug_nans", True),
    ("jax_numpy_dtype_promotion", "strict"),
]


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_settings_are_part_of_the_key(name: str, value: Any, folder: Path, traces: list[str]) -> None:
    compiled(polynomial, torch.ones(3))(torch.ones(3))
    before, usual = len(traces), getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        compiled(polynomial, torch.ones(3))(torch.ones(3))
    finally:
        jax.config.update(name, usual)
    assert len(traces) > before


CONTEXTS: dict[str, Callable[[], Any]] = {
    "precision": lambda: jax.default_matmul_precision("highest"),
    "more bits": lambda: jax.enable_x64(True),
    "mesh": lambda: jax.set_mesh(jax.make_mesh((1,), ("data",))),
    "uncompiled": jax.disable_jit,
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_nothing_is_kept_in_contexts(name: str, folder: Path) -> None:
    with CONTEXTS[name]():
        compiled(polynomial, torch.ones(3))(torch.ones(3))
    assert not kept(folder)


def damaged(text: str) -> dict[str, str]:
    digest = text.partition("\n")[0]
    return {
        "empty": "",
        "short": text[:-10],
        "changed": text.replace('"passed": [null', '"passed": [0'),
        "other": f"{digest}\n{{}}",
    }


@pytest.mark.parametrize("how", damaged(""))
def test_damaged_files_are_written_again(how: str, folder: Path, traces: list[str]) -> None:
    compiled(polynomial, torch.ones(3))(torch.ones(3))
    (path,) = folder.iterdir()
    path.write_text(damaged(path.read_text())[how])
    counts = []
    for _ in range(2):
        counts.append(len(traces))
        np.testing.assert_allclose(
            compiled(polynomial, torch.ones(3))(torch.ones(3)), np.sin(1) ** 2, rtol=1e-6
        )
    assert counts[0] < counts[1] == len(traces)


def test_a_file_under_the_name_of_another_is_not_read(folder: Path) -> None:
    compiled(polynomial, torch.ones(3))(torch.ones(3))
    (path,) = folder.iterdir()
    compiled(torch.cos, torch.ones(3))(torch.ones(3))
    (other,) = set(folder.iterdir()) - {path}
    other.write_text(path.read_text())
    np.testing.assert_allclose(compiled(torch.cos, torch.ones(3))(torch.ones(3)), np.cos(1), rtol=1e-6)


def test_what_is_not_kept(folder: Path, traces: list[str]) -> None:
    """Results of user-defined classes, whose code may change, and programs that JAX cannot serialise."""
    pair = compiled(lambda x: Pair(torch.sin(x), x), torch.ones(3))(torch.ones(3))
    assert isinstance(pair, Pair) and not kept(folder)
    graph = compiled(polynomial, torch.ones(3), compile_options={"donate_argnums": 0})
    assert graph(jnp.ones(3)).shape == (3,) and len(kept(folder)) == 1


def test_a_program_that_jax_cannot_write_down(
    folder: Path, traces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(call: Any) -> Any:
        traces.append("tried")
        raise NotImplementedError("serialization of host callbacks")

    monkeypatch.setattr(kept_programs._ExportedCall, "lowered", fails)
    for _ in range(2):
        np.testing.assert_allclose(
            compiled(polynomial, torch.ones(3))(torch.ones(3)), np.sin(1) ** 2, rtol=1e-6
        )
    assert traces.count("tried") == 1


def test_arrays_of_another_platform(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = jax.export.export
    monkeypatch.setattr(jax.export, "export", lambda function: export(function, platforms=("cuda",)))
    graph = compiled(polynomial, torch.ones(3))
    for count in (3, 3, 4):
        np.testing.assert_allclose(graph(torch.ones(count)), np.sin(1) ** 2, rtol=1e-6)


def test_calls_of_many_threads(folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    graphs = [compiled(polynomial, torch.ones(3)) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        results = list(
            pool.map(lambda number: graphs[number % 2](torch.full((number % 3 + 1,), 1.0)), range(24))
        )
    for result in results:
        np.testing.assert_allclose(result, np.sin(1) ** 2, rtol=1e-6)
    assert len(kept(folder)) == 3


def test_quick_traces_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: list[str]
) -> None:
    monkeypatch.setenv("GRAPH_COMPILER_CACHE", str(tmp_path))
    monkeypatch.setattr(kept_programs, "_LEAST_SECONDS", 60.0)
    graph = compiled(polynomial, torch.ones(3))
    graph(torch.ones(3))
    assert traces == ["traced"] and not kept(tmp_path / "jax")
    np.testing.assert_allclose(
        jax.grad(lambda x: graph(x).sum())(jnp.ones(3)), np.sin(2) * np.ones(3), rtol=1e-5
    )


def test_another_jax_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_compiler.backends.jax.compiled.config", object())
    assert compiled(torch.sin, torch.ones(3))(torch.ones(4)).shape == (4,)
    assert not kept(folder)


def test_a_program_that_jax_cannot_export_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(call: Any) -> Any:
        raise NotImplementedError("no rule to export it")

    monkeypatch.setattr(kept_programs._ExportedCall, "lowered", refused)
    graph = compiled(torch.sin, torch.ones(3))
    with logged(logging.INFO) as messages:
        graph(torch.ones(3))
    words = "gave up: keeping its program on disk (NotImplementedError: no rule to export it"
    assert words in graph.explain() and any(words in message for message in messages)


def test_a_bug_in_storing_a_program_surfaces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_programs, "write", None)
    with pytest.raises(InternalError, match="NoneType"):
        compiled(torch.sin, torch.ones(3))(torch.ones(3))
