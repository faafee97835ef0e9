"""Checks that XLA computes the same as TensorFlow's kernels, as tensors next to the result.

A kernel raises an error for an index out of range, and XLA clamps it; XLA drops assertions. A failed check
may be a false alarm, so the call is then run operation by operation, and the kernels decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf


class NotForXla(Exception):
    """Raised while tracing a function for XLA that would not compute what TensorFlow's kernels do.

    The message is the reason.
    """


class NotTraceable(Exception):
    """Raised if a function would behave differently, or fail, as a ``tf.function``.

    The message is the reason.
    """


def dropped_checks(graph: Any) -> list[Any]:
    """Add boolean scalars to ``graph`` that are all True if no kernel of its operations would raise.

    Return these scalars. Raise ``NotForXla`` if no such check exists, if the operation is in a loop,
    branch or inner function, if XLA computes an operation differently, if a size depends on elements, or
    if the call could not be repeated because it writes to variables.
    """
    for kind in (node.op for node in _inner_nodes(graph)):
        if kind in _CHECKS:
            raise NotForXla(f"XLA leaves out the checks of {kind}, which a loop, branch or function calls")
    for kind in _types(graph):
        if why := _why_different(kind):
            raise NotForXla(why)
    checks = [check for op in graph.get_operations() for check in _checks_of(op)]
    if checks and writes(graph):
        raise NotForXla("XLA leaves out the checks of an operation in a function that writes to variables")
    return checks


def python_checks(graph: Any) -> list[Any]:
    """Add boolean scalars to ``graph`` that are True if Python would not raise for its arithmetic on numbers.

    Return these scalars. A number that Python reads from an array is a scalar tensor in a trace, and its
    division by 0 or power gives infinity or NaN there, where Python raises ``ZeroDivisionError`` or gives a
    complex number. Scalars that TensorFlow divides get a check, too, which may be a false alarm.
    """
    found = []
    for op in graph.get_operations():
        if op.type in _OF_PYTHON and op.outputs[0].dtype.is_floating and op.outputs[0].shape.rank == 0:
            found.append(_OF_PYTHON[op.type](*op.inputs))
    return found


def writes(graph: Any) -> bool:
    return any(
        # `ResourceGather` only reads a variable.
        kind.startswith(("Assign", "Resource", "Rng")) and not kind.startswith("ResourceGather")
        for kind in _types(graph)
    )


def require_no_global_random(graph: Any) -> None:
    nodes = (*(op.node_def for op in graph.get_operations()), *_inner_nodes(graph))
    # Samplers of the global generator have this attribute, stateless ones do not.
    if drawing := next((node.op for node in nodes if "seed2" in node.attr), None):
        raise NotTraceable(f"it draws from TensorFlow's global generator ({drawing})")


def _why_different(kind: str) -> str | None:
    if kind.startswith("Stateless") and kind not in _STATELESS_CONTROL:
        return f"XLA draws other numbers than the kernel of {kind}"
    return f"XLA leaves out {kind}" if kind in _DROPPED else None


def _types(graph: Any) -> list[str]:
    return [op.type for op in graph.get_operations()] + [node.op for node in _inner_nodes(graph)]


def _inner_nodes(graph: Any) -> list[Any]:
    library = graph.as_graph_def(use_pybind11_proto=False).library
    return [node for function in library.function for node in function.node_def]


def _checks_of(op: Any) -> Iterator[Any]:
    for tensor in op.outputs:
        if not tensor.shape.is_fully_defined():
            raise NotForXla(f"a size of what {op.type} returns is not known before it runs")
    if op.type in _IMPRECISE and op.inputs[0].dtype in (tf.float64, tf.complex128):
        raise NotForXla(f"XLA computes {op.type} of {op.inputs[0].dtype.name} to seven digits only")
    if op.type in _CHECKS:
        yield from _CHECKS[op.type](op)


def _bounds_check(index: Any, size: Any) -> list[Any]:
    """Return the check that all elements of ``index`` are in ``[0, size)``.

    Return an empty list if the values are static and in range.
    """
    known, limit = tf.get_static_value(index), tf.get_static_value(size)
    if known is not None and limit is not None and ((known >= 0) & (known < limit)).all():
        return []
    return [tf.reduce_all((index >= 0) & (index < tf.cast(size, index.dtype)))]


def _gather(op: Any) -> list[Any]:
    array, index = op.inputs[:2]
    axis = tf.get_static_value(op.inputs[2]) if len(op.inputs) > 2 else 0
    if axis is None:
        raise NotForXla("the axis of a gather is not known before it runs")
    return _bounds_check(index, tf.constant(array.shape[int(axis)]))


def _gather_nd(op: Any) -> list[Any]:
    array, index = op.inputs
    return _bounds_check(index, tf.constant(array.shape[: index.shape[-1]].as_list(), tf.int32))


def _scatter_nd(op: Any) -> list[Any]:
    index, shape = op.inputs[0], op.inputs[2]
    return _bounds_check(index, shape[: index.shape[-1]])


def _scatter_into(op: Any) -> list[Any]:
    array, index = op.inputs[:2]
    return _bounds_check(index, tf.constant(array.shape[: index.shape[-1]].as_list(), tf.int32))


def _segments(op: Any) -> list[Any]:
    segments, count = op.inputs[1:3]
    # Kernels and XLA both drop negative segments.
    return [tf.reduce_all(segments < tf.cast(count, segments.dtype))]


def _integer_divisor(op: Any) -> list[Any]:
    divisor = op.inputs[1]
    known = tf.get_static_value(divisor)
    if not divisor.dtype.is_integer or known is not None and (known != 0).all():
        return []
    # The kernels raise an error for a division by 0.
    return [tf.reduce_all(tf.not_equal(divisor, 0))]


def _integer_exponent(op: Any) -> list[Any]:
    exponent = op.inputs[1]
    known = tf.get_static_value(exponent)
    if not exponent.dtype.is_integer or known is not None and (known >= 0).all():
        return []
    # The kernels raise an error for a negative exponent.
    return [tf.reduce_all(exponent >= 0)]


def _label(op: Any) -> list[Any]:
    logits, labels = op.inputs
    return _bounds_check(labels, tf.constant(logits.shape[-1]))


def _slice(op: Any) -> list[Any]:
    array, begin, size = op.inputs
    if tf.get_static_value(begin) is not None:
        return []
    begin, size = tf.cast(begin, tf.int64), tf.cast(size, tf.int64)
    shape = tf.constant(array.shape.as_list(), tf.int64)
    # A size of -1 reaches to the end.
    return [tf.reduce_all((begin >= 0) & (begin + tf.where(size < 0, shape - begin, size) <= shape))]


def _strided_slice(op: Any) -> list[Any]:
    array, begin = op.inputs[:2]
    shrunk = [axis for axis in range(begin.shape[0]) if op.get_attr("shrink_axis_mask") >> axis & 1]
    if not shrunk or tf.get_static_value(begin) is not None:
        return []
    if op.get_attr("ellipsis_mask") or op.get_attr("new_axis_mask"):
        raise NotForXla("XLA leaves out the check of an index beside an ellipsis or a new axis")
    index, sizes = tf.gather(begin, shrunk), tf.constant([array.shape[axis] for axis in shrunk], begin.dtype)
    return [tf.reduce_all((index >= -sizes) & (index < sizes))]


def _finite_input(op: Any) -> list[Any]:
    return [_is_finite(op.inputs[0])]


def _finite_results(op: Any) -> list[Any]:
    return [
        _is_finite(tensor) for tensor in op.outputs if tensor.dtype.is_floating or tensor.dtype.is_complex
    ]


def _is_finite(tensor: Any) -> Any:
    parts = (tf.math.real(tensor), tf.math.imag(tensor)) if tensor.dtype.is_complex else (tensor,)
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(part)) for part in parts])


def _shift(op: Any) -> list[Any]:
    by = op.inputs[1]
    return [tf.reduce_all((by >= 0) & (by < 8 * by.dtype.size))]


def _no_nan(op: Any) -> list[Any]:
    array = op.inputs[0]
    # XLA orders NaN in another way than the kernels.
    return [tf.logical_not(tf.reduce_any(tf.math.is_nan(array)))] if array.dtype.is_floating else []


def _singular(op: Any) -> list[Any]:
    raise NotForXla(f"XLA does not refuse a singular matrix, as {op.type} does")


def _unknown(op: Any) -> list[Any]:
    raise NotForXla(f"XLA leaves out the checks of {op.type}")


def _assertion(op: Any) -> list[Any]:
    return [tf.reduce_all(op.inputs[0])]


_STATELESS_CONTROL = ("StatelessIf", "StatelessCase", "StatelessWhile")
_DROPPED = ("Print", "PrintV2")
_SEGMENTS = ("Sum", "Prod", "Min", "Max")
# Checks by type of operation. A type whose kernel agrees with XLA for all elements has none.
# Iterative algorithms of XLA, which stop at an error that suits float32.
_IMPRECISE = frozenset({"Svd", "SelfAdjointEigV2"})
_OF_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(["RealDiv", "FloorDiv", "FloorMod"], lambda _, divisor: tf.not_equal(divisor, 0)),
    "Pow": lambda base, _: base > 0,
}
_CHECKS: dict[str, Callable[[Any], list[Any]]] = {
    "Gather": _gather,
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    **dict.fromkeys(
        [f"TensorScatter{name}" for name in ("Update", "Add", "Sub", "Min", "Max")], _scatter_into
    ),
    **dict.fromkeys([f"UnsortedSegment{name}" for name in _SEGMENTS], _segments),
    **dict.fromkeys(["Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"], _integer_divisor),
    "Pow": _integer_exponent,
    **dict.fromkeys(["LeftShift", "RightShift"], _shift),
    **dict.fromkeys(["ArgMax", "ArgMin", "TopK", "TopKV2"], _no_nan),
    "SparseSoftmaxCrossEntropyWithLogits": _label,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "Assert": _assertion,
    **dict.fromkeys(["CheckNumerics", "CheckNumericsV2"], _finite_input),
    **dict.fromkeys(["Cholesky", "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd", "Qr"], _finite_results),
    **dict.fromkeys(["MatrixInverse", "MatrixSolve", "Lu", "TridiagonalSolve"], _singular),
    **dict.fromkeys(
        [f"Segment{name}{version}" for name in (*_SEGMENTS, "Mean") for version in ("", "V2")], _unknown
    ),
    **dict.fromkeys(
        ["ResourceGather", "ResourceGatherNd", "Bincount", "DenseBincount", "InvertPermutation"], _unknown
    ),
    **dict.fromkeys(["ReverseSequence", "RandomUniformInt", "DynamicStitch", "Multinomial"], _unknown),
}
