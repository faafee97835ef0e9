"""Derivatives and vectorisation in JAX by ``jax.vjp``, ``jax.jvp``, ``jax.vmap`` and ``jax.checkpoint``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jax._src import core
from jax._src.traceback_util import api_boundary
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import Literal

from ...contracts.derivatives import Arrays, Derivatives, Function, Policy, Step, VmapSpec
from ...forwarding import forward
from ...recording.faults import is_fault
from .native import is_without_forward_mode, target

log = logging.getLogger("graph_compiler")
_EXPENSIVE = frozenset({"conv_general_dilated", "dot_general", "fft", "ragged_dot", "scan", "sort", "while"})
_INLINED = frozenset({"jit", "pjit", "closed_call", "core_call"})
_KEPT = "kept by the minimum cut"


def checkpoint_by_min_cut(function: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    """Wrap ``function`` in ``jax.checkpoint`` so that it saves what :func:`variables_to_save` selects."""

    def of_arrays(*arrays: Any) -> Any:
        closed = jax.make_jaxpr(function)(*arrays)
        kept = variables_to_save(closed.jaxpr)

        def run(*arrays: Any) -> Any:
            return _evaluated(closed.jaxpr, closed.consts, arrays, kept)

        return jax.checkpoint(run, policy=jax.checkpoint_policies.save_only_these_names(_KEPT))(*arrays)

    return of_arrays


def variables_to_save(program: Any) -> set[Any]:
    """Select the variables of the jaxpr ``program`` to save for the backward pass.

    The selection is a minimum cut, in bytes, between values that need no recomputation and those that the
    backward pass may read. Inputs and constants of ``program`` are left out.
    """
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
        if isinstance(node, tuple)
        and node[0] == "in"
        and ("out", node[1]) not in reached
        and node[1] not in free
    }


def _follow(flow: Any, program: Any, outside: dict[Any, Any]) -> None:
    """Add the equations of the jaxpr ``program``, and of calls in it that are inlined, to ``flow``.

    ``outside`` maps variables to those that replace them in ``flow``. Inlined calls add entries to it.
    """
    for equation in program.eqns:
        operands = [outside.get(item, item) for item in equation.invars if not isinstance(item, Literal)]
        if equation.primitive.name in _INLINED and (inner := _inner(equation)) is not None:
            given = [
                item if isinstance(item, Literal) else outside.get(item, item) for item in equation.invars
            ]
            within = {new: old for new, old in zip(inner.invars, given) if not isinstance(old, Literal)}
            _follow(flow, inner, within)
            outside.update(
                (new, within.get(old, old))
                for new, old in zip(equation.outvars, inner.outvars)
                if not isinstance(old, Literal)
            )
            continue
        for made in equation.outvars:
            _cost(flow, made, made.aval.size * made.aval.dtype.itemsize if hasattr(made.aval, "size") else 0)
            # The result of an expensive operation counts as given, so that it is never computed again.
            if equation.primitive.name in _EXPENSIVE:
                flow.add_edge("given", ("in", made))
            for operand in operands:
                flow.add_edge(("out", operand), ("in", made))
        for operand in _read_backward(equation, outside):
            flow.add_edge(("out", operand), "backward")


def _cost(flow: Any, variable: Any, size: int) -> None:
    flow.add_edge(("in", variable), ("out", variable), capacity=size)


# JAX removes its frames from tracebacks when an exception leaves the outermost of its functions, and
# ``is_fault`` needs them.
@api_boundary
def _read_backward(equation: Any, outside: dict[Any, Any]) -> list[Any]:
    """Return the operands whose values the derivative of ``equation`` may read."""
    inexact = [
        jax.numpy.issubdtype(getattr(item.aval, "dtype", int), jax.numpy.inexact) for item in equation.invars
    ]
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
    # JAX, and rules of the user, may raise any exception if an equation is traced alone. All operands count
    # as read then.
    except Exception as problem:
        if is_fault(problem):
            raise
        log.debug("the derivative of %s is taken to read all its operands: %s", equation.primitive, problem)
        return [outside.get(item, item) for item in equation.invars if not isinstance(item, Literal)]
    read = _needed(traced)
    pairs = zip(equation.invars, traced.invars)
    return [
        outside.get(item, item) for item, inner in pairs if inner in read and not isinstance(item, Literal)
    ]


def _needed(program: Any) -> set[Any]:
    needed = {item for item in program.outvars if not isinstance(item, Literal)}
    for equation in reversed(program.eqns):
        if needed.intersection(equation.outvars):
            needed.update(item for item in equation.invars if not isinstance(item, Literal))
    return needed


def _inner(equation: Any) -> Any:
    found = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
    program = getattr(found, "jaxpr", found)
    has_constants = bool(getattr(found, "consts", None))
    return None if program is None or has_constants else program


def _evaluated(program: Any, constants: Sequence[Any], arrays: Sequence[Any], kept: set[Any]) -> list[Any]:
    """Evaluate the jaxpr ``program``, and name the values of the variables ``kept`` for the checkpoint."""
    known = dict(zip((*program.constvars, *program.invars), (*constants, *arrays)))

    def read(item: Any) -> Any:
        return item.val if isinstance(item, Literal) else known[item]

    for equation in program.eqns:
        operands = list(map(read, equation.invars))
        if equation.primitive.name in _INLINED and (inner := _inner(equation)) is not None:
            made = _evaluated(inner, (), operands, kept)
        else:
            bound = _bound(equation, operands)
            made = list(bound) if equation.primitive.multiple_results else [bound]
        known.update(
            (item, checkpoint_name(array, _KEPT) if item in kept else array)
            for item, array in zip(equation.outvars, made)
        )
    return list(map(read, program.outvars))


def _bound(equation: Any, operands: Sequence[Any]) -> Any:
    return equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))


_POLICIES = {
    "nothing": jax.checkpoint_policies.nothing_saveable,
    "dots": jax.checkpoint_policies.dots_saveable,
    "everything": jax.checkpoint_policies.everything_saveable,
}


class JaxDerivatives(Derivatives):
    compile_options: ClassVar[dict[str, Any]] = {}

    def array(self, item: Any) -> Any:
        return (
            jnp.asarray(item)
            if isinstance(item, (bool, int, float, complex, np.generic))
            else target.convert(item)
        )

    def owns(self, item: Any) -> bool:
        return isinstance(item, jax.Array)

    def keeps_derivative(self, item: Any) -> bool:
        return isinstance(item, (jax.Array, np.ndarray, np.generic, bool, int, float, complex))

    def is_traced(self, array: Any) -> bool:
        return isinstance(array, jax.core.Tracer)

    def allow_64_bits(self) -> AbstractContextManager[Any]:
        return jax.enable_x64(True)

    def placed(self, array: Any, device: Any) -> Any:
        if isinstance(device, str):
            platform, _, place = device.partition(":")
            number = int(place or 0)
            if number < 0:
                raise ValueError(f"there is no device {device}")
            try:
                device = jax.devices(platform)[number]
            except (RuntimeError, IndexError) as problem:
                raise ValueError(str(problem).splitlines()[0]) from problem
        return jax.device_put(array, device)

    def cast(self, array: Any, like: Any) -> Any:
        return array.astype(like.dtype)

    def is_differentiable(self, array: Any) -> bool:
        return bool(jnp.issubdtype(array.dtype, jnp.inexact))

    def is_complex(self, array: Any) -> bool:
        return bool(jnp.issubdtype(array.dtype, jnp.complexfloating))

    def conjugate(self, array: Any) -> Any:
        return jnp.conj(array) if self.is_complex(array) else array

    def zeros_like(self, array: Any, leading: Sequence[int] = ()) -> Any:
        return jnp.zeros((*leading, *array.shape), array.dtype)

    def basis(self, array: Any) -> Any:
        return jnp.eye(array.size, dtype=array.dtype).reshape(array.size, *array.shape)

    def split(self, array: Any, axis: int, like: Any) -> Any:
        return array.reshape(
            (*like.shape, *array.shape[1:]) if axis == 0 else (*array.shape[:-1], *like.shape)
        )

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        return jnp.moveaxis(array, source, destination)

    def stop_gradient(self, array: Any) -> Any:
        return jax.lax.stop_gradient(array)

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        return array.reshape(shape)

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        return jnp.concatenate(arrays)

    def scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        last, outputs = jax.lax.scan(
            jax.checkpoint(step) if checkpoint else step, list(map(jnp.asarray, state)), rows
        )
        return last, outputs

    def vjp(self, function: Function, primals: Arrays) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        # ``jax.vjp`` returns the transpose instead of the adjoint, so cotangents and gradients are
        # conjugated.
        results, pull, aux = jax.vjp(lambda *arrays: function(list(arrays)), *primals, has_aux=True)

        def conjugated(cotangents: Arrays) -> Arrays:
            return [self.conjugate(array) for array in pull([self.conjugate(array) for array in cotangents])]

        return results, aux, conjugated

    def jvp(self, function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        try:
            results, out, aux = jax.jvp(
                lambda *arrays: function(list(arrays)), tuple(primals), tuple(tangents), has_aux=True
            )
        except (TypeError, NotImplementedError) as problem:
            results, aux, push = self._twice_reversed(function, primals, problem)
            return results, aux, push(tangents)
        return results, aux, out

    def linearize(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        results, push, aux = jax.linearize(lambda *arrays: function(list(arrays)), *primals, has_aux=True)

        # JAX reports a missing forward mode only when the linear function is called.
        def pushed(tangents: Arrays) -> Arrays:
            try:
                return list(push(*tangents))
            except (TypeError, NotImplementedError) as problem:
                return self._twice_reversed(function, primals, problem)[2](tangents)

        return results, aux, pushed

    def _twice_reversed(
        self, function: Function, primals: Arrays, problem: Exception
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Return the results, the auxiliary arrays and the JVP function, by double reverse mode.

        Raise ``problem`` unless it reports a missing forward mode.
        """
        if not is_without_forward_mode(problem):
            raise problem
        results, aux, pull = self.vjp(function, primals)
        # The VJP is linear in its cotangents, so its own VJP is the JVP.
        _, _, push = self.vjp(lambda cotangents: (pull(cotangents), []), list(map(jnp.ones_like, results)))
        return results, aux, push

    def is_missing_derivative(self, problem: Exception) -> bool:
        # JAX has no exception class for this, so the words of its messages decide.
        words = ("ifferentiation", "gradients are only implemented")
        return isinstance(problem, (NotImplementedError, ValueError)) and any(
            word in str(problem) for word in words
        )

    def vmap(self, function: Callable[[Arrays], Arrays], how: VmapSpec) -> Callable[[Arrays], Arrays]:
        def over_rows(arrays: Arrays) -> Arrays:
            outside = core.trace_ctx.trace

            def next_key() -> Any:
                # A key drawn within ``jax.vmap`` would be one of its tracers, and would stay in the target's
                # sequence after it.
                with core.set_current_trace(outside):
                    return target.next_key(arrays)

            def given(place: Any, *rows: Any) -> Arrays:
                with target.of_slices.drawing(
                    how.randomness, next_key, lambda key: jax.random.fold_in(key, place)
                ):
                    return function(list(rows))

            mapped = jax.vmap(given, in_axes=(0, *how.axes), axis_size=how.size, axis_name=how.axis_name)
            return list(forward(mapped, jnp.arange(how.size), *arrays))

        return over_rows

    def named(self, array: Any, name: str) -> Any:
        return checkpoint_name(array, name)

    def checkpoint(self, function: Callable[[Arrays], Arrays], policy: Policy) -> Callable[[Arrays], Arrays]:
        given = lambda *arrays: function(list(arrays))  # noqa: E731
        if policy == "min_cut":
            wrapped = checkpoint_by_min_cut(given)
        else:
            names = jax.checkpoint_policies.save_only_these_names
            wrapped = jax.checkpoint(
                given, policy=_POLICIES[policy] if isinstance(policy, str) else names(*policy)
            )
        return lambda arrays: list(wrapped(*arrays))


derivatives = JaxDerivatives()
