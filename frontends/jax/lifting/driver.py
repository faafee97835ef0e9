"""Dispatch of recorded JAX calls to their rows, also in trial runs that infer the sizes of results.

A public call without a row, or whose row does not accept its arguments, is lifted primitive by primitive.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src.traceback_util import api_boundary

from ....errors import GraphCompilerError, UnsupportedOperation
from ....ir.graph import Graph
from ....ir.node import Node, Value
from ....ops.registry import ArraySpec
from ....sizes import Size
from ....trees import iterate_structure, map_structure
from ...common.lifter import Lifter
from ..dtypes import dtype_name, is_key
from ..equations import Reader
from ..names import is_primitive, row_key
from ..programs import jax_record
from . import elementwise, functions, indexing, linear_algebra, manipulation, random, reductions
from .table import JaxBuilder, rows


# As in `record`, frames of JAX stay in tracebacks until it is known whose code has raised.
@api_boundary
def lift_graph(graph: Graph) -> Graph:
    return _JaxLifter(graph).run()


class _JaxLifter(Lifter):
    framework = "jax"

    def builder(self, graph: Graph) -> JaxBuilder:
        return JaxBuilder(graph)

    def key(self, node: Node) -> str:
        return row_key(node.op)

    def row(self, node: Node) -> Callable[..., Any] | None:
        return rows.get(self.key(node) if is_primitive(node.op) else node.op)

    def call(self, node: Node) -> Any:
        self.b.recorded = self.specs_recorded(node)
        args, kwargs = self.arguments(node)
        row = self.row(node)
        if is_primitive(node.op):
            if row is None:
                raise UnsupportedOperation(_MISSING.get(self.key(node), "no row in the lifting table of jax"))
            return row(self.b, *_with_array(self.b, args, node.inputs), **kwargs)
        if row is not None and row_takes(row, args, kwargs):
            before = len(self.result.nodes), len(self.result.guards)
            try:
                return row(self.b, *numbers(args), **numbers(kwargs))
            except NotImplementedError:
                # The row may have emitted nodes and guards before it raised.
                del self.result.nodes[before[0] :], self.result.guards[before[1] :]
        return self._opened(node)

    def constant_array(self, array: Any) -> Any:
        if not isinstance(array, jax.Array) or array.shape or is_key(array):
            return array
        # NumPy itself has no scalars of other dtypes, such as bfloat16. A process cannot read an array on
        # devices of other processes.
        is_known = array.dtype.kind in "biufc" and array.is_fully_addressable
        return np.asarray(array)[()] if is_known else array

    def _opened(self, node: Node) -> Any:
        program = jax_record(node)
        if program.body is None:
            raise UnsupportedOperation(
                "its row does not take these arguments, and there is no program to open"
            )
        nodes: list[Node] = []
        operands = [_formal(item) for item in program.operands]
        for formal, item in zip(operands, program.operands):
            self.current_values[formal] = (
                self.mapped(item)
                if isinstance(item, Value)
                else self.b.array(item.item() if hasattr(item, "item") else item, formal.dtype)
            )
        reader = Reader(nodes, self._constant, as_words=True)
        results = reader.read(program.body, list(operands))
        origin, problems = self.b.origin, len(self.problems)
        for inner in nodes:
            self._node(inner)
        if len(self.problems) > problems:
            self.problems[problems:] = [
                f"{problem.splitlines()[0]}, inside of {node.op}\n    {node.origin}"
                for problem in self.problems[problems:]
            ]
        self.b.origin = origin
        self.b.recorded = self.specs_recorded(node)
        return tuple(
            self.read(item)
            if isinstance(item, Value)
            else self.b.array(item.item() if hasattr(item, "item") else item, spec.dtype)
            for item, spec in zip(results, self.b.recorded)
        )

    def _constant(self, array: Any) -> Value:
        array = jax.random.key_data(array) if is_key(array) else array
        spec = ArraySpec(tuple(np.shape(array)), dtype_name(array.dtype))
        value = Value("constant", spec)
        self.current_values[value] = self.b.constant("constant", spec, self.constant_array(array))
        return value


def _formal(item: Any) -> Value:
    return (
        Value(item.name, item.spec)
        if isinstance(item, Value)
        else Value("number", ArraySpec((), dtype_name(np.asarray(item).dtype)))
    )


def _with_array(b: JaxBuilder, args: list[Any], recorded: tuple[Any, ...]) -> list[Any]:
    if not args or any(isinstance(item, Value) for item in args):
        return list(numbers(args))
    first = b.array(_number(args[0]), dtype_name(np.asarray(recorded[0]).dtype))
    return [first, *numbers(args[1:])]


def numbers(structure: Any) -> Any:
    return map_structure(_number, structure)


def _number(item: Any) -> Any:
    return item.item() if isinstance(item, np.generic) else item


def row_takes(row: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Return True if ``row`` can be called with a builder, ``args`` and ``kwargs``.

    Keywords that are None and unknown to the row are removed from ``kwargs`` first.
    """
    for name in [name for name, item in kwargs.items() if item is None]:
        if name not in inspect.signature(row).parameters:
            del kwargs[name]
    try:
        inspect.signature(row).bind(None, *args, **kwargs)
    except TypeError:
        return False
    return True


_RANDOM = "random numbers are drawn by an algorithm that is not Threefry"
_MISSING = {
    "rng_bit_generator_p": _RANDOM,
    "rng_uniform_p": _RANDOM,
}

__all__ = [
    "elementwise",
    "functions",
    "indexing",
    "lift_graph",
    "linear_algebra",
    "manipulation",
    "numbers",
    "random",
    "reductions",
    "row_takes",
    "rows",
]


# ---------------------------------------------------------------------------------------------- abstract eval
# Trial runs of rows while a function is traced, to infer symbolic result sizes.


def abstract_eval(
    name: str, args: Any, kwargs: dict[str, Any], seen: tuple[ArraySpec, ...], knows: Callable[[Size], bool]
) -> tuple[list[ArraySpec], list[Size]] | None:
    """Infer the specs of a call's results by a trial run of the function ``name`` in ``rows``.

    Return the specs and the conditions on sizes under which they hold, or None. Keywords that are None may be
    removed from ``kwargs``.
    """
    row = rows.get(name)
    b = JaxBuilder(Graph("abstract_eval", "canonical"))
    b.recorded = seen
    if row is None or not row_takes(row, args, kwargs):
        return None
    try:
        found = list(iterate_structure(row(b, *numbers(args), **numbers(kwargs))))
    except (NotImplementedError, GraphCompilerError):
        return None
    if not _fit(found, seen):
        return None
    conditions = [guard.condition for guard in b.graph.guards if isinstance(guard.condition, Size)]
    sizes = [dim for value in found for dim in value.shape if isinstance(dim, Size)]
    return ([value.spec for value in found], conditions) if all(map(knows, (*conditions, *sizes))) else None


def _fit(found: list[Any], seen: tuple[ArraySpec, ...]) -> bool:
    if len(found) != len(seen) or not all(isinstance(value, Value) for value in found):
        return False
    return all(
        value.dtype == spec.dtype and value.spec.hints == spec.hints for value, spec in zip(found, seen)
    )
