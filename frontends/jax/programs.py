"""Jaxprs inside of equations: calls, linear solves, branches by platform, callbacks and error checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun

from ...forwarding import forward
from ...ir.graph import Guard, check
from ...ir.node import Node, Origin, Value
from ...ops.registry import ArraySpec
from ...trees import flatten
from .dtypes import is_key


class ProgramReader(Protocol):
    """Protocol of ``Reader``, for functions that read the jaxprs inside of an equation."""

    nodes: list[Node]
    constant: Callable[[Any], Value]
    as_words: bool
    stands_for: dict[Value, Value]
    around: Origin
    checks: bool
    orders: int | None

    def read(self, program: ClosedJaxpr, arguments: list[Any]) -> list[Any]: ...

    def inlined(self, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]: ...

    def origin(self, equation: Any, call: str) -> Origin: ...

    def made(
        self, op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin, aval: Any
    ) -> Value: ...

    def append(self, node: Node) -> None: ...

    def spec(self, aval: Any) -> ArraySpec: ...

    def maker(self, value: Value) -> Node | None: ...

    def has_tangent(self, value: Value) -> bool: ...

    def is_constant(self, value: Value) -> bool: ...


@dataclass(frozen=True, slots=True)
class CallProgram:
    """Computation of a recorded JAX call, stored in its call record.

    primitive: the primitive of a primitive call, or a callable that binds it.
    body: the jaxpr of a public call.
    operands: arguments of ``body``.
    """

    primitive: Primitive | BoundPrimitive | None = None
    body: ClosedJaxpr | None = None
    operands: tuple[Any, ...] = ()

    def mapped(self, function: Callable[[Any], Any]) -> CallProgram:
        return replace(self, operands=function(self.operands))


def jax_record(node: Node) -> CallProgram:
    extra = None if node.record is None else node.record.extra
    return extra if isinstance(extra, CallProgram) else _UNKNOWN


@dataclass(frozen=True, eq=False)
class BoundPrimitive:
    primitive: Any
    params: dict[str, Any]

    def __call__(self, *operands: Any) -> Any:
        return self.primitive.bind(*operands, **self.params)


@dataclass(frozen=True, eq=False)
class OnWords(BoundPrimitive):
    """Callable that binds a primitive of ``jax.random``, with keys as arrays of their words.

    keys: for each operand, True if it is an array of words that must be wrapped as keys.
    """

    keys: tuple[bool, ...]

    def __call__(self, *operands: Any) -> Any:
        # Only keys of this generator are recorded as words. The default one may be another.
        given = (
            jax.random.wrap_key_data(item, impl="threefry2x32") if words else item
            for item, words in zip(operands, self.keys)
        )
        found = super().__call__(*given)
        return jax.random.key_data(found) if is_key(found) else found


_UNKNOWN = CallProgram()


@dataclass(frozen=True, eq=False)
class Leaves:
    """Callable that calls ``function`` and returns the arrays in its result as a list."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        return flatten(forward(self.function, *args, **kwargs), is_array)[0]


def is_array(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray))


# ----------------------------------------------------------------------------------------------------- nested
# Programs inside of equations: calls, linear solves, and branches by platform.

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
CALLBACKS = frozenset({"io_callback", "pure_callback", "outside_call"})


def called_program(equation: Any) -> ClosedJaxpr | None:
    program = equation.params.get(_CALLS.get(equation.primitive.name, ""))
    return program if program is None or isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, ())


def has_reverse_mode_only(equation: Any) -> bool:
    if is_solve(equation):
        return equation.params["jaxprs"].transpose_solve is not None
    name: str = equation.primitive.name
    return name.startswith("custom_vjp_call")


def is_solve(equation: Any) -> bool:
    # Another package may name a primitive of its own like that of JAX.
    return equation.primitive.name in SOLVES and "jaxprs" in equation.params


def solver(params: dict[str, Any]) -> Callable[..., list[Any]]:
    lengths, solve = params["const_lengths"], jaxpr_as_fun(params["jaxprs"].solve)
    before, count = lengths.matvec + lengths.vecmat, sum(lengths)
    return lambda *operands: solve(*operands[before : before + lengths.solve], *operands[count:])


def branch_of_cpu(platforms: Any) -> int:
    named = next(
        (place for place, names in enumerate(platforms) if names is not None and "cpu" in names), None
    )
    return platforms.index(None) if named is None else named


# ------------------------------------------------------------------------------------- linear solves
def solve_with_gradients(params: dict[str, Any]) -> Callable[..., Any] | None:
    """Return a function that computes a linear solve with gradients, or None if the solver has a loop."""
    lengths = params["const_lengths"]
    before, count = lengths.matvec + lengths.vecmat, sum(lengths)
    solve, matvec = jaxpr_as_fun(params["jaxprs"].solve), jaxpr_as_fun(params["jaxprs"].matvec)
    # Iterations may divide by a residual, which is 0 in the steps below.
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


def holds_loop(program: Any) -> bool:
    return any(
        equation.primitive.name in ("while", "scan") or any(map(holds_loop, programs_in(equation.params)))
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


# ----------------------------------------------------------------------------------------------- error checks
# Callbacks into Python (``jax.pure_callback``), and error checks made of them, which become guards.

PURE = "pure_callback"
_CALL = "an error check (a branch whose results come from jax.pure_callback alone)"


@dataclass(frozen=True, eq=False)
class Callback(BoundPrimitive):
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
    """Return the index of the only branch whose results do not all come from ``jax.pure_callback``.

    If ``reader.checks``, append a guard that this branch is taken. Return None if the branches are no error
    check.
    """
    computing = [place for place, program in enumerate(branches) if not is_called_back(program)]
    if len(computing) != 1 or len(branches) == 1:
        return None
    (place,) = computing
    if reader.checks:
        # The branch is often in a library, so its expression would tell users less than what it is for.
        where = replace(origin, call=_CALL, instruction=None)
        reader.append(check(Guard(*is_taken(place), where), is_recorded=True))
    return place


def is_called_back(program: ClosedJaxpr) -> bool:
    """Return True if all results of ``program`` are found to depend on a ``jax.pure_callback`` in it."""
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
    # A literal, which depends on nothing, cannot be hashed.
    return bool(made) and all(not hasattr(atom, "val") and atom in made for atom in jaxpr.outvars)


def holds_checks(program: Any) -> bool:
    return any(
        equation.primitive.name == "cond" and any(map(is_called_back, equation.params["branches"]))
        or any(map(holds_checks, programs_in(equation.params)))
        for equation in program.eqns
    )  # fmt: skip


def _variables(equation: Any) -> list[Any]:
    return [atom for atom in equation.invars if not hasattr(atom, "val")]
