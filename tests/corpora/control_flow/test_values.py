"""Tests of JAX loops and branches in each target: one recording gives the values of JAX at other lengths,
branches and trip counts.
"""

from __future__ import annotations

import pytest

from tests.support.selection import pairs

from .programs import PROGRAMS
from .running import TARGETS, check_jit, check_tf_function, check_torch_compile, check_values


@pytest.mark.parametrize(("name", "to"), pairs(PROGRAMS, TARGETS))
def test_values(name: str, to: str) -> None:
    check_values(PROGRAMS[name], to)


COMPILED = [name for name, program in PROGRAMS.items() if not program.by_size]


@pytest.mark.parametrize("name", COMPILED)
def test_inside_of_jit(name: str) -> None:
    check_jit(PROGRAMS[name])


@pytest.mark.parametrize(("name", "way"), pairs(COMPILED, ["sizes of the call", "unknown sizes", "XLA"]))
def test_inside_of_tf_function(name: str, way: str) -> None:
    # A guard that a size fits into 32 bits cannot be computed in 32 bits.
    if (name, way) == (
        "beam",
        "unknown sizes",
    ):
        with pytest.raises(
            pytest.importorskip("tensorflow").errors.InvalidArgumentError, match="GuardFailed"
        ):
            check_tf_function(PROGRAMS[name], way)
    else:
        check_tf_function(PROGRAMS[name], way)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_under_torch_compile(name: str) -> None:
    check_torch_compile(PROGRAMS[name])
