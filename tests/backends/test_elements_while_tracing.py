"""Tests of guards on elements while a framework traces: the traced program compares as ``same_elements`` does."""

from __future__ import annotations

import importlib
from itertools import product
from typing import Any

import numpy as np
import pytest

from graph_compiler.ir.assumption import same_elements
from graph_compiler.ir.graph import Guard
from graph_compiler.ir.node import Origin, Value
from graph_compiler.ops.registry import ArraySpec

# Framework -> module and name of the comparison, module and name of the function that makes an array.
FRAMEWORKS = {
    "torch": ("torch.native", "_matches_recorded", "torch", "tensor"),
    "jax": ("jax.native", "_as_expected", "jax.numpy", "asarray"),
    "tensorflow": ("tensorflow.native", "_matches_recorded", "tensorflow", "constant"),
}
NAN, INF = float("nan"), float("inf")
REAL = (0.0, -0.0, 1.0, 1.0 + 1e-6, -1.0, 1e30, NAN, INF, -INF)
COMPLEX = (
    *(complex(real, imag) for real, imag in product((0.0, -0.0, 1.0, NAN), (0.0, -0.0, 2.0, INF))),
    complex(1.0, 2.0 + 1e-6), complex(2.0, NAN), complex(-1.0, 2.0),
)  # fmt: skip
# The remainders of the last three numbers are the first three.
WHOLE = (0, 44, 255, 256, 300, -1)


@pytest.mark.parametrize("rounding", [0.0, 1e-4])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_elements_are_compared_as_outside_of_traces(name: str, dtype: str, rounding: float) -> None:
    module, compare, framework, make = FRAMEWORKS[name]
    array = getattr(pytest.importorskip(framework), make)
    matches = getattr(importlib.import_module(f"graph_compiler.backends.{module}"), compare)
    elements = [np.array(element, dtype).tolist() for element in (REAL if dtype == "float32" else COMPLEX)]

    def agrees(seen: Any, recorded: Any) -> bool:
        guard = Guard(Value("x", ArraySpec((1,), dtype)), [recorded], Origin("", 0), rounding)
        return bool(matches(array(np.array([seen], dtype)), guard)) is same_elements(seen, recorded, rounding)

    assert [pair for pair in product(elements, elements) if not agrees(*pair)] == []


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_number_that_the_dtype_cannot_hold_differs_from_all_others(name: str) -> None:
    module, compare, framework, make = FRAMEWORKS[name]
    array = getattr(pytest.importorskip(framework), make)
    matches = getattr(importlib.import_module(f"graph_compiler.backends.{module}"), compare)

    def agrees(seen: int, recorded: int) -> bool:
        guard = Guard(Value("x", ArraySpec((1,), "uint8")), [recorded], Origin("", 0))
        return bool(matches(array(np.array([seen], "uint8")), guard)) is (seen == recorded)

    assert [pair for pair in product(WHOLE[:3], WHOLE) if not agrees(*pair)] == []
