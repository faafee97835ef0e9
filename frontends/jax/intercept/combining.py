"""Reductions by a user's function of two elements, written with other operations."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from ..nested import MOST_EQUATIONS

Combine = Callable[..., Any]
OPERATIONS: dict[str, Combine] = {
    "add": jax.lax.add, "mul": jax.lax.mul, "max": jax.lax.max, "min": jax.lax.min,
    "and": jax.lax.bitwise_and, "or": jax.lax.bitwise_or, "xor": jax.lax.bitwise_xor,
}  # fmt: skip


def operation(program: Any) -> str | None:
    """Return the primitive in ``OPERATIONS`` that ``program`` applies to its two inputs, by name.

    Return None if ``program`` does anything else. Nested calls are opened.
    """
    program = getattr(program, "jaxpr", program)
    if (
        len(program.eqns) == 1
        and set(map(id, program.eqns[0].invars)) == set(map(id, program.invars))
        and len(program.invars) == 2
    ):
        equation = program.eqns[0]
        if "jaxpr" in equation.params:
            return operation(equation.params["jaxpr"])
        if equation.primitive.name in OPERATIONS:
            return str(equation.primitive.name)
    return None


def _vectorize(program: Any, consts: Any = ()) -> Combine:
    """Return a function that applies ``program`` to arrays element by element.

    ``program`` takes the scalars of the first side, then those of the second. The returned function takes
    each side as a sequence of arrays of one shape.
    """
    function = jaxpr_as_fun(program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, consts))

    def combine(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
        vectorised: Callable[..., Any] = function
        # `vmap` maps one axis at a time.
        for _ in range(first[0].ndim):
            vectorised = jax.vmap(vectorised)
        found: Sequence[Any] = vectorised(*first, *second)
        return found

    return combine


def _independent_operations(program: Any) -> list[str]:
    """Return the name of the operation by which ``program`` reduces each of several arrays.

    Return an empty list if the arrays depend on each other, or are not reduced by ``OPERATIONS``.
    """
    program = getattr(program, "jaxpr", program)
    count, made = len(program.outvars), {id(equation.outvars[0]): equation for equation in program.eqns}
    equations = [made[id(out)] for out in program.outvars if id(out) in made]
    pairs = [{id(first), id(second)} for first, second in zip(program.invars, program.invars[count:])]
    names = [
        equation.primitive.name
        for equation, pair in zip(equations, pairs)
        if set(map(id, equation.invars)) == pair
    ]
    return names if len(names) == count and OPERATIONS.keys() >= set(names) else []


def _reduce(params: dict[str, Any]) -> Callable[..., Any] | None:
    """Return a function that computes a ``reduce`` equation with these ``params`` by other operations.

    If each of several arrays has an operation of its own, they are reduced one by one. Otherwise
    neighbours are combined until one element is left, which is combined with the initial value; XLA does
    not specify the order either. Return None if a single primitive reduces a single array.
    """
    if operation(params["jaxpr"]) is not None:
        return None
    combine, axes, names = (
        _vectorize(params["jaxpr"]),
        params["dimensions"],
        _independent_operations(params["jaxpr"]),
    )

    def each(*operands: Any) -> Any:
        pairs = zip(operands, operands[len(names) :], names)
        return [jax.lax.reduce(array, begin, OPERATIONS[name], axes) for array, begin, name in pairs]

    def straight(*operands: Any) -> Any:
        arrays, begin = operands[: len(operands) // 2], operands[len(operands) // 2 :]
        rest = [axis for axis in range(arrays[0].ndim) if axis not in axes]
        parts = [_in_front(array, tuple(axes), rest) for array in arrays]
        while (count := operator.index(parts[0].shape[0])) > 1:
            even = count // 2 * 2
            found = combine([part[0:even:2] for part in parts], [part[1:even:2] for part in parts])
            parts = (
                [jax.numpy.concatenate([new, part[even:]]) for new, part in zip(found, parts)]
                if even < count
                else list(found)
            )
        first = [jax.numpy.broadcast_to(item, part.shape[1:]) for item, part in zip(begin, parts)]
        return combine(first, [part[0] for part in parts]) if count else first

    return each if names else straight


def _in_front(array: Any, axes: tuple[int, ...], rest: list[int]) -> Any:
    return array.transpose((*axes, *rest)).reshape((-1, *(array.shape[axis] for axis in rest)))


def _reduce_window(params: dict[str, Any]) -> Callable[..., Any] | None:
    """Return a function that computes a ``reduce_window`` equation with these ``params`` by other operations.

    All windows are reduced at once, in an unrolled loop over the positions in a window. Return None for
    reductions by a single primitive, and if the loop would have more than ``MOST_EQUATIONS`` equations.
    """
    window, dilation = params["window_dimensions"], params["window_dilation"]
    equations = math.prod(window) * len(getattr(params["jaxpr"], "jaxpr", params["jaxpr"]).eqns)
    if operation(params["jaxpr"]) is not None or equations > MOST_EQUATIONS:
        return None
    combine = _vectorize(params["jaxpr"], params["consts"])
    # `lax.pad` counts the elements between two neighbours; the dilation is their distance.
    frame = [(*pair, gap - 1) for pair, gap in zip(params["padding"], params["base_dilation"])]

    def straight(*operands: Any) -> Any:
        arrays, begin = operands[: len(operands) // 2], operands[len(operands) // 2 :]
        padded = [jax.lax.pad(array, item, frame) for array, item in zip(arrays, begin)]
        found: Sequence[Any] = ()
        for place in itertools.product(*map(range, window)):
            start = [offset * gap for offset, gap in zip(place, dilation)]
            parts = [_strided(array, start, params) for array in padded]
            found = combine(
                found or [jax.numpy.broadcast_to(item, part.shape) for item, part in zip(begin, parts)], parts
            )
        return found

    return straight


def _strided(array: Any, start: list[int], params: dict[str, Any]) -> Any:
    steps, reaches = params["window_strides"], zip(params["window_dimensions"], params["window_dilation"])
    stops = [
        size - (length - 1) * gap + begin for size, (length, gap), begin in zip(array.shape, reaches, start)
    ]
    return jax.lax.slice(array, start, stops, steps)


COMBINED = {"reduce": _reduce, "reduce_window": _reduce_window}
