"""Loops with a symbolic trip count (``lax.fori_loop`` to a size, ``lax.scan`` with ``length=``).

JAX itself would need the number, and record it as a constant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy

from ....forwarding import forward
from ....sizes import Size, apply, expression_of, is_symbolic
from ..sizes import decided, symbolic


def symbolic_fori_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``fori_loop`` that becomes a ``scan``, which has reverse mode, if a bound is symbolic.

    It calls ``original`` in other threads, and unless each bound is an int or symbolic. If ``upper`` is
    less than ``lower`` in the recorded call, there are no iterations; which is the case is guarded. The
    scan ignores ``unroll``.
    """
    thread = threading.get_ident()

    def fori_loop(
        lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: Any = None
    ) -> Any:
        if (
            # Patches replace the function for all threads, but only one is recorded.
            threading.get_ident() != thread
            or not (is_symbolic(lower) or is_symbolic(upper))
            or not all(map(_is_known, (lower, upper)))
        ):
            return forward(original, lower, upper, body_fun, init_val, unroll=unroll)
        length = expression_of(upper) - expression_of(lower)
        # A size is never negative, but a difference of sizes may be.
        is_size = type(lower) is int and lower == 0
        if not is_size and decided(apply("lt", length, 0) if isinstance(length, Size) else length < 0):
            length = 0
        first = jax.numpy.asarray(lower)
        steps = jax.lax.iota(first.dtype, symbolic(length))
        steps = steps if type(lower) is int and lower == 0 else first + steps
        last, _ = jax.lax.scan(lambda held, i: (body_fun(_weak(i), held), None), init_val, steps)
        return last

    return fori_loop


def symbolic_scan(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``scan`` that accepts a symbolic ``length``.

    Without sequences, it scans over an unused iota of that length. If all sequences have that length,
    ``length`` is omitted. Otherwise ``original`` gets ``length`` unchanged.
    """
    thread = threading.get_ident()

    def scan(
        f: Callable[[Any, Any], Any],
        init: Any,
        xs: Any = None,
        length: Any = None,
        reverse: bool = False,
        unroll: Any = 1,
        **options: Any,
    ) -> Any:
        if threading.get_ident() != thread or not is_symbolic(length):
            return forward(original, f, init, xs, length, reverse, unroll, **options)
        rows = jax.tree.leaves(xs)
        if not rows:
            steps = jax.lax.iota("int32", length)
            return forward(
                original, lambda held, _: f(held, xs), init, steps, None, reverse, unroll, **options
            )
        is_same = all(expression_of(numpy.shape(row)[0]) == expression_of(length) for row in rows)
        return forward(original, f, init, xs, None if is_same else length, reverse, unroll, **options)

    return scan


def _is_known(item: Any) -> bool:
    return is_symbolic(item) or type(item) is int


def _weak(i: Any) -> Any:
    # The index of JAX's own loop is weakly typed between int bounds, so `i * x` has the dtype of `x`. The
    # public function cannot set the weak type.
    return jax.lax.convert_element_type_p.bind(i, new_dtype=i.dtype, weak_type=True, sharding=None)
