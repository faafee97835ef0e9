"""Which intermediate results a gradient keeps so that it keeps the fewest bytes, and computes no product of matrices twice: a minimum cut
between what is given, or too dear to be computed again, and what the backward pass reads (as in torch's AOTAutograd)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import networkx as nx
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import Literal

_DEAR = frozenset({"conv_general_dilated", "dot_general", "fft", "ragged_dot", "scan", "sort", "while"})
_OPENED = frozenset({"jit", "pjit", "closed_call", "core_call"})
_KEPT = "kept by the minimum cut"


def with_least_kept(function: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    """The function under ``jax.checkpoint``, which keeps what the minimum cut says."""

    def of_arrays(*arrays: Any) -> Any:
        closed = jax.make_jaxpr(function)(*arrays)
        kept = kept_of(closed.jaxpr)

        def run(*arrays: Any) -> Any:
            return _evaluated(closed.jaxpr, closed.consts, arrays, kept)

        return jax.checkpoint(run, policy=jax.checkpoint_policies.save_only_these_names(_KEPT))(*arrays)

    return of_arrays


def kept_of(program: Any) -> set[Any]:
    """The variables of a program that are kept, those of programs inside of it too."""
    flow = nx.DiGraph()
    flow.add_nodes_from(("given", "backward"))
    for variable in (*program.invars, *program.constvars):
        _cost(flow, variable, 0)
        flow.add_edge("given", ("in", variable))
    _follow(flow, program, {})
    _, (reached, _) = nx.minimum_cut(flow, "given", "backward")
    free = {*program.invars, *program.constvars}
    return {
        node[1]
        for node in reached
        if isinstance(node, tuple) and node[0] == "in" and ("out", node[1]) not in reached and node[1] not in free
    }


def _follow(flow: Any, program: Any, outside: dict[Any, Any]) -> None:
    """Adds the equations of a program; ``outside`` are the variables that those of an inner program stand for."""
    for equation in program.eqns:
        operands = [outside.get(item, item) for item in equation.invars if not isinstance(item, Literal)]
        if equation.primitive.name in _OPENED and (inner := _inner(equation)) is not None:
            given = [item if isinstance(item, Literal) else outside.get(item, item) for item in equation.invars]
            within = {new: old for new, old in zip(inner.invars, given) if not isinstance(old, Literal)}
            _follow(flow, inner, within)
            outside.update((new, within.get(old, old)) for new, old in zip(equation.outvars, inner.outvars) if not isinstance(old, Literal))
            continue
        for made in equation.outvars:
            _cost(flow, made, made.aval.size * made.aval.dtype.itemsize if hasattr(made.aval, "size") else 0)
            if equation.primitive.name in _DEAR:
                flow.add_edge("given", ("in", made))
            for operand in operands:
                flow.add_edge(("out", operand), ("in", made))
        for operand in _read_backward(equation, outside):
            flow.add_edge(("out", operand), "backward")


def _cost(flow: Any, variable: Any, size: int) -> None:
    flow.add_edge(("in", variable), ("out", variable), capacity=size)


def _read_backward(equation: Any, outside: dict[Any, Any]) -> list[Any]:
    """The operands whose elements the derivative of an equation is made of."""
    inexact = [jax.numpy.issubdtype(getattr(item.aval, "dtype", int), jax.numpy.inexact) for item in equation.invars]
    if not any(inexact):
        return []
    places = [place for place, has in enumerate(inexact) if has]
    shapes = [jax.ShapeDtypeStruct(item.aval.shape, item.aval.dtype) for item in equation.invars]

    def tangents(primals: Any, given: Any) -> Any:
        def of_inexact(*arrays: Any) -> Any:
            whole = dict(zip(places, arrays))
            return _bound(equation, [whole.get(place, item) for place, item in enumerate(primals)])

        return jax.jvp(of_inexact, tuple(primals[place] for place in places), tuple(given))[1]

    try:
        traced = jax.make_jaxpr(tangents)(shapes, [shapes[place] for place in places]).jaxpr
    # JAX and rules of the user may refuse to trace an equation alone by any exception: then everything is read.
    except Exception:
        return [outside.get(item, item) for item in equation.invars if not isinstance(item, Literal)]
    read = _needed(traced)
    pairs = zip(equation.invars, traced.invars)
    return [outside.get(item, item) for item, inner in pairs if inner in read and not isinstance(item, Literal)]


def _needed(program: Any) -> set[Any]:
    """The variables that the results of a program depend on."""
    needed = {item for item in program.outvars if not isinstance(item, Literal)}
    for equation in reversed(program.eqns):
        if needed.intersection(equation.outvars):
            needed.update(item for item in equation.invars if not isinstance(item, Literal))
    return needed


def _inner(equation: Any) -> Any:
    """The program of a call, where it closes over no constants."""
    found = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
    program = getattr(found, "jaxpr", found)
    has_constants = bool(getattr(found, "consts", None))
    return None if program is None or has_constants else program


def _evaluated(program: Any, constants: Sequence[Any], arrays: Sequence[Any], kept: set[Any]) -> list[Any]:
    """The results of a program, whose kept values have the name that is kept."""
    known = dict(zip((*program.constvars, *program.invars), (*constants, *arrays)))

    def read(item: Any) -> Any:
        return item.val if isinstance(item, Literal) else known[item]

    for equation in program.eqns:
        operands = list(map(read, equation.invars))
        if equation.primitive.name in _OPENED and (inner := _inner(equation)) is not None:
            made = _evaluated(inner, (), operands, kept)
        else:
            bound = _bound(equation, operands)
            made = list(bound) if equation.primitive.multiple_results else [bound]
        known.update((item, checkpoint_name(array, _KEPT) if item in kept else array) for item, array in zip(equation.outvars, made))
    return list(map(read, program.outvars))


def _bound(equation: Any, operands: Sequence[Any]) -> Any:
    return equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
