"""Tests of globals that a function looks up by a string: a call uses current values, even under names that
did not exist before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same

from . import global_reads

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

_MAKE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor,
    "jax": jax.numpy.asarray,
    "numpy": np.asarray,
}


def _x(source: str, rows: int) -> Any:
    return _MAKE[source](np.arange(1.0, rows * 3 + 1, dtype=np.float32).reshape(rows, 3))


def _set(factor: Any) -> None:
    for module in (global_reads, global_reads.SETTINGS):
        vars(module).pop("factor", None)
        if factor is not None:
            module.factor = factor  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _restored() -> Any:
    yield
    _set(None)


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("function", global_reads.FUNCTIONS)
def test_a_global_that_is_looked_up_by_text_is_the_one_of_the_call(
    function: Callable[[Any], Any], source: str
) -> None:
    _set(None)
    compiled = graph_compiler.compile(function, to=source, args=(_x(source, 2),))
    for number, factor in enumerate((None, 3, 5, None), 1):
        _set(factor)
        x = _x(source, number)
        assert_same(compiled(x), function(x))
    assert len(compiled.variants) == 3 and not {"globals", "eval"} & vars(global_reads).keys()


@pytest.mark.parametrize("function", [global_reads.counting, global_reads.counting_in_place])
@pytest.mark.parametrize("source", ["torch", "numpy"])
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_globals_that_are_written_by_text_are_state(
    function: Callable[[Any], Any], source: str, to: str
) -> None:
    before, global_reads.added = global_reads.added, 4
    compiled = graph_compiler.compile(function, to=to)
    results = [float(compiled(_x(source, 1))[0, 0]) for _ in range(3)]
    assert results == [5, 6, 7] and global_reads.added == 7 and len(compiled.variants) == 1
    global_reads.added = before


def test_globals_that_are_written_by_text_are_refused_where_there_is_no_state() -> None:
    before = global_reads.added
    with pytest.raises(graph_compiler.errors.TracingError, match=r"added.* (changed|held a number)"):
        graph_compiler.compile(global_reads.counting, args=(_x("jax", 2),))
    global_reads.added = before


def test_what_the_dict_of_globals_is_asked_for_is_answered_as_ever() -> None:
    _, answers = graph_compiler.compile(global_reads.asking, args=(_x("numpy", 2),))(_x("numpy", 2))
    assert answers == (True,) * 7
