"""Derivatives that are given: by rules of the user's own, and of functions whose derivative in JAX is another at some points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ....errors import GradientRefused


def with_gradient(value: jax.Array, *pairs: jax.Array) -> jax.Array:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its slope."""

    @jax.custom_jvp
    def ruled(value: jax.Array, *pairs: jax.Array) -> jax.Array:
        return value

    @ruled.defjvp
    def slopes(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        _, *pairs = primals
        return ruled(*primals), sum(tangent * slope for tangent, slope in zip(tangents[1::2], pairs[1::2]))

    return ruled(value, *pairs)


def with_slopes(function: Callable[..., jax.Array], slopes: list[Callable[..., jax.Array]], *arrays: jax.Array) -> jax.Array:
    """``function(*arrays)``, element by element; its derivative by each array is what the slope of that number gives for the same
    arrays."""
    sloped = jax.custom_jvp(function)

    def derivative(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
        result = sloped(*primals)
        zeros = jax.custom_derivatives.SymbolicZero  # of what does not change, whose slope may be infinite
        parts = [tangent * slope(*primals) for tangent, slope in zip(tangents, slopes) if not isinstance(tangent, zeros)]
        return result, jnp.broadcast_to(sum(parts), result.shape).astype(result.dtype)

    sloped.defjvp(derivative, symbolic_zeros=True)
    return sloped(*arrays)


def refuse_gradient(*arrays: jax.Array, message: str) -> jax.Array:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @jax.custom_vjp
    def refused(*arrays: jax.Array) -> jax.Array:
        return arrays[0]

    def backward(_: Any, gradient: jax.Array) -> Any:
        raise GradientRefused(message)

    refused.defvjp(lambda *arrays: (refused(*arrays), None), backward)  # refused again, for derivatives of derivatives
    return refused(*arrays)
