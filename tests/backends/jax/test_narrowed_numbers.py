"""Tests of 64-bit floats that JAX computes in 32 bits: one warning per graph, or an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed, InvalidOption, NarrowedNumbers, UnsupportedOperation  # noqa: E402


def deviation(samples: Any, weights: Any) -> Any:
    return np.sqrt((weights * (samples - samples.mean()) ** 2).sum())


WIDE, NARROW, WHOLE = np.arange(3.0), np.arange(3, dtype="float32"), np.arange(3)


@contextmanager
def told() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", NarrowedNumbers)
        yield found


def test_a_graph_warns_once_and_names_the_arguments() -> None:
    with told() as found:
        graph = graph_compiler.transpile(deviation, source="numpy", to="jax")
        graph(WIDE, NARROW)
        # This call needs another variant.
        graph(np.ones((3, 2)), np.float32(1))
    assert len(found) == 1
    text, file = str(found[0].message), found[0].filename
    assert (
        "deviation: samples has 64-bit floats" in text and 'jax.config.update("jax_enable_x64", True)' in text
    )
    assert file == __file__


@pytest.mark.parametrize(("samples", "to"), [(NARROW, "jax"), (WHOLE, "jax"), (WIDE, "numpy")])
def test_what_is_not_narrowed_is_not_told(samples: Any, to: str) -> None:
    with told() as found:
        graph_compiler.transpile(deviation, source="numpy", to=to)(samples, NARROW)
    assert not found


def test_with_64_bit_types_nothing_is_narrowed() -> None:
    with told() as found:
        jax.config.update("jax_enable_x64", True)
        try:
            result = graph_compiler.transpile(deviation, source="numpy", to="jax", numbers="strict")(
                WIDE, NARROW
            )
        finally:
            jax.config.update("jax_enable_x64", False)
    assert not found and result.dtype == np.float64


def test_objects_of_one_name_are_told_apart() -> None:
    first, second = (lambda samples: samples + 1), (lambda samples: samples * 2)
    with told() as found:
        for graph in graph_compiler.transpile(first, second, source="numpy", to="jax"):
            graph(WIDE)
    assert len(found) == 2


def test_strict_numbers_are_an_error() -> None:
    with pytest.raises(UnsupportedOperation, match=r"samples, weights have 64-bit floats.*numbers='strict'"):
        graph_compiler.compile(deviation, args=(WIDE, WIDE), to="jax", numbers="strict")
    with pytest.raises(InvalidOption, match="numbers="):
        graph_compiler.compile(deviation, args=(WIDE, WIDE), to="jax", numbers="wide")


def test_parameters_are_named() -> None:
    torch = pytest.importorskip("torch")
    with told() as found:
        graph_compiler.compile(
            torch.nn.Linear(2, 2).double(), args=(torch.ones(1, 2, dtype=torch.float64),), to="jax"
        )
    assert "bias" in str(found[0].message) and "weight" in str(found[0].message)


# ------------------------------------------------------------------- arrays of other frameworks than the source
def doubled(samples: Any) -> Any:
    return samples * 2


def test_a_wide_array_does_not_fit_a_graph_of_narrow_ones() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    graph = graph_compiler.compile(model, args=(torch.ones(4, 3),), to="jax")
    for wide in (np.ones((4, 3)), torch.ones(4, 3, dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="must have the same dtype"):
            graph(wide)
    assert graph(np.ones((4, 3), "float32")).dtype == graph(jax.numpy.ones((4, 3))).dtype == np.float32
    assert len(graph.variants) == 1


@pytest.mark.parametrize("source", ["torch", "tensorflow", "numpy"])
def test_a_wide_array_is_another_variant_and_is_told(source: str) -> None:
    array = pytest.importorskip(source).ones
    graph = graph_compiler.transpile(doubled, source=source, to="jax")
    graph(array(3, dtype=pytest.importorskip(source).float32))
    with told() as found:
        assert graph(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
        assert graph(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert [variant.graph.inputs[0].dtype for variant in graph.variants] == ["float32", "float64"]
    assert len(found) == 1 and "samples has 64-bit floats" in str(found[0].message)


def test_strict_numbers_refuse_a_wide_array_after_a_narrow_one() -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.compile(doubled, args=(torch.ones(3),), to="jax", numbers="strict")
    with pytest.raises(UnsupportedOperation, match="samples has 64-bit floats"):
        graph(np.ones(3))


def test_what_is_not_wider_than_recorded_fits() -> None:
    torch = pytest.importorskip("torch")

    def taken(rows: Any, places: Any, factor: Any) -> Any:
        return rows[places] * factor

    graph = graph_compiler.compile(taken, args=(torch.ones(3), torch.tensor([0, 2]), 2.5), to="jax")
    rows = np.arange(3, dtype="float32")
    for places in (np.array([2, 1]), torch.tensor([2, 1]), jax.numpy.array([2, 1])):
        for given in (rows, torch.from_numpy(rows), jax.numpy.asarray(rows)):
            assert graph(given, places, 2.5).tolist() == [5.0, 2.5]
    assert jax.jit(lambda rows, places: graph(rows, places, 2.5))(rows, np.array([2, 1])).tolist() == [
        5.0,
        2.5,
    ]
    assert len(graph.variants) == 1


def test_a_loaded_graph_tells_a_wide_array(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch")
    graph_compiler.compile(doubled, args=(torch.ones(3),), to="jax").save(tmp_path / "doubled")
    with pytest.raises(GuardFailed, match="samples is float64 and was recorded as float32"):
        graph_compiler.load(tmp_path / "doubled")(np.ones(3))


def test_a_jax_function_takes_wide_arrays_as_jax_does(tmp_path: Any) -> None:
    graph = graph_compiler.compile(doubled, source="jax", args=(jax.numpy.ones(3),), to="jax")
    graph.save(tmp_path / "doubled")
    with told() as found:
        for one in (graph, graph_compiler.load(tmp_path / "doubled")):
            assert one(np.ones(3)).dtype == np.float32
    assert not found and len(graph.variants) == 1


def test_floats_beyond_float32_in_a_tuple_are_clipped() -> None:
    with told():
        graph = graph_compiler.transpile(
            lambda x: np.histogram(x, bins=4, range=(-1e300, 1e300))[0], to="jax", args=(WIDE,)
        )
    assert graph(WIDE).tolist() == [0, 0, 3, 0]
