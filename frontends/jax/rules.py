"""Derivatives by rules of functions' own (``jax.custom_jvp``, ``jax.custom_vjp``), as programs that a graph can hold.

A rule is followed where it is linear in the tangents, or cotangents, that it is given. Where it multiplies them element by element, the
derivative is a *slope* for each pair of a source and a result; elsewhere it is a program that takes tangents of the sources.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal

from ...ops.dtypes import is_floating, is_inexact
from .dtypes import dtype_name
from .linearity import Linear, NotLinear, dependence
from .sizes import expression_of

RULED = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})
# functions of JAX whose public operation has the derivative of their rule in every target: name in JAX's sources -> public name
_PUBLIC = {"relu": "jax.nn.relu", "relu6": "jax.nn.relu6", "logaddexp": "jax.numpy.logaddexp", "logaddexp2": "jax.numpy.logaddexp2"}
_JAX = f"{Path(jax.__file__).resolve().parent}{os.sep}"


@dataclass(frozen=True)
class Rule:
    """The derivative of one call. ``results`` are the places of its results that have one, ``sources`` those of its operands.

    One of the others is set: ``slopes``, a program of the operands, gives the slope for each pair (result, source) of ``pairs``; ``tangents``, a program
    of the tangents of the sources and of the operands, gives those of the results; ``problem`` says why the rule is not followed.
    """

    results: tuple[int, ...]
    sources: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    slopes: ClosedJaxpr | None = None
    tangents: ClosedJaxpr | None = None
    problem: str = ""


def public_of(equation: Any) -> str | None:
    """The public function that an equation calls on real arrays of one type and shape, and on numbers; None for any other."""
    name, place = name_of(equation)
    avals = [atom.aval for atom in (*equation.invars, *equation.outvars)]
    if (
        name not in _PUBLIC
        or not place.startswith(_JAX)
        or len({aval.dtype for aval in avals}) != 1
        or not is_floating(dtype_name(avals[0].dtype))
    ):
        return None
    wanted = _shape(equation.outvars[0].aval)
    alike = all(_shape(atom.aval) == wanted or isinstance(atom, Literal) for atom in equation.invars)
    return _PUBLIC[name] if alike else None


def _shape(aval: Any) -> tuple[Any, ...]:
    """The shape as expressions, whose comparison decides nothing."""
    return tuple(map(expression_of, aval.shape))


def rule_of(equation: Any, places: Sequence[int]) -> Rule:
    """The rule of an equation with respect to the operands at these ``places``."""
    results = tuple(place for place, var in enumerate(equation.outvars) if _has_derivative(var.aval))
    sources = tuple(place for place in places if _has_derivative(equation.invars[place].aval))
    if not results or not sources:
        return Rule(results, sources)
    try:
        return _followed(_Map(equation, results, sources), results, sources)
    except NotLinear as problem:
        return Rule(results, sources, problem=f"it is not known to be linear in what it is given ({problem})")
    except Exception as problem:  # the rule is the user's code, and may do or refuse anything
        reason = f"{type(problem).__name__}: {problem}".strip().splitlines()[0]
        return Rule(results, sources, problem=f"it cannot be traced ({reason})")


def _has_derivative(aval: Any) -> bool:
    return is_inexact(dtype_name(aval.dtype))


def _followed(linear: _Map, results: tuple[int, ...], sources: tuple[int, ...]) -> Rule:
    found = linear.dependence()
    if all(item != Linear.ANY for row in found for item in row) and linear.is_alike():
        pairs = [(taken, made) for taken, row in enumerate(found) for made, item in enumerate(row) if item == Linear.ELEMENTWISE]
        named = [(taken, made) if linear.is_forward else (made, taken) for taken, made in pairs]
        return Rule(results, sources, tuple((results[made], sources[taken]) for taken, made in named), linear.slopes(pairs))
    return Rule(results, sources, tangents=linear.tangents())


class _Map:
    """The linear map of a rule: tangents of the sources to those of the results, or backwards cotangents of the results to those of the sources."""

    def __init__(self, equation: Any, results: tuple[int, ...], sources: tuple[int, ...]) -> None:
        self.is_forward = equation.primitive.name == "custom_jvp_call"
        self._sources, self._results = sources, results
        self._call = _function(equation)
        self._operands = [_type(atom.aval) for atom in equation.invars]
        ends = [self._operands[place] for place in sources], [_type(equation.outvars[place].aval) for place in results]
        self._taken, self._given = ends if self.is_forward else ends[::-1]
        self._program = jax.make_jaxpr(self._mapped)(self._taken, self._operands)

    def _mapped(self, taken: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        def call(*sources: Any) -> list[Any]:
            given = list(operands)
            for place, item in zip(self._sources, sources):
                given[place] = item
            made = self._call(*given)
            return [made[place] for place in self._results]

        primals = [operands[place] for place in self._sources]
        if self.is_forward:
            return list(jax.jvp(call, primals, list(taken))[1])
        return list(jax.vjp(call, *primals)[1](list(taken)))

    def dependence(self) -> list[list[Linear]]:
        """For each array that the map takes, how each that it gives depends on it, once it is known to be linear in all of them together."""
        count, constant = len(self._taken), [Linear.CONSTANT] * len(self._operands)
        dependence(self._program, [*[Linear.ELEMENTWISE] * count, *constant])
        return [
            dependence(self._program, [*(Linear.ELEMENTWISE if other == place else Linear.ZERO for other in range(count)), *constant])
            for place in range(count)
        ]

    def is_alike(self) -> bool:
        """Whether all that is taken and given is real, and of one shape and type."""
        return len({(item.dtype, _shape(item)) for item in (*self._taken, *self._given)}) == 1 and all(
            is_floating(dtype_name(item.dtype)) for item in self._taken
        )

    def slopes(self, pairs: Sequence[tuple[int, int]]) -> ClosedJaxpr:
        """A program of the operands that gives for each pair (taken, given) what the one is multiplied by for the other."""

        def straight(*operands: Any) -> list[Any]:
            found = []
            for place in range(len(self._taken)):
                ones = [jax.numpy.full_like(item, other == place) for other, item in enumerate(self._like(operands))]
                found.append(self._mapped(ones, operands))
            return [found[taken][given] for taken, given in pairs]

        return jax.make_jaxpr(straight)(*self._operands)

    def _like(self, operands: Sequence[Any]) -> list[Any]:
        return (
            [operands[place] for place in self._sources]
            if self.is_forward
            else [jax.numpy.zeros(item.shape, item.dtype) for item in self._taken]
        )

    def tangents(self) -> ClosedJaxpr:
        """A program of tangents of the sources, and of the operands, that gives the tangents of the results."""
        count = len(self._sources)
        types = self._taken if self.is_forward else self._given

        def straight(*given: Any) -> list[Any]:
            tangents, operands = given[:count], [jax.lax.stop_gradient(item) for item in given[count:]]
            if self.is_forward:
                return self._mapped(tangents, operands)
            transposed = jax.linear_transpose(lambda *taken: self._mapped(taken, operands), *self._taken)
            return list(transposed(list(tangents)))

        return jax.make_jaxpr(straight)(*types, *self._operands)


def _function(equation: Any) -> Callable[..., list[Any]]:
    """The call that an equation makes, with its rule."""

    def call(*operands: Any) -> list[Any]:
        return list(equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params)))

    return call


def _type(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def name_of(equation: Any) -> tuple[str, str]:
    """The name of the function that an equation calls, and where it was written (``file:line``)."""
    info = equation.params.get("call_jaxpr", equation.params.get("fun_jaxpr")).jaxpr.debug_info.func_src_info or ""
    name, _, place = info.partition(" at ")
    return name or "a function", place


__all__ = ["RULED", "Rule", "name_of", "public_of", "rule_of"]
