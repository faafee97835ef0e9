"""Rewrite a graph so that zero times infinity or NaN is zero in the derivatives of some operations.

The derivative of ``where(x > 0, log(x), 0)`` at 0 is ``0 * inf``, which is NaN, because ``where`` passes a
cotangent of 0 to the branch that was not taken. After :func:`strong_zero` it is 0. The operations in
``SINGULAR`` and ``FLAT``, whose derivatives may be infinite, NaN or zero, become calls with ``strong_zero``:
a product of a derivative and a tangent or cotangent is then zero if one of the two is. Of the operations on
complex arrays, only those in ``HOLOMORPHIC`` do. Functions with a custom derivative keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.node import Block, Node, Region, Value
from ..ir.rewrite import Rewriter
from ..ops.dtypes import is_complex, is_floating
from ..sizes import product

Form = Callable[..., Any]


def form_of(node: Node) -> Form | None:
    """Return a function that builds the result of ``node`` from operations that the pass handles, or None.

    The function is called as ``form(build, output, *operands, **params)``.
    """
    form = _FORMS.get(node.op)
    if form is None or not all(isinstance(item, Value) for item in node.inputs):
        return None
    wanted = is_complex if node.op == "abs" else is_floating
    return form if all(wanted(item.dtype) for item in node.inputs) and _is_supported(node) else None


def _is_supported(node: Node) -> bool:
    return not node.params.get("first", False) and node.params.get("correction", 0) in (0, 1)


def _complex_abs(b: Any, out: Value, z: Any, **sides: Any) -> Any:
    real, is_zero = b.real(z), b.equal(z, 0)
    return b.where(is_zero, 0.0, b.hypot(b.where(is_zero, 1.0, real), b.imag(z)))


def _extreme(name: str) -> Form:
    # The derivative is that of a sum over ``where``, so it multiplies no tangent by 0.
    def form(b: Any, out: Value, x: Any, *, axis: Any, keepdims: bool, first: bool) -> Any:
        fixed = b.stop_gradient(x)
        hits = b.equal(fixed, getattr(b, name)(fixed, axis=axis, keepdims=True))
        total = b.sum(b.where(hits, x, 0.0), axis=axis, keepdims=keepdims)
        shared = b.divide(total, b.sum(b.astype(hits, dtype=x.dtype), axis=axis, keepdims=keepdims))
        return b.with_gradient(
            getattr(b, name)(fixed, axis=axis, keepdims=keepdims),
            shared,
            b.ones(shape=out.shape, dtype=out.dtype),
        )

    return form


def _variance(b: Any, out: Value, x: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    squares = b.square(b.subtract(x, b.mean(x, axis=axis, keepdims=True)))
    if not correction:
        return b.mean(squares, axis=axis, keepdims=keepdims)
    return b.divide(
        b.sum(squares, axis=axis, keepdims=keepdims), product(x.shape[place] for place in axes) - 1
    )


def _times_logarithm(name: str, logarithm: str) -> Form:
    def form(b: Any, out: Value, *operands: Any) -> Any:
        x, y = (
            item if item.shape == out.shape else b.broadcast_to(item, shape=out.shape) for item in operands
        )
        is_regular = b.logical_and(b.isfinite(x), b.logical_not(b.isnan(y)))
        return b.where(is_regular, b.strong_product(x, getattr(b, logarithm)(y)), getattr(b, name)(x, y))

    return form


_FORMS: dict[str, Form] = {
    "abs": _complex_abs,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "var": _variance,
    "xlog1py": _times_logarithm("xlog1py", "log1p"),
    "xlogy": _times_logarithm("xlogy", "log"),
}


SINGULAR = frozenset({
    "acos", "acosh", "asin", "atan2", "atanh", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e",
    "bessel_y0", "bessel_y1", "betainc", "cosh", "digamma", "divide", "entr", "erfcx", "erfinv", "exp",
    "exp2", "expm1", "gammainc", "gammaincc", "hypot", "i0", "i1", "lgamma", "log", "log10", "log1p", "log2",
    "log_ndtr", "logaddexp", "logaddexp2", "logit", "multiply", "ndtri", "polygamma", "pow", "reciprocal",
    "rsqrt", "sinh", "sqrt", "square", "tan", "xlog1py", "xlogy", "zeta",
})  # fmt: skip
# Operations with derivative 0 somewhere, which an infinite cotangent may meet: `sqrt(relu(x))` at 0.
FLAT = frozenset({
    "abs", "airy_ai", "asinh", "atan", "bessel_j0", "bessel_j1", "celu", "clip", "cos", "elu", "erf", "erfc",
    "fmax", "fmin", "fmod", "gelu", "hard_shrink", "hard_sigmoid", "hard_swish", "hard_tanh", "i0e", "i1e",
    "leaky_relu", "log_sigmoid", "maximum", "minimum", "mish", "nan_to_num", "ndtr", "relu", "relu6",
    "remainder", "selu", "sigmoid", "silu", "sin", "sinc", "soft_shrink", "soft_sign", "softplus",
    "spherical_bessel_j0", "tanh", "threshold",
})  # fmt: skip
HOLOMORPHIC = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "divide", "exp", "exp2", "expm1", "log",
    "log10", "log1p", "log2", "multiply", "pow", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt",
    "square", "tan", "tanh",
})  # fmt: skip


def strong_zero(graph: Graph) -> tuple[Graph, bool]:
    """Rewrite a canonical graph so that zero times infinity or NaN is zero in derivatives of some operations.

    Return ``(graph, changed)``. ``compile(..., passes=[strong_zero])`` and ``graph.with_passes(strong_zero)``
    run this pass.
    """
    block = graph.block
    made = _rewritten_block(block)
    return (graph, False) if made is block else (graph.with_block(made), True)


def _rewritten_block(block: Block) -> Block:
    rewriter = Rewriter(block)
    for old in block.nodes:
        node = _with_strong_regions(rewriter.rewritten(old))
        parts, result = _expanded(node, rewriter)
        for one in parts:
            part = rewriter.rewritten(one)
            if _is_singular(part):
                rewriter.replace(part.outputs, _wrapped_in_call(part, rewriter))
            else:
                rewriter.append(part)
        if result is not None:
            rewriter.replace(node.outputs, (rewriter.value(result),))
    return rewriter.finish()


def _expanded(node: Node, rewriter: Rewriter) -> tuple[Sequence[Node], Value | None]:
    """Return the nodes that replace ``node``, and their result; the node itself and None if it stays."""
    form = form_of(node)
    if form is None:
        return (node,), None
    scratch = Graph("scratch", "canonical")
    result: Value = form(
        Builder(scratch, node.origin, rewriter.maker), node.outputs[0], *node.inputs, **node.params
    )
    result.name = node.outputs[0].name
    return scratch.nodes, result


def _with_strong_regions(node: Node) -> Node:
    # The user's rule is the derivative, so the code that it replaces need not be rewritten.
    is_strong = node.op == "custom_derivative" or node.params.get("strong_zero")
    regions = node.regions if is_strong else tuple(map(_region, node.regions))
    return node if regions == node.regions else replace(node, regions=regions)


def _region(region: Region) -> Region:
    block = _rewritten_block(region.block)
    return region if block is region.block else replace(region, block=block)


def _is_singular(node: Node) -> bool:
    if node.op not in SINGULAR | FLAT or not any(isinstance(item, Value) for item in node.inputs):
        return False
    values = [item for item in (*node.inputs, *node.outputs) if isinstance(item, Value)]
    if any(is_complex(value.dtype) for value in values):
        return node.op in HOLOMORPHIC and all(is_complex(value.dtype) for value in values)
    return is_floating(node.outputs[0].dtype) and any(
        is_floating(value.dtype) for value in values[: -len(node.outputs)]
    )


def _wrapped_in_call(node: Node, rewriter: Rewriter) -> tuple[Value, ...]:
    """Append a ``strong_zero`` call of the operation of ``node`` to ``rewriter``, and return its outputs."""
    (output,) = node.outputs
    scratch = Graph("scratch", "canonical")
    build = Builder(scratch, node.origin, rewriter.maker)
    places = [place for place, item in enumerate(node.inputs) if isinstance(item, Value)]
    operands = [_broadcast(build, node.inputs[place], output) for place in places]
    inputs = [Value(item.name, item.spec) for item in operands]

    def written(*values: Any) -> tuple[Any, ...]:
        given = dict(zip(places, values))
        return (
            build.append(
                node.op,
                tuple(given.get(place, item) for place, item in enumerate(node.inputs)),
                node.params,
                output.spec,
            ),
        )

    made = build.run("call", operands, [build.body(node.op, inputs, written)], strong_zero=True)
    made[0].name = output.name
    for part in scratch.nodes:
        rewriter.append(part)
    return made


def _broadcast(build: Builder, operand: Value, result: Value) -> Value:
    wide: Value = (
        operand if operand.shape == result.shape else build.broadcast_to(operand, shape=tuple(result.shape))
    )
    return wide
