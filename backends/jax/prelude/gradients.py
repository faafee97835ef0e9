"""Gradients by rules of the user's own."""

from __future__ import annotations

from typing import Any

import jax

from ....errors import GradientRefused


def with_gradient(value: jax.Array, *pairs: jax.Array) -> jax.Array:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its slope."""

    @jax.custom_jvp
    def ruled(value: jax.Array, *pairs: jax.Array) -> jax.Array:
        return value

    @ruled.defjvp
    def slopes(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        _, *pairs = primals
        return primals[0], sum(tangent * slope for tangent, slope in zip(tangents[1::2], pairs[1::2]))

    return ruled(value, *pairs)


def refuse_gradient(*arrays: jax.Array, message: str) -> jax.Array:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @jax.custom_vjp
    def refused(*arrays: jax.Array) -> jax.Array:
        return arrays[0]

    def backward(_: Any, gradient: jax.Array) -> Any:
        raise GradientRefused(message)

    refused.defvjp(lambda *arrays: (refused(*arrays), None), backward)  # refused again, for derivatives of derivatives
    return refused(*arrays)
