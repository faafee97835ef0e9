"""``jax.checkpoint`` in traced programs."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal

# Names of the primitive in different versions of JAX.
CHECKPOINTS = ("checkpoint", "remat", "remat2")
_KEEP_NOTHING = (None, jax.checkpoint_policies.nothing_saveable)


def is_checkpoint(equation: Any) -> bool:
    """Return True for a ``jax.checkpoint`` equation that saves only its operands for the backward pass.

    Return False if JAX has already differentiated it, or if a policy saves some results; such equations
    are inlined.
    """
    params = equation.params
    return (
        equation.primitive.name in CHECKPOINTS
        and not params["differentiated"]
        and params["policy"] in _KEEP_NOTHING
    )


def checkpointed_program(program: ClosedJaxpr) -> tuple[ClosedJaxpr, bool]:
    """If ``program`` consists of one ``jax.checkpoint`` call, return the called program and True.

    Return ``program`` and False if it is anything else, or if the operands of the call include a literal,
    a constant, or the same variable twice.
    """
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
