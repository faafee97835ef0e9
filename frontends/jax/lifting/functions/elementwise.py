"""Element-wise functions that JAX computes in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ops.dtypes import is_floating
from ..table import JaxBuilder, rows

_MOST_STEPS = 64


def _of_integers(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x1: Any, x2: Any) -> Any:
        if "int" not in b.result.dtype:
            raise NotImplementedError
        return getattr(b, name)(b.as_result(x1), b.as_result(x2))

    return row


rows.row("jax.numpy.gcd")(_of_integers("gcd"))
rows.row("jax.numpy.lcm")(_of_integers("lcm"))


def _of_floats(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x1: Any, x2: Any) -> Any:
        if not is_floating(b.result.dtype):
            raise NotImplementedError
        return getattr(b, name)(b.as_result(x1), b.as_result(x2))

    return row


rows.row("jax.numpy.logaddexp")(_of_floats("logaddexp"))
rows.row("jax.numpy.logaddexp2")(_of_floats("logaddexp2"))


@rows.row("jax.numpy.sinc")
def sinc(b: JaxBuilder, x: Any) -> Any:
    """jax.numpy.sinc of floats, with derivatives of all orders at 0."""
    if not is_floating(b.result.dtype):
        raise NotImplementedError
    return b.sinc(b.as_result(x))


@rows.row("jax.numpy.polyval")
def polyval(b: JaxBuilder, p: Any, x: Any, *, unroll: int = 16) -> Any:
    """jax.numpy.polyval of a vector of coefficients, whose number is fixed: Horner's scheme."""
    if p.ndim != 1:
        raise NotImplementedError
    count = b.fix(p.shape[0])
    if not 0 < count <= _MOST_STEPS:
        raise NotImplementedError
    p, x = b.as_result(p), b.as_result(x)
    value = b.broadcast_to(b.getitem(p, key=(0,)), shape=x.shape)
    for place in range(1, count):
        value = b.add(b.multiply(value, x), b.getitem(p, key=(place,)))
    return value
