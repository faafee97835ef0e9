"""Operations whose own derivatives multiply what is zero with what is infinite, written in others that :mod:`.strong_zero` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.node import Node, Value
from ..ops.dtypes import is_complex, is_floating
from ..sizes import product

Form = Callable[..., Any]


def form_of(node: Node) -> Form | None:
    """What writes the operation with a builder, for these operands; None where it stays."""
    form = _FORMS.get(node.op)
    if form is None or not all(isinstance(item, Value) for item in node.inputs):
        return None
    wanted = is_complex if node.op == "abs" else is_floating
    return form if all(wanted(item.dtype) for item in node.inputs) and _is_written(node) else None


def _is_written(node: Node) -> bool:
    return not node.params.get("first", False) and node.params.get("correction", 0) in (0, 1)


def _of_complex(b: Any, out: Value, z: Any, **sides: Any) -> Any:
    """The length of its parts, with the slope 0 where that is 0."""
    real, is_zero = b.real(z), b.equal(z, 0)
    return b.where(is_zero, 0.0, b.hypot(b.where(is_zero, 1.0, real), b.imag(z)))


def _extreme(name: str) -> Form:
    """The elements that are the extreme share a tangent, by a selection: the others have no slope of 0 that it could meet."""

    def form(b: Any, out: Value, x: Any, *, axis: Any, keepdims: bool, first: bool) -> Any:
        fixed = b.stop_gradient(x)
        hits = b.equal(fixed, getattr(b, name)(fixed, axis=axis, keepdims=True))
        total = b.sum(b.where(hits, x, 0.0), axis=axis, keepdims=keepdims)
        shared = b.divide(total, b.sum(b.astype(hits, dtype=x.dtype), axis=axis, keepdims=keepdims))
        return b.with_gradient(getattr(b, name)(fixed, axis=axis, keepdims=keepdims), shared, b.ones(shape=out.shape, dtype=out.dtype))

    return form


def _variance(b: Any, out: Value, x: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    squares = b.square(b.subtract(x, b.mean(x, axis=axis, keepdims=True)))
    if not correction:
        return b.mean(squares, axis=axis, keepdims=keepdims)
    return b.divide(b.sum(squares, axis=axis, keepdims=keepdims), product(x.shape[place] for place in axes) - 1)


def _times_logarithm(name: str, logarithm: str) -> Form:
    """``x * log(y)``, which is 0 where ``x`` is; the operation itself where they are no numbers or ``x`` is infinite."""

    def form(b: Any, out: Value, *operands: Any) -> Any:
        x, y = (item if item.shape == out.shape else b.broadcast_to(item, shape=out.shape) for item in operands)
        is_regular = b.logical_and(b.isfinite(x), b.logical_not(b.isnan(y)))
        return b.where(is_regular, b.strong_product(x, getattr(b, logarithm)(y)), getattr(b, name)(x, y))

    return form


_FORMS: dict[str, Form] = {
    "abs": _of_complex,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "var": _variance,
    "xlog1py": _times_logarithm("xlog1py", "log1p"),
    "xlogy": _times_logarithm("xlogy", "log"),
}
