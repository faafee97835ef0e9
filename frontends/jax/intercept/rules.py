"""Derivative rules (``jax.custom_jvp``, ``jax.custom_vjp``) and ``jax.checkpoint`` in traced programs.

Both programs of reverse mode come from ``jax.vjp`` of the call. The forward program returns the leaves of
the pullback as residuals, and the backward program rebuilds the pullback from them. If the rule is one of
forward mode, JAX transposes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal

from ....errors import TracingError
from ....forwarding import forwards
from ....ops.dtypes import is_floating, is_inexact
from ....sizes import expression_of
from ..dtypes import dtype_name
from ..names import JAX
from ..programs import called_program

# ------------------------------------------------------------------------------------------------ checkpoints
# ``jax.checkpoint`` in traced programs.

# Names of the primitive in different versions of JAX.
CHECKPOINTS = ("checkpoint", "remat", "remat2")
_KEEP_NOTHING = (None, jax.checkpoint_policies.nothing_saveable)


def is_checkpoint(equation: Any) -> bool:
    params = equation.params
    return (
        equation.primitive.name in CHECKPOINTS
        and not params["differentiated"]
        and params["policy"] in _KEEP_NOTHING
    )


def checkpointed_program(program: ClosedJaxpr) -> tuple[ClosedJaxpr, bool]:
    """Return the program inside of a checkpoint and True, or ``program`` and False to leave it as it is."""
    jaxpr = program.jaxpr
    equation = jaxpr.eqns[0] if len(jaxpr.eqns) == 1 and is_checkpoint(jaxpr.eqns[0]) else None
    # Inlining renames each operand of the call to an input of the called program, so all must be different
    # variables.
    if (
        equation is None
        or any(isinstance(atom, Literal) for atom in equation.invars)
        or len({*map(id, equation.invars)}) < len(equation.invars)
    ):
        return program, False
    inner = equation.params["jaxpr"]
    known = {**dict(zip(equation.invars, inner.invars)), **dict(zip(equation.outvars, inner.outvars))}

    def renamed(atoms: Any) -> list[Any]:
        return [atom if isinstance(atom, Literal) else known.get(atom, atom) for atom in atoms]

    if not set(jaxpr.constvars).isdisjoint(known):
        return program, False
    straight = jaxpr.replace(invars=renamed(jaxpr.invars), outvars=renamed(jaxpr.outvars), eqns=inner.eqns)
    return ClosedJaxpr(straight, program.consts), True


# ------------------------------------------------------------------------------------------------------ rules
RULED = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})
# Functions in JAX's sources whose canonical operation has the derivative of their rule in every target, with
# their public names.
_PUBLIC = {
    "relu": "jax.nn.relu",
    "relu6": "jax.nn.relu6",
    "logaddexp": "jax.numpy.logaddexp",
    "logaddexp2": "jax.numpy.logaddexp2",
}


def public_of(equation: Any) -> str | None:
    """Return the name in ``_PUBLIC`` by which the call of an equation can be recorded, or None."""
    name, place = name_of(equation)
    avals = [atom.aval for atom in (*equation.invars, *equation.outvars)]
    if (
        name not in _PUBLIC
        or not place.startswith(JAX)
        or len({aval.dtype for aval in avals}) != 1
        or not is_floating(dtype_name(avals[0].dtype))
    ):
        return None
    wanted = _shape(equation.outvars[0].aval)
    alike = all(_shape(atom.aval) == wanted or isinstance(atom, Literal) for atom in equation.invars)
    return _PUBLIC[name] if alike else None


def _shape(aval: Any) -> tuple[Any, ...]:
    return tuple(map(expression_of, aval.shape))


@dataclass(frozen=True)
class TracedRule:
    """Derivative rule of one call. It has no programs if ``results`` or ``sources`` is empty.

    results: indices of the differentiable results of the call.
    sources: indices of the differentiated operands of the call.
    forward: program from the operands to the results and residuals.
    backward: program from the residuals and the cotangents of ``results`` to the cotangents of ``sources``.
    tangents: forward-mode program from the tangents of ``sources`` and the operands to the results and the
        tangents of ``results``; set instead of ``forward`` and ``backward``.
    """

    results: tuple[int, ...]
    sources: tuple[int, ...]
    forward: ClosedJaxpr | None = None
    backward: ClosedJaxpr | None = None
    tangents: ClosedJaxpr | None = None


def rule_of(equation: Any, places: Sequence[int], is_forward: bool) -> TracedRule:
    """Trace the derivative rule of an equation with respect to operands at ``places``."""
    results = tuple(place for place, var in enumerate(equation.outvars) if has_derivative(var.aval))
    sources = tuple(place for place in places if has_derivative(equation.invars[place].aval))
    if not results or not sources:
        return TracedRule(results, sources)
    call = _DifferentiatedCall(equation, results, sources)
    if is_forward and len(results) == len(equation.outvars):
        return TracedRule(results, sources, tangents=call.tangents())
    forward, backward = call.forward_and_backward()
    if any(isinstance(item, jax.core.Tracer) for item in (*forward.consts, *backward.consts)):
        raise TracingError("it closes over an array that depends on an argument; pass that to the function")
    return TracedRule(results, sources, forward, backward)


def has_derivative(aval: Any) -> bool:
    return is_inexact(dtype_name(aval.dtype))


class _DifferentiatedCall:
    """Equation as a function of its differentiated operands, whose derivative rule can be traced.

    results: indices of the differentiable results.
    sources: indices of the differentiated operands.
    """

    def __init__(self, equation: Any, results: tuple[int, ...], sources: tuple[int, ...]) -> None:
        self._equation, self._results, self._sources = equation, results, sources
        self._operands = [_type(atom.aval) for atom in equation.invars]

    def _of(self, operands: Sequence[Any]) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return a function from the differentiated operands to the differentiable results and all results.

        ``operands`` provides the other operands.
        """
        primitive, params = self._equation.primitive, self._equation.params

        @forwards
        def call(*sources: Any) -> tuple[list[Any], list[Any]]:
            given = list(operands)
            # Arrays that the function closes over are its first operands. Rules do not define their
            # derivatives, which are 0 here.
            closed_over = params.get("num_consts", 0)
            for place, item in zip(self._sources, sources):
                given[place] = jax.lax.stop_gradient(item) if place < closed_over else item
            outcome = primitive.bind(*given, **primitive.get_bind_params(params))
            made = list(outcome) if primitive.multiple_results else [outcome]
            return [made[place] for place in self._results], made

        return call

    def _primals(self, operands: Sequence[Any]) -> list[Any]:
        return [operands[place] for place in self._sources]

    def tangents(self) -> ClosedJaxpr:
        def straight(tangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
            _, made, results = jax.jvp(
                self._of(operands), self._primals(operands), list(tangents), has_aux=True
            )
            return [*results, *made]

        return jax.make_jaxpr(straight)(self._primals(self._operands), self._operands)

    def forward_and_backward(self) -> tuple[ClosedJaxpr, ClosedJaxpr]:
        """Return the programs ``forward`` and ``backward`` of :class:`TracedRule`.

        The cotangents of complex arrays are the conjugates of those that JAX uses.
        """
        pulls: list[Any] = []

        def forward(*operands: Any) -> list[Any]:
            _, pull, results = jax.vjp(self._of(operands), *self._primals(operands), has_aux=True)
            residuals, structure = jax.tree.flatten(pull)
            pulls.append(structure)
            return [*results, *residuals]

        def backward(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            pull = jax.tree.unflatten(pulls[-1], residuals)
            return [_conjugate(item) for item in pull([_conjugate(item) for item in cotangents])]

        program = jax.make_jaxpr(forward)(*self._operands)
        residuals = [_type(aval) for aval in program.out_avals[len(self._equation.outvars) :]]
        cotangents = [_type(self._equation.outvars[place].aval) for place in self._results]
        return program, jax.make_jaxpr(backward)(residuals, cotangents)


def _conjugate(item: Any) -> Any:
    return jax.numpy.conj(item) if jax.numpy.issubdtype(item.dtype, complex) else item


def _type(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def name_of(equation: Any) -> tuple[str, str]:
    """Return the name and the ``file:line`` of the function that an equation calls.

    If they are unknown, the name is ``"a function"`` and the place is empty.
    """
    program = called_program(equation)
    info = (program.jaxpr.debug_info.func_src_info if program else None) or ""
    name, _, place = info.partition(" at ")
    return name or "a function", place
