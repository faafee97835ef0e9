"""How a traced program is recorded in one framework, written for another, and compared with what Python
gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same_array, assert_same_leaves, is_array, leaves

from . import growing, in_place, returned, scalars, sequences
from .table import PROGRAMS, Row

CORPUS = (scalars, sequences, in_place, returned, growing)
TARGETS = ("numpy", "torch", "jax", "tensorflow")


def library(name: str) -> Any:
    """What a program is written with."""
    return pytest.importorskip({"jax": "jax.numpy"}.get(name, name))


def native(item: Any, framework: str) -> Any:
    """An array of NumPy as a user of the framework has it, in memory of its own."""
    if framework == "numpy":
        return np.array(item)
    if framework == "torch":
        return library("torch").tensor(item)
    return library("jax").asarray(item) if framework == "jax" else library("tensorflow").constant(item)


def given(args: tuple[Any, ...], framework: str) -> list[Any]:
    """The arguments of a call; numbers of Python's stay what they are."""
    return [item if type(item) in (int, float) else native(item, framework) for item in args]


def function_of(row: Row, source: str) -> Any:
    """The program in a framework, traced."""
    xp, program = library(source), row.function

    def run(*args: Any) -> Any:
        return program(xp, *args)

    return graph_compiler.trace(run)


def compiled(name: str, source: str, to: str) -> Any:
    """The graph of a program of the table."""
    return recorded(PROGRAMS[name], source, to)


def recorded(row: Row, source: str, to: str) -> Any:
    """The graph of a program, recorded with its first arguments."""
    return graph_compiler.compile(
        function_of(row, source), source=source, to=to, args=tuple(given(row.calls[0], source))
    )


def wanted(row: Row, source: str, args: tuple[Any, ...]) -> list[Any]:
    """What Python gives."""
    return list(leaves(row.function(library(source), *given(args, source))).values())


def assert_gives(found: Any, expected: list[Any]) -> None:
    """Assert that the numbers are those expected."""
    for one, other in zip(leaves(found).values(), expected, strict=True):
        if is_array(one) and is_array(other):
            assert_same_array(one, other)
        else:  # a number of Python's may come as an array with one element
            assert_same_leaves(np.asarray(one).item(), np.asarray(other).item())
