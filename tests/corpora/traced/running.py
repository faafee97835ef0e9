"""Recording of a traced program in one framework for another, and comparison with the original."""

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
    """Return the namespace ``xp`` of a framework."""
    return pytest.importorskip({"jax": "jax.numpy"}.get(name, name))


def native(item: Any, framework: str) -> Any:
    """Return a copy of a NumPy array as an array of the framework."""
    if framework == "numpy":
        return np.array(item)
    if framework == "torch":
        return library("torch").tensor(item)
    return library("jax").asarray(item) if framework == "jax" else library("tensorflow").constant(item)


def given(args: tuple[Any, ...], framework: str) -> list[Any]:
    """Return the arguments as arrays of the framework. Python numbers stay unchanged."""
    return [item if type(item) in (int, float) else native(item, framework) for item in args]


def function_of(row: Row, source: str) -> Any:
    """Return the program in a framework, decorated with ``graph_compiler.trace``."""
    xp, program = library(source), row.function

    def run(*args: Any) -> Any:
        return program(xp, *args)

    return graph_compiler.trace(run)


def compiled(name: str, source: str, to: str) -> Any:
    return recorded(PROGRAMS[name], source, to)


def recorded(row: Row, source: str, to: str) -> Any:
    """Return the graph of a program, recorded with its first arguments."""
    return graph_compiler.compile(
        function_of(row, source), source=source, to=to, args=tuple(given(row.calls[0], source))
    )


def wanted(row: Row, source: str, args: tuple[Any, ...]) -> list[Any]:
    return list(leaves(row.function(library(source), *given(args, source))).values())


def assert_gives(found: Any, expected: list[Any]) -> None:
    """Assert that the leaves are equal; an array of one element may stand for a Python number."""
    for one, other in zip(leaves(found).values(), expected, strict=True):
        if is_array(one) and is_array(other):
            assert_same_array(one, other)
        else:
            # A Python number may come as an array with one element.
            assert_same_leaves(np.asarray(one).item(), np.asarray(other).item())
