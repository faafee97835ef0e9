"""``jax.checkpoint`` in traced programs."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal

# Names of the primitive in different versions of JAX.
CHECKPOINTS = ("checkpoint", "remat", "remat2")
_KEEP_NOTHING = (None, jax.checkpoint_policies.nothing_saveable)


def is_checkpoint(equation: Any) -> bool:
    """Return True if an equation saves only its operands for the backward pass.

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
    """Return the program inside of one that only runs it under ``jax.checkpoint``, and True.

    Return any other program unchanged, and False.
    """
    jaxpr = program.jaxpr
    equation = jaxpr.eqns[0] if len(jaxpr.eqns) == 1 and is_checkpoint(jaxpr.eqns[0]) else None
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
