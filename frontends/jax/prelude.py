"""Helpers of recorded graphs written for JAX: gradients by rules that could not be traced."""

from __future__ import annotations

from typing import Any

import jax

from ...errors import GradientRefused


def refuse_gradient(*arrays: Any, message: str) -> Any:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @jax.custom_vjp
    def refused(*arrays: Any) -> Any:
        return arrays[0]

    def backward(_: Any, gradient: Any) -> Any:
        raise GradientRefused(message)

    refused.defvjp(lambda *arrays: (refused(*arrays), None), backward)  # refused again, for derivatives of derivatives
    return refused(*arrays)
