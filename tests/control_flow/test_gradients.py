"""Gradients through loops and branches are those that JAX gives for the original."""

from __future__ import annotations

import jax
import pytest

from .programs import PROGRAMS
from .running import GRADIENTS, check_gradients, in_turn
from .table import Program

DIFFERENTIABLE = {name: program for name, program in PROGRAMS.items() if program.gradient != "none"}


def _dtypes(program: Program) -> tuple[str, ...]:
    return ("float64", "float32") if program.wide else ("float32",)


@pytest.mark.parametrize(("name", "way"), in_turn(DIFFERENTIABLE, GRADIENTS))
def test_gradients(name: str, way: str) -> None:
    with jax.enable_x64(True):
        check_gradients(PROGRAMS[name], way, _dtypes(PROGRAMS[name])[0])


@pytest.mark.slow
@pytest.mark.parametrize("way", GRADIENTS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_float32(name: str, way: str) -> None:
    check_gradients(PROGRAMS[name], way, "float32")
