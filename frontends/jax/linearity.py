"""Whether a program is linear in some of its inputs, and whether it multiplies them element by element, told from its equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from .calls import program_of
from .nested import called
from .sizes import expression_of


class Linear(IntEnum):
    """How a value depends on the linear inputs; a later member includes the earlier ones from ``ZERO`` on."""

    CONSTANT = 0  # not at all
    ZERO = 1  # not at all, and all its elements are 0
    ELEMENTWISE = 2  # each element is a number times the element of the input at the same place
    ANY = 3  # linearly


class NotLinear(Exception):
    """A program is not linear in its inputs, or is not known to be; the text is the primitive that it was met at."""


def dependence(program: ClosedJaxpr, inputs: Sequence[Linear]) -> list[Linear]:
    """How the outputs of a program depend on the linear inputs, given how its own inputs do. ``NotLinear`` where they depend otherwise."""
    known: dict[Any, Linear] = dict(zip(program.jaxpr.invars, inputs))
    known.update((var, _constant(item)) for var, item in zip(program.jaxpr.constvars, program.consts))

    def of(atom: Any) -> Linear:
        return _constant(atom.val) if isinstance(atom, Literal) else known[atom]

    for equation in program.jaxpr.eqns:
        known.update(zip(equation.outvars, _results(equation, [of(atom) for atom in equation.invars])))
    return [of(atom) for atom in program.jaxpr.outvars]


def _constant(item: Any) -> Linear:
    is_number = isinstance(item, (bool, int, float, complex, np.generic)) or getattr(item, "ndim", None) == 0
    return Linear.ZERO if is_number and np.asarray(item).dtype.kind in "biufc" and not np.asarray(item) else Linear.CONSTANT


def _results(equation: Any, operands: list[Linear]) -> list[Linear]:
    name = equation.primitive.name
    if not operands:
        return [Linear.CONSTANT] * len(equation.outvars)
    if (inner := called(equation)) is not None:
        return dependence(inner, operands)
    if name == "public_call" and (max(operands) > Linear.ZERO or Linear.ZERO in operands):
        return dependence(program_of(equation.params["call"], [atom.aval for atom in equation.invars]), operands)
    if name == "cond" and operands[0] <= Linear.ZERO:
        branches = [dependence(branch, operands[1:]) for branch in equation.params["branches"]]
        return [_together(name, list(results)) for results in zip(*branches)]
    if name == "scan":
        return _scanned(equation.params, operands)
    if name in _RULES and (max(operands) > Linear.ZERO or Linear.ZERO in operands):
        found = _RULES[name](name, operands)
        kept = found != Linear.ELEMENTWISE or _keeps_places(equation, operands)
        return [found if kept else Linear.ANY] * len(equation.outvars)
    if max(operands) > Linear.ZERO:
        raise NotLinear(name)
    return [Linear.CONSTANT] * len(equation.outvars)


def _scanned(params: dict[str, Any], operands: list[Linear]) -> list[Linear]:
    """Of a loop: what it carries depends on the inputs as it does after any step."""
    operands = [Linear.ANY if found == Linear.ELEMENTWISE else found for found in operands]
    constants, carried = params["num_consts"], params["num_carry"]
    state = operands[constants : constants + carried]
    while True:
        found = dependence(params["jaxpr"], [*operands[:constants], *state, *operands[constants + carried :]])
        after = [_together("scan", [before, now]) for before, now in zip(state, found)]
        if after == state:
            return [*state, *found[carried:]]
        state = after


def _keeps_places(equation: Any, operands: list[Linear]) -> bool:
    """Whether the linear operands have the shape of the result."""
    wanted = _shape(equation.outvars[0].aval)
    return all(_shape(atom.aval) == wanted for atom, found in zip(equation.invars, operands) if found == Linear.ELEMENTWISE)


def _shape(aval: Any) -> tuple[Any, ...]:
    """The shape as expressions, whose comparison decides nothing."""
    return tuple(map(expression_of, aval.shape))


def _together(name: str, operands: list[Linear]) -> Linear:
    """Of a sum, or a choice of operands: all of them linear, or 0."""
    if max(operands) > Linear.ZERO and Linear.CONSTANT in operands:
        raise NotLinear(name)
    return max(operands) if max(operands) > Linear.ZERO else min(operands)


def _product(name: str, operands: list[Linear]) -> Linear:
    if sum(found > Linear.ZERO for found in operands) > 1:
        raise NotLinear(name)
    return Linear.ZERO if Linear.ZERO in operands else max(operands)


def _only(place: int) -> Callable[[str, list[Linear]], Linear]:
    """Linear in the operand at this place, and in no other."""

    def rule(name: str, operands: list[Linear]) -> Linear:
        if any(found > Linear.ZERO for number, found in enumerate(operands) if number != place):
            raise NotLinear(name)
        return operands[place]

    return rule


def _moved(rule: Callable[[str, list[Linear]], Linear]) -> Callable[[str, list[Linear]], Linear]:
    """By a primitive that moves or adds up elements."""

    def moved(name: str, operands: list[Linear]) -> Linear:
        found = rule(name, operands)
        return Linear.ANY if found == Linear.ELEMENTWISE else found

    return moved


def _chosen(name: str, operands: list[Linear]) -> Linear:
    return _only(1)(name, [operands[0], _together(name, operands[1:])])


def _written(name: str, operands: list[Linear]) -> Linear:
    """Of ``scatter-add(array, indices, updates)``."""
    return _only(0)(name, [_together(name, [operands[0], operands[2]]), operands[1]])


def _slice_written(name: str, operands: list[Linear]) -> Linear:
    return _only(0)(name, [_together(name, operands[:2]), *operands[2:]])


_RULES: dict[str, Callable[[str, list[Linear]], Linear]] = {
    **dict.fromkeys(("neg", "copy", "copy_p", "convert_element_type", "reduce_precision", "optimization_barrier"), _only(0)),
    **dict.fromkeys(("add", "sub", "add_any"), _together),
    "mul": _product,
    "div": _only(0),
    "select_n": _chosen,
    **dict.fromkeys(
        ("reshape", "transpose", "broadcast_in_dim", "squeeze", "rev", "slice", "reduce_sum", "cumsum", "gather", "dynamic_slice", "real", "imag",
         "fft", "reduce_window_sum", "split"),
        _moved(_only(0)),
    ),
    **dict.fromkeys(("concatenate", "pad", "complex"), _moved(_together)),
    **dict.fromkeys(("dot_general", "conv_general_dilated"), _moved(_product)),
    "triangular_solve": _moved(_only(1)),
    "scatter-add": _moved(_written),
    "dynamic_update_slice": _moved(_slice_written),
}  # fmt: skip

__all__ = ["Linear", "NotLinear", "dependence"]
