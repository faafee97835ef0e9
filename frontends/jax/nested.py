"""Programs inside of equations: calls, linear solves, and branches by platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

# A loop that becomes longer than this is not unrolled.
MOST_EQUATIONS = 2000
# Order of derivatives that solutions of linear equations have.
_ORDERS = 2
# Primitives that only call a program, with the parameter that holds the program.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_lin": "call_jaxpr",
}
SOLVES = frozenset({"linear_solve", "custom_linear_solve"})
CALLBACKS = frozenset({"debug_callback", "io_callback", "pure_callback", "outside_call"})


def called_program(equation: Any) -> ClosedJaxpr | None:
    program = equation.params.get(_CALLS.get(equation.primitive.name, ""))
    return program if program is None or isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, ())


def solve_program(params: dict[str, Any], operands: list[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    lengths = params["const_lengths"]
    before = lengths.matvec + lengths.vecmat
    return params["jaxprs"].solve, [*operands[before : before + lengths.solve], *operands[sum(lengths) :]]


def branch_of_cpu(platforms: Any) -> int:
    named = next(
        (place for place, names in enumerate(platforms) if names is not None and "cpu" in names), None
    )
    return platforms.index(None) if named is None else named


# ------------------------------------------------------------------------------------- written out
def _solve(params: dict[str, Any]) -> Callable[..., Any] | None:
    """Return a function that computes a linear solve, with the gradients of the equation that is solved.

    Return None if the solver has a ``while``, which would divide by 0 if the right-hand side is 0.
    """
    lengths = params["const_lengths"]
    before, count = lengths.matvec + lengths.vecmat, sum(lengths)
    solve, matvec = jaxpr_as_fun(params["jaxprs"].solve), jaxpr_as_fun(params["jaxprs"].matvec)
    if holds_loop(params["jaxprs"].solve.jaxpr):
        return None

    def straight(*operands: Any) -> list[Any]:
        held, wanted = operands[before : before + lengths.solve], operands[count:]
        # The solver may be cut off from gradients, as the factors in JAX's own functions are. Newton steps
        # that add zero to the solution restore the gradients, one step for each order of derivatives.
        found = [jax.lax.stop_gradient(part) for part in solve(*held, *wanted)]
        for _ in range(_ORDERS):
            missing = [want - part for want, part in zip(wanted, matvec(*operands[: lengths.matvec], *found))]
            steps = solve(*held, *(part - jax.lax.stop_gradient(part) for part in missing))
            found = [part + step for part, step in zip(found, steps)]
        return found

    return straight


WRITTEN_OUT = dict.fromkeys(SOLVES, _solve)


def holds_loop(program: Any) -> bool:
    return any(
        equation.primitive.name == "while" or any(map(holds_loop, programs_in(equation.params)))
        for equation in program.eqns
    )


def programs_in(params: dict[str, Any]) -> list[Any]:
    items = [
        item for held in params.values() for item in (held if isinstance(held, (tuple, list)) else (held,))
    ]
    return [
        item.jaxpr if isinstance(item, ClosedJaxpr) else item
        for item in items
        if isinstance(item, ClosedJaxpr) or hasattr(item, "eqns")
    ]
