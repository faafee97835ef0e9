"""Reductions and running statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from .....ops.dtypes import is_complex, is_integer
from ....bits import reduced_bits
from ..table import JaxBuilder, rows, tupled
from .sorting import ordering


def over(axes: Any) -> Any:
    """Axes as the vocabulary has them: an int where there is one."""
    axes = tupled(axes)
    return axes[0] if len(axes) == 1 else axes


def _accumulate(name: str) -> Callable[..., Any]:
    """Over ``axes``, in the type of ``x``."""

    def row(b: JaxBuilder, x: Any, *, axes: Any, **_: Any) -> Any:
        if not tuple(axes):
            return x
        return getattr(b, name)(x, axis=over(axes), dtype=x.dtype if is_integer(x.dtype) else None)

    return row


def _extreme(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axes: Any, **_: Any) -> Any:
        if not tuple(axes):
            return x
        if x.dtype == "bool":
            return (b.any if name == "max" else b.all)(x, axis=over(axes))
        if is_complex(x.dtype):
            return _complex_extreme(b, x, name, over(axes))
        return getattr(b, name)(x, axis=over(axes))

    return row


def _complex_extreme(b: JaxBuilder, x: Value, name: str, axis: Any) -> Any:
    """The extreme real part, and among the numbers that have it the extreme imaginary one."""
    reduced, real, imag = getattr(b, name), b.real(x), b.imag(x)
    found = reduced(real, axis=axis)
    others = b.where(b.equal(real, reduced(real, axis=axis, keepdims=True)), imag, -math.inf if name == "max" else math.inf)
    return b.complex(found, reduced(others, axis=axis))


def _collective(reduced: Callable[..., Any]) -> Callable[..., Any]:
    """Over the named axis of a ``vmap``, which is one of the array's by now."""

    def row(b: JaxBuilder, x: Any, *, axes: Any, axis_index_groups: Any = None, **_: Any) -> Any:
        if axis_index_groups is not None or any(isinstance(axis, str) for axis in axes):
            raise NotImplementedError("a collective operation over groups, or over the devices of a mesh")
        return reduced(b, x, axes=axes)

    return row


def _bitwise(name: str) -> Callable[..., Any]:
    """Of truth values, or of the bits of integers."""

    def row(b: JaxBuilder, x: Any, *, axes: Any, **_: Any) -> Any:
        if not tuple(axes):
            return x
        if x.dtype != "bool":
            return reduced_bits(b, x, name, tupled(axes))
        if name == "xor":
            return b.equal(b.remainder(b.sum(x, axis=over(axes), dtype="int32"), 2), 1)
        return (b.any if name == "or" else b.all)(x, axis=over(axes))

    return row


def _index(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axes: Any, index_dtype: Any) -> Any:
        values = b.astype(x, dtype="uint8") if x.dtype == "bool" else x
        return b.astype(getattr(b, name)(values, axis=over(axes)), dtype=b.result.dtype)

    return row


def _complex_running(b: JaxBuilder, x: Value, name: str, axis: int) -> Any:
    """Of the places that the numbers have in their order, and the numbers at these places."""
    if name == "logcumsumexp":
        return b.logcumsumexp(x, axis=axis)
    order = ordering(b, [x], axis)
    places, _ = getattr(b, name)(b.argsort(order, axis=axis), axis=axis)
    return b.take_along_axis(b.take_along_axis(x, order, axis=axis), places, axis=axis)


def _running(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axis: int, reverse: bool) -> Any:
        x = b.flip(x, axis=int(axis)) if reverse else x
        if name.startswith("cumulative"):
            result = getattr(b, name)(x, axis=int(axis), dtype=x.dtype if is_integer(x.dtype) else None)
        elif is_complex(x.dtype):
            result = _complex_running(b, x, name, int(axis))
        else:
            result = getattr(b, name)(x, axis=int(axis))
        result = result[0] if isinstance(result, tuple) else result
        return b.flip(result, axis=int(axis)) if reverse else result

    return row


rows.row("reduce_sum_p")(_accumulate("sum"))
rows.row("reduce_prod_p")(_accumulate("prod"))
rows.row("reduce_max_p")(_extreme("max"))
rows.row("reduce_min_p")(_extreme("min"))
for _name, _reduced in (("psum", _accumulate("sum")), ("pmax", _extreme("max")), ("pmin", _extreme("min"))):
    rows.row(f"{_name}_p")(_collective(_reduced))
for _name in ("or", "and", "xor"):
    rows.row(f"reduce_{_name}_p")(_bitwise(_name))
rows.row("argmax_p")(_index("argmax"))
rows.row("argmin_p")(_index("argmin"))
rows.row("cumsum_p")(_running("cumulative_sum"))
rows.row("cumprod_p")(_running("cumulative_prod"))
rows.row("cummax_p")(_running("cummax"))
rows.row("cummin_p")(_running("cummin"))
rows.row("cumlogsumexp_p")(_running("logcumsumexp"))
