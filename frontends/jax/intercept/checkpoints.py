"""``jax.checkpoint`` in traced programs: equations whose program is computed again in a backward pass."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal

CHECKPOINTS = ("checkpoint", "remat", "remat2")  # what different versions of JAX call the primitive
_KEEP_NOTHING = (None, jax.checkpoint_policies.nothing_saveable)


def is_checkpoint(equation: Any) -> bool:
    """Whether an equation keeps nothing but its operands for a backward pass.

    Not where JAX has taken the derivative already, and not with a policy that keeps some results: these are
    the same numbers without it.
    """
    params = equation.params
    return (
        equation.primitive.name in CHECKPOINTS
        and not params["differentiated"]
        and params["policy"] in _KEEP_NOTHING
    )


def opened(program: ClosedJaxpr) -> tuple[ClosedJaxpr, bool]:
    """The program that one which does nothing but run it under ``jax.checkpoint`` runs, with the same inputs
    and outputs; any other as it is.
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
