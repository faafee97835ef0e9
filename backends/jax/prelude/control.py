"""Loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import interpreters, lax
from jax.extend.core import Primitive

from ....errors import GradientRefused


def stacked_weights(parameters: Mapping[str, jax.Array], name: str, layers: Iterable[int]) -> jax.Array:
    """The weights of layers as one array, ``*`` in the name for the number of a layer: stacked before, under
    the name with all numbers in it (``"layer.0,1,2.weight"``), or now.
    """
    together = name.replace("*", ",".join(map(str, layers)))
    if together in parameters:
        return parameters[together]
    return jnp.stack([parameters[name.replace("*", str(layer))] for layer in layers])


def varying_as(sequences: Any, start: Any) -> Any:
    """``start``. In shard_map, where steps over ``sequences`` differ between devices, it is marked as
    different as well: loops begin with the type they go on with.
    """
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return start
    differs = jnp.stack(
        [jnp.zeros_like(array, dtype=bool).any() for array in jax.tree.leaves(sequences)]
    ).any()
    return jax.tree.map(lambda array: jnp.where(differs, jnp.zeros_like(array), array), start)


def bounded_while(goes_on: Callable[[Any], Any], step: Callable[[Any], Any], start: Any, most: Any) -> Any:
    """``lax.while_loop`` of at most ``most`` steps, with derivatives in both modes: those of as many steps,
    of which the ones behind the end are not taken. The backward pass computes steps again, and keeps what
    some of them began with.
    """
    if not isinstance(most, int):  # while it is traced
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

    def alone(
        *given: Any,
    ) -> (
        Any
    ):  # as the one row of a batch, in which branches are ``where``: JAX cannot batch derivatives of branches
        rows = jax.vmap(steps_where(holds, after, most))(
            *jax.tree.map(lambda array: jnp.expand_dims(array, 0), given)
        )
        return jax.tree.map(lambda array: array[0], rows)

    loop.defjvp(lambda primals, tangents: jax.jvp(alone, primals, tangents))
    return loop((asked.consts, stepped.consts), start)


def steps_where(holds: Callable[..., Any], after: Callable[..., Any], most: int) -> Callable[..., Any]:
    """At most ``most`` steps while ``holds(captured, state)``, in loops of 32 that are passed over where it
    does not.

    Where a step is not taken no derivative goes through it, whatever its own is there.
    """
    if most > 1:
        inner, count = (
            jax.checkpoint(steps_where(holds, after, -(-most // 32)), prevent_cse=False),
            min(most, 32),
        )

    def step(captured: Any, state: Any) -> Any:
        taken = holds(captured, state)
        followed = jax.tree.map(lambda array: followed_where(taken, array), (captured, state))
        return jax.tree.map(lambda new, old: jnp.where(taken, new, old), after(*followed), state)

    def loop(captured: Any, state: Any) -> Any:
        return lax.scan(lambda state, _: (inner(captured, state), None), state, None, count)[0]

    def steps(captured: Any, state: Any) -> Any:
        run = loop if most > 1 else step
        return lax.cond(anywhere(holds(captured, state)), lambda: run(captured, state), lambda: state)

    return steps


def followed_where(taken: jax.Array, array: jax.Array) -> jax.Array:
    """``array``, with derivative 0 where it is not ``taken``."""
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return array
    followed = jax.custom_jvp(lambda array, taken: array)
    followed.defjvps(
        lambda tangent, _, array, taken: jnp.where(taken, tangent, jnp.zeros_like(tangent)), None
    )
    return followed(array, taken)


def anywhere(truth: jax.Array) -> jax.Array:
    """A truth value; under ``vmap`` one for all, whether any is True."""
    found = jax.custom_batching.custom_vmap(lambda truth: truth)
    found.def_vmap(lambda size, batched, truth: (anywhere(truth.any(0)), False))
    return found(truth)


def with_gradient(value: jax.Array, *pairs: jax.Array) -> jax.Array:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its
    slope.
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
    """``function(*arrays)``, element by element; its derivative by each array is what the slope of that
    number gives for the same arrays.
    """
    sloped = jax.custom_jvp(function)

    def derivative(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
        result = sloped(*primals)
        zeros = jax.custom_derivatives.SymbolicZero  # of what does not change, whose slope may be infinite
        parts = [
            tangent * slope(*primals)
            for tangent, slope in zip(tangents, slopes)
            if not isinstance(tangent, zeros)
        ]
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

    refused.defvjp(
        lambda *arrays: (refused(*arrays), None), backward
    )  # refused again, for derivatives of derivatives
    return refused(*arrays)


def strong_zero(function: Callable[..., jax.Array], *arrays: jax.Array) -> jax.Array:
    """``function(*arrays)``, element by element; a tangent or cotangent that is zero stays zero, whatever the
    slope is.
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
