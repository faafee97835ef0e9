"""Tests of unusual NumPy arguments: subclasses, borrowed or read-only memory, foreign byte orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GraphCompilerError, NotCompilable  # noqa: E402
from graph_compiler.frontends.numpy.array_access import Stamp  # noqa: E402
from graph_compiler.runtime.foreign_state import ConversionCache, UncachedConversion  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402

TARGETS = ("torch", "jax", "tensorflow", "numpy")


class Quantity(np.ndarray): ...


OF_THEIR_OWN = (lambda x: np.ma.masked_array(x, mask=x > 0), np.asmatrix, lambda x: x.view(Quantity))


def squared(x: Any) -> Any:
    return (x * x).sum(0)


@pytest.mark.filterwarnings("ignore:the matrix subclass is not:PendingDeprecationWarning")
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("source", ["torch", "numpy"])
def test_arrays_that_mean_something_else_are_refused(source: str, to: str) -> None:
    """Their elements alone would lose a mask or a unit, and multiply a matrix element by element."""
    pytest.importorskip(to)
    x = np.arange(-4, 5, dtype=np.float32).reshape(3, 3)
    graph = graph_compiler.compile(
        squared,
        source=source,
        to=to,
        args=(torch.ones(3, 3) if source == "torch" else np.ones((3, 3), np.float32),),
    )
    for make in OF_THEIR_OWN:
        for call in (graph, lambda given: graph.functional({}, given)):
            with pytest.raises(
                GraphCompilerError, match=r"class of arrays of its own; pass n.*asarray of it"
            ):
                call(make(x))
    assert_same(to_numpy(graph(x)), squared(x))


@pytest.mark.parametrize("to", TARGETS)
def test_memory_of_others_is_read(to: str, tmp_path: Path) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(squared, source="torch", to=to, args=(torch.ones(3, 3),))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(4, 3))
    mapped[:] = x
    fixed = x.copy()
    fixed.flags.writeable = False
    for given in (mapped, fixed, np.asfortranarray(x), np.repeat(x, 2, 0)[::2], x[::-1][::-1]):
        result = graph(given)
        assert_same(to_numpy(result), squared(x))
        assert to != "numpy" or (type(result) is np.ndarray and result.flags.writeable)
    if to == "numpy":
        with pytest.raises(GraphCompilerError, match="float32 in another order of bytes"):
            graph(x.astype(">f4"))
    else:
        assert_same(to_numpy(graph(x.astype(">f4"))), squared(x))


def added(x: Any) -> Any:
    x += 1
    return x * 2


@pytest.mark.parametrize("source", ["torch", "numpy"])
def test_arrays_that_nobody_may_write_to_stay_what_they_are(source: str) -> None:
    graph = graph_compiler.compile(
        added,
        source=source,
        to="numpy",
        args=(torch.ones(3) if source == "torch" else np.ones(3, np.float32),),
    )
    fixed, x = np.arange(3, dtype=np.float32), np.arange(6, dtype=np.float32)
    fixed.flags.writeable = False
    for given in (fixed, np.broadcast_to(x[:1], (3,))):
        before = given.copy()
        with pytest.raises((ValueError, GraphCompilerError)):
            graph(given)
        assert_same(given, before)
    (
        assert_same(graph(x[::2]), np.array([2, 6, 10], np.float32)),
        assert_same(x, np.array([1, 1, 3, 3, 5, 5], np.float32)),
    )


@pytest.mark.parametrize("table", [ConversionCache, UncachedConversion])
def test_an_array_without_a_twin_is_refused(table: type[ConversionCache]) -> None:
    """Without the check None would stand for the array in the graph, and mean a new axis in an index."""
    with pytest.raises(
        NotCompilable, match=r"holds a Quantity, a class of arrays of its own; let it hold np\.asarray of it"
    ):
        table(lambda array: None, Stamp).get_or_convert(np.ones(2).view(Quantity))


def test_literals_of_jax_are_plain() -> None:
    jnp = pytest.importorskip("jax.numpy")
    graph = graph_compiler.transpile(
        lambda x: x[jnp.array([0, 2])], source="jax", to="torch", args=(jnp.ones((3, 4)),)
    )
    assert_same(
        graph(torch.arange(15.0).reshape(5, 3)), np.arange(15, dtype=np.float32).reshape(5, 3)[[0, 2]]
    )
