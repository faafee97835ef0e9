"""Programs inside of programs: what is only called, and the loops and branches that are written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from ...sizes import Size
from ...trees import statics
from .calls import Call
from .sizes import is_symbolic

MOST_EQUATIONS = 2000  # of a loop that is written out
_ORDERS = 2  # of derivatives that solutions have
# primitives that only call a program; the name of the parameter that holds it
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_lin": "call_jaxpr",
}
SOLVES = frozenset({"linear_solve", "custom_linear_solve"})
CALLBACKS = frozenset({"debug_callback", "io_callback", "pure_callback", "outside_call"})


def called(equation: Any) -> ClosedJaxpr | None:
    """The program of an equation that does nothing but call one."""
    program = equation.params.get(_CALLS.get(equation.primitive.name, ""))
    return program if program is None or isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, ())


def solving(params: dict[str, Any], operands: list[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """Of ``lax.custom_linear_solve`` the program that solves, and its operands: its constants and the right-hand sides."""
    lengths = params["const_lengths"]
    before = lengths.matvec + lengths.vecmat
    return params["jaxprs"].solve, [*operands[before : before + lengths.solve], *operands[sum(lengths) :]]


# ------------------------------------------------------------------------------------- written out
def _solve(params: dict[str, Any]) -> Callable[..., Any] | None:
    """A solution with the gradients that JAX takes from the equation that is solved; None for loops, which would divide by 0 at a right-hand side of 0.

    What solves may be cut off from gradients, as the factors in JAX's own functions are. Steps that add nothing to the solution bring them back, one
    for each order of derivatives.
    """
    lengths = params["const_lengths"]
    before, count = lengths.matvec + lengths.vecmat, sum(lengths)
    solve, matvec = jaxpr_as_fun(params["jaxprs"].solve), jaxpr_as_fun(params["jaxprs"].matvec)
    if holds_loop(params["jaxprs"].solve.jaxpr):
        return None

    def straight(*operands: Any) -> list[Any]:
        held, wanted = operands[before : before + lengths.solve], operands[count:]
        found = [jax.lax.stop_gradient(part) for part in solve(*held, *wanted)]
        for _ in range(_ORDERS):
            missing = [want - part for want, part in zip(wanted, matvec(*operands[: lengths.matvec], *found))]
            steps = solve(*held, *(part - jax.lax.stop_gradient(part) for part in missing))
            found = [part + step for part, step in zip(found, steps)]
        return found

    return straight


def _scan(params: dict[str, Any]) -> Callable[..., Any] | None:
    """All steps of a scan one after the other; None where they are too many, or not known."""
    length, constants, carried = params["length"], params["num_consts"], params["num_carry"]
    if not isinstance(length, int) or length * len(params["jaxpr"].jaxpr.eqns) > MOST_EQUATIONS or length == 0:
        return None
    step = jaxpr_as_fun(params["jaxpr"])

    def straight(*operands: Any) -> Any:
        held, state, sequences = operands[:constants], list(operands[constants : constants + carried]), operands[constants + carried :]
        outputs: list[Any] = [None] * length
        for place in range(length - 1, -1, -1) if params["reverse"] else range(length):
            found = step(*held, *state, *(jax.lax.index_in_dim(sequence, place, keepdims=False) for sequence in sequences))
            state, outputs[place] = found[:carried], found[carried:]
        return [*state, *(jax.numpy.stack(parts) for parts in zip(*outputs))]

    return straight


def _cond(params: dict[str, Any]) -> Callable[..., Any] | None:
    """All branches, and the results of the one that is taken: programs of JAX have no side effects."""
    branches = params["branches"]
    if any(branch.effects for branch in branches):
        return None

    def straight(index: Any, *operands: Any) -> Any:
        index = jax.lax.clamp(np.int32(0), index.astype("int32"), np.int32(len(branches) - 1))
        found = [jaxpr_as_fun(branch)(*_masked(index == place, branch, operands)) for place, branch in enumerate(branches)]
        return [_chosen(index, results) for results in zip(*found)]

    return straight


def _masked(is_taken: Any, branch: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """The operands of a branch. Where it is not taken, no gradient goes on to them: it may be NaN there, which a factor of 0 does not hide.

    Results are chosen at the other end, so that all paths out of a branch go through a choice, in derivatives of any order.
    """
    used = {id(atom) for equation in branch.jaxpr.eqns for atom in equation.invars}
    has_gradient = [id(var) in used and jax.numpy.issubdtype(var.aval.dtype, jax.numpy.inexact) for var in branch.jaxpr.invars]
    return [
        jax.numpy.where(is_taken, operand, jax.lax.stop_gradient(operand)) if has else operand
        for has, operand in zip(has_gradient, operands)
    ]


def _chosen(index: Any, results: tuple[Any, ...]) -> Any:
    chosen = results[-1]
    for place in range(len(results) - 2, -1, -1):
        chosen = jax.numpy.where(index == place, results[place], chosen)
    return chosen


WRITTEN_OUT = {"scan": _scan, "cond": _cond, **dict.fromkeys(SOLVES, _solve)}


# ------------------------------------------------------------------------------------- loops that go on while something holds
class While:
    """The programs of a ``while``, and its operands by what they are for."""

    def __init__(self, params: dict[str, Any], operands: list[Any]) -> None:
        self.condition, self.body = params["cond_jaxpr"], params["body_jaxpr"]
        first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        self.state = operands[second:]
        self.type: Any = self.condition.jaxpr.outvars[0].aval  # of the truth value, or of those of many loops
        self._asked, self._stepped = operands[:first], operands[first:second]

    def condition_on(self, state: list[Any]) -> list[Any]:
        """The operands of the condition."""
        return [*self._asked, *state]

    def body_on(self, state: list[Any]) -> list[Any]:
        """The operands of one step."""
        return [*self._stepped, *state]

    def is_counter(self, is_known: Callable[[Any], bool]) -> bool:
        """Whether the number of steps follows from operands alone that are known."""
        constants = len(self._stepped)
        wanted = None if self.type.ndim else _used(self.condition, {0})
        if wanted is None or not all(is_known(item) for place, item in enumerate(self._asked) if place in wanted):
            return False
        deciding = {place - len(self._asked) for place in wanted if place >= len(self._asked)}
        while True:
            used = _used(self.body, deciding)
            if used is None:
                return False
            more = deciding | {place - constants for place in used if place >= constants}
            if more == deciding:
                held = [self._stepped[place] for place in used if place < constants]
                return all(map(is_known, [*held, *(self.state[place] for place in deciding)]))
            deciding = more


def holds_loop(program: Any) -> bool:
    """Whether there is a ``while`` in a program, or in one that is in it."""
    return any(equation.primitive.name == "while" or any(map(holds_loop, _inside(equation.params))) for equation in program.eqns)


def _inside(params: dict[str, Any]) -> list[Any]:
    items = [item for held in params.values() for item in (held if isinstance(held, (tuple, list)) else (held,))]
    return [
        item.jaxpr if isinstance(item, ClosedJaxpr) else item for item in items if isinstance(item, ClosedJaxpr) or hasattr(item, "eqns")
    ]


def _holds_sizes(item: Any) -> bool:
    """Whether there is a size in the parameters of an equation, or in those of the programs that it calls."""
    if isinstance(item, (dict, tuple, list)):
        return any(map(_holds_sizes, item.values() if isinstance(item, dict) else item))
    if isinstance(item, ClosedJaxpr):
        return any(map(is_symbolic, item.consts)) or _holds_sizes(item.jaxpr)
    if isinstance(item, Call):
        return any(map(_holds_sizes, statics(item.arguments))) or _holds_sizes(item.body)
    return isinstance(item, Size) or is_symbolic(item) or any(_holds_sizes(equation.params) for equation in getattr(item, "eqns", ()))


def kept(goes_on: Any, new: Any, old: Any) -> Any:
    """What a step leaves: in a loop of many under ``vmap``, whose truth values have the first axes, for each whether it goes on."""
    return jax.lax.select(goes_on if goes_on.ndim == 0 else jax.lax.broadcast_in_dim(goes_on, new.shape, range(goes_on.ndim)), new, old)


def some(goes_on: Any) -> Any:
    """Whether one of many loops goes on."""
    return jax.lax.reduce_or(goes_on, tuple(range(goes_on.ndim)))


def _used(whole: ClosedJaxpr, outputs: set[int]) -> set[int] | None:
    """The places of the inputs that these outputs of a program depend on; None where they depend on sizes besides, which later calls may have others of."""
    program: Any = whole.jaxpr
    wanted = {id(program.outvars[place]) for place in outputs if not isinstance(program.outvars[place], Literal)}
    for equation in reversed(program.eqns):
        if any(id(var) in wanted for var in equation.outvars):
            if _holds_sizes(equation.params):
                return None
            wanted.update(id(atom) for atom in equation.invars if not isinstance(atom, Literal))
    if any(id(var) in wanted and is_symbolic(item) for var, item in zip(program.constvars, whole.consts)):
        return None
    constant = {id(var) for var in program.constvars}
    if wanted & constant:  # arrays that are held: nothing is known of them
        return set(range(len(program.invars)))
    return {place for place, var in enumerate(program.invars) if id(var) in wanted}
