"""``lax.fori_loop`` to a size that is symbolic: JAX asks for the number of steps, and would record a loop for that number alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax

from ...sizes import Size, apply
from .sizes import expression_of, is_symbolic, symbolic


def counted(original: Callable[..., Any]) -> Callable[..., Any]:
    """``fori_loop`` that is a ``scan`` where an end is symbolic, as JAX's own is where both are numbers: reverse mode goes through it."""
    thread = threading.get_ident()

    def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: Any = None) -> Any:
        if threading.get_ident() != thread or not (is_symbolic(lower) or is_symbolic(upper)) or not all(map(_is_known, (lower, upper))):
            return original(lower, upper, body_fun, init_val, unroll=unroll)
        length = expression_of(upper) - expression_of(lower)
        if isinstance(length, Size) and not (type(lower) is int and lower == 0):  # a size is never negative, a difference may be
            length = apply("max", length, 0)

        first = jax.numpy.asarray(lower)
        steps = jax.lax.iota(first.dtype, symbolic(length) if isinstance(length, Size) else max(length, 0))
        steps = steps if type(lower) is int and lower == 0 else first + steps
        last, _ = jax.lax.scan(lambda held, i: (body_fun(_weak(i), held), None), init_val, steps)
        return last

    return fori_loop


def _is_known(item: Any) -> bool:
    return is_symbolic(item) or type(item) is int


def _weak(i: Any) -> Any:
    """The counter, which takes the type of an array beside it as a number of Python's does."""
    return jax.lax.convert_element_type_p.bind(i, new_dtype=i.dtype, weak_type=True, sharding=None)
