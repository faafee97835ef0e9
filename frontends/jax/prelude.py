"""Helpers of recorded graphs written for JAX: gradients by rules of functions' own."""

from __future__ import annotations

from typing import Any

import jax

from ...errors import GradientRefused


def with_gradient(value: Any, *pairs: Any) -> Any:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its slope."""

    @jax.custom_jvp
    def ruled(value: Any, *pairs: Any) -> Any:
        return value

    @ruled.defjvp
    def slopes(primals: Any, tangents: Any) -> Any:
        _, *pairs = primals
        return ruled(*primals), sum(tangent * slope for tangent, slope in zip(tangents[1::2], pairs[1::2]))

    return ruled(value, *pairs)


def refuse_gradient(*arrays: Any, message: str) -> Any:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @jax.custom_vjp
    def refused(*arrays: Any) -> Any:
        return arrays[0]

    def backward(_: Any, gradient: Any) -> Any:
        raise GradientRefused(message)

    refused.defvjp(lambda *arrays: (refused(*arrays), None), backward)  # refused again, for derivatives of derivatives
    return refused(*arrays)
