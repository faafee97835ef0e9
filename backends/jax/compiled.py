"""Flat functions compiled by ``jax.jit``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax._src import core
from jax._src.interpreters.partial_eval import DynamicJaxprTrace

from ...forwarding import forwards
from ..common.compiled_shapes import CompiledShapes, NewShape
from ..common.compilers import compiled_or_plain
from .packed import Packed
from .program_cache import PersistentCache, StoredPrograms


def compiled(
    function: Callable[..., Any],
    options: dict[str, Any],
    static: tuple[int, ...],
    text: str | None,
    by_default: bool,
) -> Callable[..., Any]:
    """Return ``function`` compiled by ``jax.jit``, once for each set of shapes and static values.

    ``static`` are the positions of static arguments, and ``options`` are those of ``jax.jit``. A function
    with data-dependent sizes, which XLA cannot compile, runs operation by operation. If ``by_default``, so
    does a call with a new shape after many others, and a call from a function that is itself compiled is
    inlined there. If ``text``, the whole source of the function, is given, lowered programs are cached
    between processes.

    Each operation rounds to its own dtype, as it does uncompiled. XLA's default would drop casts to half
    precision between two operations.
    """
    options = {**options, **({"static_argnums": static} if static else {})}
    exact = {
        **options,
        "compiler_options": {"xla_allow_excess_precision": False, **(options.get("compiler_options") or {})},
    }
    cache, programs, shapes = (
        PersistentCache(),
        StoredPrograms(function, text),
        CompiledShapes(function, by_default, static),
    )

    def jitted(traced: Callable[..., Packed], options: dict[str, Any]) -> Callable[..., Packed]:
        return jax.jit(functools.wraps(function)(cache.opened_by(traced)), **options)

    def counted(*args: Any) -> Packed:
        shapes.note(args)
        return programs.traced(*args)

    def plain(*args: Any) -> Packed:
        return Packed.of(function(*args))

    outermost, transformed, inside = jitted(counted, exact), jitted(plain, exact), jitted(plain, options)

    # The program may call back into the user's Python.
    @forwards
    def call(*args: Any) -> Any:
        try:
            # A stored program has no derivative and no batching rule, so it is not used inside of a
            # transformation.
            if not core.trace_state_clean():
                return (
                    function(*args)
                    if by_default and _is_staged(args, static)
                    else transformed(*args).unpacked()
                )
            if programs.are_for_another_platform:
                return transformed(*args).unpacked()
            result = outermost(*args).unpacked()
        except NewShape:
            return function(*args)
        except (ValueError, RuntimeError) as problem:
            # The stored program is for another platform, such as a GPU that is no longer the default device.
            if "was exported for" in str(problem):
                programs.are_for_another_platform = True
                return transformed(*args).unpacked()
            if _holds_deleted(args) or "incompatible devices" in str(problem):
                # Run uncompiled, so that the operation that reads the array raises at its
                # line.
                return function(*args)
            if "top-level" not in str(problem):
                raise
            # Compiler options are those of the enclosing compiled function.
            return inside(*args).unpacked()
        if shapes.message is not None:
            shapes.warn()
        return result

    return compiled_or_plain(
        cache.closed_after(call),
        function,
        _why_not_compiled,
        "jax.jit",
        shapes.describe,
        is_wanted=not by_default,
    )


def _is_staged(args: tuple[Any, ...], static: tuple[int, ...]) -> bool:
    """Return True if JAX traces an enclosing program, or if an argument at ``static`` is no Python number."""
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, DynamicJaxprTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None or any(not isinstance(args[place], (bool, int, float)) for place in static)


def _holds_deleted(args: tuple[Any, ...]) -> bool:
    arrays = [
        leaf
        for leaf in jax.tree.leaves(args)
        if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    ]
    return any(array.is_deleted() for array in arrays)


def _why_not_compiled(problem: Exception) -> str | None:
    of_elements = isinstance(
        problem, (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError)
    )
    return "a size in it depends on the elements of an array" if of_elements else None
