"""Derivatives that are given: by rules of the user's own, and of functions whose derivative in JAX is another at some points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import interpreters
from jax.extend.core import Primitive

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


def strong_zero(function: Callable[..., jax.Array], *arrays: jax.Array) -> jax.Array:
    """``function(*arrays)``, element by element; a tangent or cotangent that is zero stays zero, whatever the slope is."""
    ruled = jax.custom_jvp(function)

    def derivative(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
        result = strong_zero(function, *primals)
        zeros = jax.custom_derivatives.SymbolicZero
        given = [(place, tangent) for place, tangent in enumerate(tangents) if not isinstance(tangent, zeros)]
        parts = [strong_product(tangent, slope_of(function, place, primals)) for place, tangent in given]
        return result, sum(parts) if parts else jnp.zeros_like(result)

    ruled.defjvp(derivative, symbolic_zeros=True)
    return ruled(*arrays)


def slope_of(function: Callable[..., jax.Array], place: int, arrays: Sequence[jax.Array]) -> jax.Array:
    """The derivative of a function, element by element, by the array at a place; itself one that keeps zeros."""

    def slope(*arrays: jax.Array) -> jax.Array:
        before, array, after = arrays[:place], arrays[place], arrays[place + 1 :]
        return jax.jvp(lambda array: function(*before, array, *after), (array,), (jnp.ones_like(array),))[1]

    return strong_zero(slope, *arrays)


def strong_product(x: jax.Array, y: jax.Array) -> jax.Array:
    """``x * y``, and 0 where one of them is 0, whatever the other is; so are its derivatives."""
    kept = vars(strong_product)
    if "primitive" not in kept:
        kept["primitive"] = product_primitive()
    return kept["primitive"].bind(x, y)


def product_primitive() -> Primitive:
    """What JAX takes for linear in each of its operands."""
    primitive = Primitive("strong_product")

    def product(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) | (y == 0), 0, x * y)

    def batched(operands: Any, axes: Any) -> Any:
        size = next(array.shape[axis] for array, axis in zip(operands, axes) if axis is not None)
        wide = (jnp.moveaxis(array, axis, 0) if axis is not None else array[None].repeat(size, 0) for array, axis in zip(operands, axes))
        return primitive.bind(*wide), 0

    primitive.def_impl(jax.jit(product))
    primitive.def_abstract_eval(lambda x, y: x)
    interpreters.mlir.register_lowering(primitive, interpreters.mlir.lower_fun(product, multiple_results=False))
    by_x, by_y = lambda gradient, x, y: strong_product(gradient, y), lambda gradient, x, y: strong_product(gradient, x)
    interpreters.ad.defbilinear(primitive, by_x, by_y)
    interpreters.batching.primitive_batchers[primitive] = batched
    return primitive
