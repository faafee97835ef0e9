"""Tests that members of enums and other instances of subclasses of numbers and strings are recorded as what
the framework takes them for.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same

from .test_outside_changes import SOURCES, argument


class Number(enum.IntEnum):
    ZERO = 0
    ONE = 1
    TWO = 2


class Word(str, enum.Enum):
    CONSTANT = "constant"


class Real(float):
    pass


class Whole(int):
    pass


class Imaginary(complex):
    pass


def _pad(x: Any) -> Any:
    name = type(x).__module__.partition(".")[0]
    if name == "torch":
        import torch

        return torch.nn.functional.pad(x, (Number.ONE, Number.ZERO), mode=Word.CONSTANT)
    if name.startswith("jax"):
        import jax

        return jax.numpy.pad(x, Number.ONE, mode=Word.CONSTANT)
    if name == "tensorflow":
        import tensorflow

        return tensorflow.pad(x, [[Number.ONE, Whole(2)]], mode=Word.CONSTANT)
    return np.pad(x, Number.ONE, mode=Word.CONSTANT)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "factor": lambda x: x * Number.TWO,
    "term": lambda x: x + Whole(3),
    "float": lambda x: Real(2.0) * x,
    "complex": lambda x: x * Imaginary(2j),
    "divisor": lambda x: Number.TWO / (x + 1),
    "exponent": lambda x: x**Number.TWO,
    "condition": lambda x: x > Number.ONE,
    "index": lambda x: x[Number.ONE],
    "slice": lambda x: x[Number.ONE : Whole(3)],
    "step": lambda x: x[:: Number.TWO],
    "members": lambda x: [x + member for member in Number],
    "arguments": _pad,
}


# TensorFlow has no product of a float tensor and a complex number.
CASES = [
    (name, source) for name in FUNCTIONS for source in SOURCES if (name, source) != ("complex", "tensorflow")
]


@pytest.mark.parametrize("to", SOURCES)
@pytest.mark.parametrize(("name", "source"), CASES)
def test_as_in_the_source(name: str, source: str, to: str) -> None:
    function, x = FUNCTIONS[name], argument(source)
    graph = graph_compiler.compile(function, args=[x], source=source, to=to)
    result = graph(x if to == source else np.asarray(x))
    assert_same(result, function(x))
