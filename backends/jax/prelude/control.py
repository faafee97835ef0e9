"""Loops, and functions with custom gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import interpreters, lax
from jax.extend.core import Primitive

from ....errors import GradientRefused


def stacked_weights(parameters: Mapping[str, jax.Array], name: str, layers: Sequence[int]) -> jax.Array:
    """Return the weights of several ``layers``, stacked along a new first axis.

    ``*`` in ``name`` is replaced by the number of a layer.
    """
    together = name.replace("*", ",".join(map(str, layers)))
    if together in parameters:
        return parameters[together]
    return jnp.stack([parameters[name.replace("*", str(layer))] for layer in layers])


def bounded_while(goes_on: Callable[[Any], Any], step: Callable[[Any], Any], start: Any, most: Any) -> Any:
    """Run ``lax.while_loop``, made differentiable in reverse mode if ``most`` is an ``int``.

    ``most`` is an upper bound of the trip count.
    """
    # The bound is a tracer if sizes are traced.
    if not isinstance(most, int):
        return lax.while_loop(goes_on, step, start)
    asked, (stepped, shapes) = jax.make_jaxpr(goes_on)(start), jax.make_jaxpr(step, return_shape=True)(start)

    def holds(captured: Any, state: Any) -> Any:
        return jax.core.eval_jaxpr(asked.jaxpr, captured[0], *jax.tree.leaves(state))[0]

    def after(captured: Any, state: Any) -> Any:
        found = jax.core.eval_jaxpr(stepped.jaxpr, captured[1], *jax.tree.leaves(state))
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    @jax.custom_jvp
    def loop(captured: Any, start: Any) -> Any:
        return lax.while_loop(
            lambda state: holds(captured, state), lambda state: after(captured, state), start
        )

    # The loop runs as the only row of a batch, in which a branch is a ``where``: JAX cannot batch the
    # derivative of a branch.
    def alone(*given: Any) -> Any:
        rows = jax.vmap(steps_where(holds, after, most))(
            *jax.tree.map(lambda array: jnp.expand_dims(array, 0), given)
        )
        return jax.tree.map(lambda array: array[0], rows)

    loop.defjvp(lambda primals, tangents: jax.jvp(alone, primals, tangents))
    return loop((asked.consts, stepped.consts), start)


def steps_where(holds: Callable[..., Any], after: Callable[..., Any], most: int) -> Callable[..., Any]:
    """Return a function of ``(captured, state)`` that iterates ``after`` while ``holds(captured, state)``.

    It stops after a limited number of iterations, which is at least ``most``.
    """
    if most > 1:
        inner, count = (
            jax.checkpoint(steps_where(holds, after, -(-most // 32)), prevent_cse=False),
            min(most, 32),
        )

    def step(captured: Any, state: Any) -> Any:
        taken = holds(captured, state)
        followed = jax.tree.map(lambda array: masked_gradient(taken, array), (captured, state))
        return jax.tree.map(lambda new, old: jnp.where(taken, new, old), after(*followed), state)

    def loop(captured: Any, state: Any) -> Any:
        return lax.scan(lambda state, _: (inner(captured, state), None), state, None, count)[0]

    def steps(captured: Any, state: Any) -> Any:
        run = loop if most > 1 else step
        return lax.cond(anywhere(holds(captured, state)), lambda: run(captured, state), lambda: state)

    return steps


def masked_gradient(taken: jax.Array, array: jax.Array) -> jax.Array:
    """Return ``array`` with derivative 0 where ``taken`` is False."""
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return array
    followed = jax.custom_jvp(lambda array, taken: array)
    followed.defjvps(
        lambda tangent, _, array, taken: jnp.where(taken, tangent, jnp.zeros_like(tangent)), None
    )
    return followed(array, taken)


def anywhere(truth: jax.Array) -> jax.Array:
    """Return ``truth``, or, under ``vmap``, True for the whole batch if an element of it is True."""
    found = jax.custom_batching.custom_vmap(lambda truth: truth)
    found.def_vmap(lambda size, batched, truth: (anywhere(truth.any(0)), False))
    return found(truth)


def with_gradient(value: jax.Array, *pairs: jax.Array) -> jax.Array:
    """Return ``value`` with a custom gradient.

    ``pairs`` alternates sources and slopes: the derivative with respect to a source is its slope.
    """

    @jax.custom_jvp
    def ruled(value: jax.Array, *pairs: jax.Array) -> jax.Array:
        return value

    @ruled.defjvp
    def slopes(
        primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, jax.Array]:
        _, *pairs = primals
        return ruled(*primals), sum(tangent * slope for tangent, slope in zip(tangents[1::2], pairs[1::2]))

    return ruled(value, *pairs)


def with_slopes(
    function: Callable[..., jax.Array], slopes: list[Callable[..., jax.Array]], *arrays: jax.Array
) -> jax.Array:
    """Compute the element-wise ``function(*arrays)`` with custom derivatives.

    ``slopes`` has a function of all arrays for each array, which returns the derivative with respect to it.
    """
    sloped = jax.custom_jvp(function)

    def derivative(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
        result = sloped(*primals)
        # An array without a tangent is left out, because its derivative may be infinite.
        zeros = jax.custom_derivatives.SymbolicZero
        parts = [
            tangent * slope(*primals)
            for tangent, slope in zip(tangents, slopes)
            if not isinstance(tangent, zeros)
        ]
        return result, jnp.broadcast_to(sum(parts), result.shape).astype(result.dtype)

    sloped.defjvp(derivative, symbolic_zeros=True)
    return sloped(*arrays)


def refuse_gradient(*arrays: jax.Array, message: str) -> jax.Array:
    """Return the first array, for which reverse mode raises ``GradientRefused`` with ``message``."""

    @jax.custom_vjp
    def refused(*arrays: jax.Array) -> jax.Array:
        return arrays[0]

    def backward(_: Any, gradient: jax.Array) -> Any:
        raise GradientRefused(message)

    # The forward pass calls ``refused`` again, so that second derivatives raise, too.
    refused.defvjp(lambda *arrays: (refused(*arrays), None), backward)
    return refused(*arrays)


def strong_zero(function: Callable[..., jax.Array], *arrays: jax.Array) -> jax.Array:
    """Compute the element-wise ``function(*arrays)`` with a derivative that keeps zeros.

    A tangent or cotangent that is 0 stays 0, even where the derivative is infinite or NaN.
    """
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
    def slope(*arrays: jax.Array) -> jax.Array:
        before, array, after = arrays[:place], arrays[place], arrays[place + 1 :]
        return jax.jvp(lambda array: function(*before, array, *after), (array,), (jnp.ones_like(array),))[1]

    return strong_zero(slope, *arrays)


def strong_product(x: jax.Array, y: jax.Array) -> jax.Array:
    """Compute ``x * y``, which is 0 where either factor is 0, even if the other one is infinite or NaN.

    Raise ``TypeError`` unless shapes and dtypes are equal.
    """
    first, second = jax.typeof(x), jax.typeof(y)
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        raise TypeError(f"strong_product of {first} and {second}: the factors need equal shapes and dtypes")
    kept = vars(strong_product)
    if "primitive" not in kept:
        kept["primitive"] = product_primitive()
    return kept["primitive"].bind(x, y)


def product_primitive() -> Primitive:
    primitive = Primitive("strong_product")

    def product(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) | (y == 0), 0, x * y)

    def batched(operands: Any, axes: Any) -> Any:
        size = next(array.shape[axis] for array, axis in zip(operands, axes) if axis is not None)
        wide = (
            jnp.moveaxis(array, axis, 0) if axis is not None else array[None].repeat(size, 0)
            for array, axis in zip(operands, axes)
        )
        return primitive.bind(*wide), 0

    primitive.def_impl(jax.jit(product))
    primitive.def_abstract_eval(lambda x, y: x)
    interpreters.mlir.register_lowering(
        primitive, interpreters.mlir.lower_fun(product, multiple_results=False)
    )
    by_x, by_y = (
        lambda gradient, x, y: strong_product(gradient, y),
        lambda gradient, x, y: strong_product(gradient, x),
    )
    interpreters.ad.defbilinear(primitive, by_x, by_y)
    interpreters.batching.primitive_batchers[primitive] = batched
    return primitive
