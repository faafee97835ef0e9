"""How many steps the loops of a traced program take with the arrays of a call, told by running it operation by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal

from ...sizes import hint_of
from .calls import with_numbers
from .nested import CALLBACKS, MOST_EQUATIONS, SOLVES, While, called, kept, solving
from .sizes import expression_of, is_symbolic


class Steps:
    """The most steps that each loop takes; the program is run when somebody asks first, and let go afterwards."""

    def __init__(self, program: ClosedJaxpr, arrays: list[Any]) -> None:
        self._call: tuple[ClosedJaxpr, list[Any]] | None = (program, arrays)
        self._found: dict[Any, int] = {}

    def of(self, loop: While) -> int | None:
        """The most steps of a loop; None where they are too many to be written out, or the arrays are not known."""
        self.run()
        return self._found.get(loop.body.jaxpr)

    def run(self) -> None:
        """Counts the steps, unless that was done."""
        (program, arrays), self._call = self._call or (None, []), None
        if program is None or any(isinstance(array, jax.core.Tracer) for array in arrays):
            return
        try:
            _Run(self._found).program(program, arrays)
        except Exception:  # of which nothing is known is refused where it is read
            self._found.clear()

    def forget(self) -> None:
        """Lets the arrays of the call go: nothing is counted from here on."""
        self._call = None


class _TooLong(Exception):
    """A loop goes on for longer than can be written out."""


class _Run:
    def __init__(self, found: dict[Any, int]) -> None:
        self.found, self.done = found, 0

    def program(self, program: ClosedJaxpr, operands: list[Any]) -> list[Any]:
        held: dict[Any, Any] = {
            **dict(zip(program.jaxpr.invars, operands)),
            **dict(zip(program.jaxpr.constvars, map(_numbers, program.consts))),
        }

        def value(atom: Any) -> Any:
            return jax.numpy.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else held[atom]

        for equation in program.jaxpr.eqns:
            self.done += 1
            held.update(zip(equation.outvars, self._equation(equation, [value(atom) for atom in equation.invars])))
        return [value(atom) for atom in program.jaxpr.outvars]

    def _equation(self, equation: Any, operands: list[Any]) -> list[Any]:
        name, params = equation.primitive.name, equation.params
        if (inner := called(equation)) is not None:
            return self.program(inner, operands)
        if name in _RUN:
            return _RUN[name](self, params, operands)
        if name in SOLVES:
            return self.program(*solving(params, operands))
        if name in CALLBACKS:  # not run: they are refused when they are read
            return [jax.numpy.zeros(_numbers(var.aval.shape), var.aval.dtype) for var in equation.outvars]
        found = equation.primitive.bind(*operands, **{key: _numbers(item) for key, item in params.items()})
        return list(found) if equation.primitive.multiple_results else [found]

    def _public(self, params: dict[str, Any], operands: list[Any]) -> list[Any]:
        call = params["call"]
        if call.body is not None:
            return self.program(call.body, operands)
        return list(call.function(*operands, tree=with_numbers(call.arguments)))

    def _while(self, params: dict[str, Any], operands: list[Any]) -> list[Any]:
        loop, count, before = While(params, operands), 0, self.done
        state = loop.state
        while (goes_on := self.program(loop.condition, loop.condition_on(state))[0]).any():
            after, count = self.program(loop.body, loop.body_on(state)), count + 1
            state = [kept(goes_on, new, old) for new, old in zip(after, state)] if loop.type.ndim else after
            if count > MOST_EQUATIONS or self.done - before > 2 * MOST_EQUATIONS:
                raise _TooLong
        self.found[loop.body.jaxpr] = max(count, self.found.get(loop.body.jaxpr, 0))
        return state

    def _scan(self, params: dict[str, Any], operands: list[Any]) -> list[Any]:
        constants, carried = params["num_consts"], params["num_carry"]
        held, state, sequences = operands[:constants], operands[constants : constants + carried], operands[constants + carried :]
        length = _numbers(params["length"])
        outputs: list[Any] = [None] * length
        for place in reversed(range(length)) if params["reverse"] else range(length):
            found = self.program(params["jaxpr"], [*held, *state, *(sequence[place] for sequence in sequences)])
            state, outputs[place] = found[:carried], found[carried:]
        return [*state, *(jax.numpy.stack(parts) for parts in zip(*outputs))]

    def _branches(self, params: dict[str, Any], operands: list[Any]) -> list[Any]:
        """All of them, as they are recorded."""
        results = [self.program(branch, operands[1:]) for branch in params["branches"]]
        return results[min(max(int(operands[0]), 0), len(results) - 1)]


def _numbers(item: Any) -> Any:
    """A parameter with sizes as they are at the moment."""
    if type(item) in (tuple, list):
        return type(item)(map(_numbers, item))
    return hint_of(expression_of(item)) if is_symbolic(item) else item


_RUN: dict[str, Callable[[_Run, dict[str, Any], list[Any]], list[Any]]] = {
    "public_call": _Run._public,
    "while": _Run._while,
    "scan": _Run._scan,
    "cond": _Run._branches,
    "size": lambda run, params, operands: [jax.numpy.asarray(hint_of(params["size"]))],
}
