"""Tests of gradients through loops and branches, compared with those of JAX."""

from __future__ import annotations

import jax
import pytest

from tests.support.selection import pairs

from .programs import PROGRAMS
from .running import GRADIENTS, check_gradients

DIFFERENTIABLE = {name: program for name, program in PROGRAMS.items() if program.gradient != "none"}


# What a target does not have; strict: what works is no longer listed.
_BOUND = (
    "XLA keeps what each step of a loop computed for its gradient only where it knows a bound on the steps"
)
LIMITS = {
    **{(name, "tape in XLA"): _BOUND for name in (
        "while in scan", "scan in while", "deep", "newton", "bisection", "vmap of while", "vmap of steps", "jvp of while",
        "conjugate gradient", "mixed state", "branch in a condition", "scan in a condition", "while in scan under vmap",
        "operator that asks for the length",
    )},
    ("beam", "tape with unknown sizes"): "the guard that a size is an index of 32 bits is not to be told in 32 bits",
    ("scan in cond", "tape in XLA"): "XLA has no gradient of a loop with outputs in a branch",
}  # fmt: skip


def check(name: str, way: str, dtype: str) -> None:
    """Assert that the gradients are right, or that a gradient which the target does not support raises an
    error.
    """
    if (name, way) not in LIMITS:
        return check_gradients(PROGRAMS[name], way, dtype)
    with pytest.raises(pytest.importorskip("tensorflow").errors.InvalidArgumentError):
        check_gradients(PROGRAMS[name], way, dtype)
    return None


@pytest.mark.parametrize(("name", "way"), pairs(DIFFERENTIABLE, GRADIENTS))
def test_gradients(name: str, way: str) -> None:
    with jax.enable_x64(PROGRAMS[name].wide):
        check(name, way, "float64" if PROGRAMS[name].wide else "float32")


@pytest.mark.slow
@pytest.mark.parametrize("way", GRADIENTS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_float32(name: str, way: str) -> None:
    check(name, way, "float32")
