"""Callbacks into Python (``jax.pure_callback``), and error checks made of them, which become guards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from ...ir.graph import Guard, check
from ...ir.node import Origin, Value
from .nested import called_program, programs_in
from .programs import ProgramReader, Whole

PURE = "pure_callback"
_CALL = "an error check (a branch whose results come from jax.pure_callback alone)"


@dataclass(frozen=True, eq=False)
class Callback(Whole):
    """Callable that calls back into Python. Its first argument is the shapes of the results."""

    def __call__(self, shapes: tuple[tuple[int, ...], ...], *operands: Any) -> Any:
        types = [
            jax.ShapeDtypeStruct(shape, aval.dtype)
            for shape, aval in zip(shapes, self.params["result_avals"])
        ]
        return jax.pure_callback(
            self.params["callback"], types, *operands, vmap_method=self.params["vmap_method"]
        )


def read_error_check(
    reader: ProgramReader,
    branches: tuple[ClosedJaxpr, ...],
    is_taken: Callable[[int], tuple[Value, bool]],
    origin: Origin,
) -> int | None:
    """Return the index of the only branch that computes its results, and guard that it is taken.

    Return None unless all other branches only call back into Python. ``is_taken(index)`` returns a value,
    and the truth value that it has if that branch is taken. If ``reader.checks`` is False, add no guard.
    """
    computing = [place for place, program in enumerate(branches) if not is_called_back(program)]
    if len(computing) != 1 or len(branches) == 1:
        return None
    (place,) = computing
    if reader.checks:
        reader.append(check(Guard(*is_taken(place), replace(origin, call=_CALL)), is_recorded=True))
    return place


def is_called_back(program: ClosedJaxpr) -> bool:
    """Return True if each result of ``program`` depends on the result of a callback into Python."""
    jaxpr = program.jaxpr
    made: set[Any] = set()
    for equation in jaxpr.eqns:
        inner = called_program(equation)
        if (
            equation.primitive.name == PURE
            or inner is not None
            and is_called_back(inner)
            or not made.isdisjoint(_variables(equation))
        ):
            made.update(equation.outvars)
    return bool(made) and made.issuperset(jaxpr.outvars)


def holds_checks(program: Any) -> bool:
    return any(
        equation.primitive.name == "cond" and any(map(is_called_back, equation.params["branches"]))
        or any(map(holds_checks, programs_in(equation.params)))
        for equation in program.eqns
    )  # fmt: skip


def _variables(equation: Any) -> list[Any]:
    return [atom for atom in equation.invars if not hasattr(atom, "val")]
