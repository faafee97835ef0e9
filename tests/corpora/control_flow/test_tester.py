"""Tests of the checks of the control-flow corpus: each finds a planted fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from .programs import PROGRAMS
from .running import GRADIENTS, TARGETS, check_gradients, check_jit, check_tf_function, check_values
from .table import Program, floats


def _sums(x: Any) -> Any:
    return lax.scan(lambda held, row: (held + row, held), 0.0 * x[0], x)


def _shifted(x: Any) -> Any:
    """Return the outputs of each iteration one iteration late, the fault of a loop that updates its carry too
    early.
    """
    last, outputs = _sums(x)
    return last, outputs + x


def _one_less(x: Any) -> Any:
    return lax.scan(lambda held, row: (held + row, held), 0.0 * x[0], x.at[-1].set(0.0))


def _by_length(x: Any) -> Any:
    """Return a result that needs a variant for each length."""
    return _sums(x if x.shape[0] == 4 else x + 0)


def _stopped(x: Any) -> Any:
    """Return the right values with wrong gradients."""
    return _sums(x + lax.stop_gradient(x) - x)


CALLS = tuple((floats(n),) for n in (4, 6))
SUMS = Program(_sums, CALLS)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("wrong", [_shifted, _one_less])
def test_another_number_is_found(wrong: Callable[[Any], Any], to: str) -> None:
    with pytest.raises(AssertionError, match="Not equal"):
        check_values(Program(wrong, CALLS), to, SUMS)


def test_another_variant_is_found() -> None:
    with pytest.raises(AssertionError, match="2 variants"):
        check_values(Program(_by_length, CALLS), "numpy")


def test_another_type_is_found() -> None:
    wrong = Program(lambda x: tuple(item.astype(jnp.float16) for item in _sums(x)), CALLS)
    with pytest.raises(AssertionError, match="dtype"):
        check_values(wrong, "torch", SUMS)


def test_a_view_of_an_argument_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.backends import numpy as target

    monkeypatch.setattr(target, "copy_overwritable_values", lambda graph: (graph, False))
    with pytest.raises(AssertionError, match="memory of an argument"):
        check_values(PROGRAMS["a row as carry"], "numpy")


@pytest.mark.parametrize("check", [check_jit, lambda wrong, right: check_tf_function(wrong, "XLA", right)])
def test_another_number_is_found_inside_of_compilers(check: Callable[[Program, Program], None]) -> None:
    with pytest.raises(AssertionError, match="Not equal"):
        check(Program(_shifted, CALLS), SUMS)


@pytest.mark.parametrize("way", GRADIENTS)
def test_other_gradients_are_found(way: str) -> None:
    with pytest.raises(AssertionError, match="Not equal"):
        check_gradients(Program(_stopped, CALLS), way, "float32", SUMS)
