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
from graph_compiler.errors import InvalidOption, NarrowedNumbers, UnsupportedOperation  # noqa: E402


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
