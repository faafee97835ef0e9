"""Nodes for calls that make arrays, write to them or sample, and guards for calls that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import TracingError
from ...ir.graph import Aliases, Graph
from ...ir.node import CallRecord, Node, Value
from ...ops.dtypes import is_floating
from ...sizes import Size
from ...trees import iterate_structure, map_structure
from ..common.views import is_shown, joins_axes
from .calls import BY_SIZES, BY_STRIDES, HOST_MATH, proposed_name, row_key, spec_of
from .traced import owner_of, proxy_of

_ARRAYS = (np.ndarray, np.generic)
# Calls that return their operand itself at some sizes, and a copy at others.
_MAY_RETURN_OPERAND = frozenset({"ascontiguousarray", "asfortranarray"})


class NumpyCall(NamedTuple):
    """Call that has run on the arrays behind the proxies among its arguments.

    inputs, params: its recorded arguments.
    operands: the traced arrays and scalars among its arguments.
    written: the traced arrays to which it writes.
    result: its result, without proxies.
    """

    name: str
    inputs: Any
    params: Any
    operands: list[Any]
    written: list[Any]
    result: Any


def guard_failed_call(capture: Any, problem: Exception, operands: list[Any]) -> None:
    """Guard all input sizes, and the elements of ``operands`` that may have caused ``problem``."""
    # The user's code may catch the exception. The graph then is valid only for sizes and elements for which
    # NumPy raises, too.
    capture.fix_all_sizes()
    is_of_elements = isinstance(
        problem, (np.linalg.LinAlgError, ArithmeticError)
    ) or capture.call.name.startswith(HOST_MATH)
    for array in operands:
        if is_of_elements or not is_floating(array.dtype.name):
            capture.elements.guard(array)


def add_node(capture: Any, call: NumpyCall, noted: CallRecord) -> Any:
    """Add a node for a call if it made arrays, wrote to some or sampled. Return its result with proxies.

    ``noted`` is the call record without the result, writes and views.
    """
    operands, written, result = call.operands, call.written, call.result
    made: dict[int, Any] = {}
    # Only arrays are recognized by identity: np.True_ is always the same object.
    given = {id(item._seen): item for item in reversed(operands) if isinstance(item._seen, np.ndarray)}
    if _may_return_another(capture, call, noted.key):
        # With a view the call is a node, whose row guards what the call depends on.
        kept = {id(item._seen) for item in written}
        result = map_structure(
            lambda item: item.view() if id(item) in given and id(item) not in kept else item, result
        )
    leaves = [item for item in iterate_structure((result,)) if isinstance(item, _ARRAYS)]
    _check_result(capture, result, operands)
    for leaf in leaves:
        if id(leaf) not in given:
            made.setdefault(
                id(leaf), proxy_of(capture, leaf, Value(proposed_name(noted.key), spec_of(capture, leaf)))
            )
    known = {**given, **made}
    if made or written or noted.random:
        outputs = capture.recorder.new_values(
            [(item._value.name, item, item._value.spec) for item in made.values()]
        )
        for item, value in zip(made.values(), outputs):
            item._value = value
        record = replace(
            noted,
            result=map_structure(
                lambda item: known[id(item)]._value if isinstance(item, _ARRAYS) else item, result
            ),
            writes=tuple(dict.fromkeys(item._value for item in written)),
            views=_views(operands, list(made.values())),
        )
        origin = capture.call.locator.locate(call.name, 3)
        node = capture.recorder.add_call(call.name, call.inputs, call.params, origin, outputs, record)
        capture.row_major.follow(node, [item._seen for item in made.values()])
    # ``np.array`` copies unless it is told not to.
    if noted.key in BY_STRIDES and not (noted.key == "array" and call.params.get("copy", True) is True):
        capture.by_strides.update(item._value for item in (*operands, *made.values()))
    return map_structure(lambda item: known[id(item)] if isinstance(item, _ARRAYS) else item, result)


def _may_return_another(capture: Any, call: NumpyCall, key: str) -> bool:
    # ``numpy.squeeze`` does at other sizes, and ``numpy.diff`` does for another ``n``.
    return (
        key in BY_SIZES
        or key in _MAY_RETURN_OPERAND
        or any(item._value in capture.weak for item in call.operands)
        or any(isinstance(item, Size) for item in iterate_structure((call.inputs, call.params)))
    )


def _check_result(capture: Any, result: Any, operands: list[Any]) -> None:
    others = [
        item for item in iterate_structure((result,)) if not isinstance(item, _ARRAYS) and item is not None
    ]
    if others and any(capture.recorder.varies(item._value) for item in operands):
        raise TracingError(
            f"{capture.here()}: {capture.call.name} gives Python {others[0]!r:.80} of an array that depends "
            "on the inputs, and nothing is known "
            "of when this changes. Compute it from the array's shape or elements"
        )


def _views(operands: list[Any], made: list[Any]) -> dict[int, Value]:
    # In reversed order, so that the first of several operands with the same memory is the owner.
    memory = {
        id(owner_of(item._seen)): item._value
        for item in reversed(operands)
        if isinstance(item._seen, np.ndarray)
    }
    owners = {
        index: id(owner_of(item._seen))
        for index, item in enumerate(made)
        if isinstance(item._seen, np.ndarray)
    }
    return {index: memory[owner] for index, owner in owners.items() if owner in memory}


# ------------------------------------------------------------------------------------------ row-major order
# Row-major order of arrays, where it decides whether a call returns a view or a copy.

# Calls whose result, unless it is a view or they are given another order, is row-major for any strides.
_ROW_MAJOR = frozenset({"reshape", "ravel", "ascontiguousarray", "ndarray.copy"})
# Views that are row-major if their operand is.
_KEEPS_ORDER = frozenset(
    {"reshape", "ravel", "ascontiguousarray", "asarray", "array", "squeeze", "expand_dims", "atleast_1d"}
)
# Calls that return their operand, or a view of all of it, only if it has the wanted order already.
_WHOLE = frozenset({"ravel", "ascontiguousarray", "asfortranarray", "asarray", "array"})
_OTHER_ORDERS = frozenset("FAK")


class RowMajorOrder:
    """Values of one recording that may not be row-major at every size."""

    def __init__(self) -> None:
        self._not_row_major: set[Value] = set()

    def follow(self, node: Node, made: Sequence[Any]) -> None:
        key, depends = _key(node), not self._not_row_major.isdisjoint(node.uses)
        for index, (array, value) in enumerate(zip(made, node.outputs)):
            if index in node.views:
                is_row_major = not depends and (key in _KEEPS_ORDER or _takes_rows(node))
            else:
                is_row_major = not depends or key in _ROW_MAJOR
            if not is_row_major or _other_order(node) or not array.flags.c_contiguous:
                self._not_row_major.add(value)

    def depend_on_sizes(self, graph: Graph) -> bool:
        """Return True if a write shows whether a call made a copy, and sizes may decide that."""
        aliases = Aliases(graph)
        return bool(aliases.written) and any(
            self._may_return_either(node) and is_shown(graph, place, aliases)
            for place, node in enumerate(graph.nodes)
        )

    def _may_return_either(self, node: Node) -> bool:
        key = _key(node)
        if key not in BY_STRIDES or not node.outputs or not node.uses:
            return False
        if key not in _WHOLE and not joins_axes(node):
            return False
        if _other_order(node):
            return node.uses[0].spec.ndim > 1
        # Without an order, these calls return their operand whatever its order is.
        return key not in {"asarray", "array"} and node.uses[0] in self._not_row_major


def _key(node: Node) -> str:
    return "ndarray.copy" if node.op == "numpy.ndarray.copy" else row_key(node.op)


def _takes_rows(node: Node) -> bool:
    # ``x[i, j]`` and ``x[i, j:k]`` of leading axes are row-major if x is.
    if _key(node) != "__getitem__":
        return False
    index = node.inputs[1] if isinstance(node.inputs[1], tuple) else (node.inputs[1],)
    # ``x[()]`` is all of x.
    *leading, last = index or (slice(None),)
    return all(isinstance(item, (int, Size)) for item in leading) and (
        last.step in (None, 1) if isinstance(last, slice) else isinstance(last, (int, Size))
    )


def _other_order(node: Node) -> bool:
    return row_key(node.op) == "asfortranarray" or any(
        isinstance(item, str) and item in _OTHER_ORDERS
        for item in iterate_structure((node.inputs, node.params))
    )
