"""Reductions by a function of the user's, where it is one operation that reductions are known of."""

from __future__ import annotations

import math
from typing import Any

from .....ir import Value
from ....slicing import cut
from ...combining import operation
from ..table import JaxBuilder, rows
from .shapes import spaced

# primitive of two elements -> the primitive that reduces with it, and the number that changes nothing
_KNOWN: dict[str, tuple[str, Any]] = {
    "add": ("reduce_sum_p", 0), "mul": ("reduce_prod_p", 1), "max": ("reduce_max_p", -math.inf), "min": ("reduce_min_p", math.inf),
    "and": ("reduce_and_p", -1), "or": ("reduce_or_p", 0), "xor": ("reduce_xor_p", 0),
}  # fmt: skip


def _operation(program: Any) -> str:
    found = operation(program)
    if found is None:
        raise NotImplementedError(
            "a reduction of windows of so many elements by a function that is none of add, mul, max, min, and, or, xor"
        )
    return found


def _row(name: str) -> Any:
    row = rows.get(name)
    assert row is not None
    return row


def _begun(b: JaxBuilder, found: Value, init: Any, name: str) -> Value:
    """A reduction that begins with a number."""
    if not isinstance(init, Value) and init == _KNOWN[name][1]:
        return found
    return _row(f"{name}_p")(b, found, b.operand(init, found.dtype))


@rows.row("reduce_p")
def reduce(b: JaxBuilder, x: Any, init: Any, *others: Any, jaxpr: Any, dimensions: Any, computation: Any = None, **_: Any) -> Any:
    """lax.reduce of one array."""
    name = _operation(jaxpr)
    return (_begun(b, _row(_KNOWN[name][0])(b, x, axes=dimensions), init, name),)


@rows.row("reduce_window_p")
def reduce_window(b: JaxBuilder, x: Any, init: Any, *others: Any, jaxpr: Any, consts: Any = (), **params: Any) -> Any:
    """lax.reduce_window of one array: each window begins with a number, and what lies outside of the array takes no part."""
    name = _operation(jaxpr)
    if name in ("max", "min"):
        found = _row(f"reduce_window_{name}_p")(b, x, **params)
    else:
        windows, axes = in_windows(b, x, _KNOWN[name][1], params)
        found = _row(_KNOWN[name][0])(b, windows, axes=axes)
    return (_begun(b, found, init, name),)


def in_windows(b: JaxBuilder, x: Value, outside: Any, params: dict[str, Any]) -> tuple[Value, tuple[int, ...]]:
    """The windows of an array, each along axes at the end, and these axes."""
    outside = b.operand(outside, x.dtype)
    x = spaced(b, x, outside, tuple(int(step) - 1 for step in params.get("base_dilation") or (1,) * x.ndim))
    x = b.pad(x, padding=tuple(map(tuple, params["padding"])), value=outside)
    rank, gaps = x.ndim, params.get("window_dilation") or (1,) * x.ndim
    for axis, (size, step, gap) in enumerate(zip(params["window_dimensions"], params["window_strides"], gaps)):
        x = b.sliding_window(x, axis=axis, size=(int(size) - 1) * int(gap) + 1)
        x = cut(b, cut(b, x, axis, None, None, int(step)), x.ndim - 1, None, None, int(gap))
    return x, tuple(range(rank, x.ndim))
