"""Lifting of torch graphs (:func:`lift_graph`): the row of each call, and the elements of written arrays."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ....errors import UnsupportedOperation
from ....forwarding import forward
from ....ir.graph import Graph
from ....ir.node import Node, Value
from ....ops.dtypes import is_inexact
from ....recording.faults import is_fault
from ....sizes import Size, apply, product
from ....trees import iterate_structure, map_structure
from ...common.indexing import check_bounds
from ...common.input_checks import expect_elements
from ...common.lifter import Lifter
from ..basics.names import is_in_place, pure_key, resolve, row_key, statistics_order
from ..basics.tensors import torch_dtype
from ..compat import OpOverload, core_aten_decompositions
from .elementwise import CONDITIONS, has_floats, with_fixed_numbers
from .nn.attention import embedding_renorm
from .nn.normalisation import batch_norm_statistics, instance_norm_statistics
from .table import TorchBuilder, assume_agreement, assume_demands, rows

# ------------------------------------------------------------------------------------------------- statistics
# Calls that write to arguments other than their first.
#
# A row maps a bare name to a function of the call's arguments, which returns a dict from position or keyword
# to the new value.

Written = Callable[[TorchBuilder, list[Any], dict[str, Any]], dict[Any, Any]]
Statistics = Callable[[TorchBuilder, Any, Any, Any, Any], tuple[Any, Any]]


def _running_statistics(key: str, compute: Statistics) -> Written:
    def written(b: TorchBuilder, args: list[Any], kwargs: dict[str, Any]) -> dict[Any, Any]:
        order = statistics_order(key, tuple(args), kwargs)
        given = {"momentum": 0.1, **dict(zip(order, args)), **kwargs}
        new = compute(b, given["input"], given["running_mean"], given["running_var"], given["momentum"])
        places = (
            order.index(name) if order.index(name) < len(args) else name
            for name in ("running_mean", "running_var")
        )
        return dict(zip(places, new))

    return written


def _renormalised(*order: str) -> Written:
    def written(b: TorchBuilder, args: list[Any], kwargs: dict[str, Any]) -> dict[Any, Any]:
        given = {"norm_type": 2.0, **dict(zip(order, args)), **kwargs}
        new = embedding_renorm(b, given["weight"], given["input"], given["max_norm"], given["norm_type"])
        return {1 if len(args) > 1 else "weight": new}

    return written


WRITTEN: dict[str, Written] = {
    key: _running_statistics(
        key, instance_norm_statistics if key == "instance_norm" else batch_norm_statistics
    )
    for key in (
        "batch_norm",
        "instance_norm",
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_batch_norm_with_update",
    )
}
WRITTEN["embedding"] = _renormalised("input", "weight", "padding_idx", "max_norm", "norm_type")
WRITTEN["embedding_bag"] = _renormalised("input", "weight", "offsets", "max_norm", "norm_type")


# ----------------------------------------------------------------------------------------------------- driver
_ARITHMETIC: frozenset[Any] = frozenset({
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg, operator.truediv,
    operator.pow,
    operator.getitem, math.floor, math.ceil, math.trunc, torch.sym_max, torch.sym_min, torch.sym_float,
    torch.sym_int,
})  # fmt: skip
_SIZES: dict[str, Callable[..., Any]] = {
    "sym_size": lambda array, axis: array.shape[axis],
    "sym_numel": lambda array: product(array.shape),
}
# These functions of torch do not accept a ``Size``, so they are computed by name.
_OF_SIZES: dict[Any, str] = {
    torch.sym_float: "float",
    torch.sym_max: "max",
    torch.sym_min: "min",
}


def lift_by_tracing(b: TorchBuilder, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Lift a call without a row by tracing it to ATen kernels and lifting these.

    Raise ``UnsupportedOperation`` if torch cannot trace the call, or if one of the kernels has no row.
    """
    values = [item for item in _leaves((args, kwargs)) if isinstance(item, Value)]
    traced = _trace(resolve(node.op), values, args, kwargs, node)
    missing = sorted(
        {
            _key(part.target)
            for part in traced.graph.nodes
            if part.op == "call_function" and not _known(part.target)
        }
    )
    if missing:
        # torch cannot open a kernel, so its trace is the call itself.
        parts = [key for key in missing if key != row_key(node.op)]
        nor = f", nor for {', '.join(parts)} which it consists of" if parts else ""
        raise UnsupportedOperation(f"no row for it{nor}: add a row named {pure_key(row_key(node.op))!r}")
    _keep_sizes(b, values, _sizes((args, kwargs)), is_general=not traced.shape_env.guards)
    return _TracedCall(b, traced, values).run()


def _keep_sizes(b: TorchBuilder, values: list[Value], given: list[Size], is_general: bool) -> None:
    # The trace contains sizes of 0 and 1 as constants, and sizes that are equal now share a symbol in it.
    sizes = [size for value in values for size in value.shape if isinstance(size, Size)]
    for size in dict.fromkeys((*given, *sizes)):
        if size in given or not is_general or size.hint in (0, 1):
            b.guard(apply("eq", size, size.hint))
        elif (first := next(other for other in sizes if other.hint == size.hint)) is not size:
            b.guard(apply("eq", first, size))


def _trace(
    function: Callable[..., Any], values: list[Value], args: list[Any], kwargs: dict[str, Any], node: Node
) -> torch.fx.GraphModule:
    def call(*tensors: Any) -> Any:
        given = dict(zip(values, tensors))
        real_args, real_kwargs = map_structure(
            lambda item: given[item] if isinstance(item, Value) else _number(item), (args, kwargs)
        )
        return forward(function, *real_args, **real_kwargs)

    # The tracer looks at shapes and dtypes alone, so the elements do not matter.
    examples = [torch.zeros(value.spec.hints, dtype=torch_dtype(value.dtype)) for value in values]
    try:
        return make_fx(call, decomposition_table=_decompositions(), tracing_mode="symbolic")(*examples)
    # torch's tracer raises exceptions of many types for code that it cannot follow.
    except Exception as problem:
        if is_fault(problem):
            raise
        raise UnsupportedOperation(
            f"no row for it, and torch cannot open it ({type(problem).__name__}: "
            f"{str(problem).splitlines()[0] if str(problem) else ''})"
        ) from problem


@functools.cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    return dict(core_aten_decompositions())


def _number(item: Any) -> Any:
    return getattr(item, "hint", item)


def _sizes(structure: Any) -> list[Size]:
    return [item for item in iterate_structure(structure) if isinstance(item, Size)]


def _leaves(structure: Any) -> list[Any]:
    return list(dict.fromkeys(item for item in iterate_structure(structure) if isinstance(item, Value)))


def _key(target: Any) -> str:
    if isinstance(target, OpOverload):
        return row_key(f"torch.ops.{target._schema.name.replace('::', '.')}")
    return str(target)


def _known(target: Any) -> bool:
    return target in _ARITHMETIC or _key(target) in _SIZES or rows.get(_key(target)) is not None


class _TracedCall:
    def __init__(self, b: TorchBuilder, traced: torch.fx.GraphModule, values: list[Value]) -> None:
        self.b, self.traced = b, traced
        self.inputs = iter(values)
        self.held: dict[Any, Any] = {}

    def run(self) -> Any:
        for part in self.traced.graph.nodes:
            if part.op == "output":
                return torch.fx.node.map_arg(part.args[0], lambda item: self.held[item])
            self.held[part] = self._part(part)
        raise AssertionError("a traced graph ends with its output")

    def _part(self, part: torch.fx.Node) -> Any:
        if part.op == "placeholder":
            return next(self.inputs)
        if part.op == "get_attr":
            tensor = getattr(self.traced, str(part.target))
            from ..basics.tensors import spec_of

            return self.b.constant("constant", spec_of(tensor), tensor)
        args = torch.fx.node.map_arg(part.args, lambda item: self.held[item])
        kwargs = torch.fx.node.map_arg(part.kwargs, lambda item: self.held[item])
        return self._call(part.target, args, kwargs)

    def _call(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target in _OF_SIZES:
            return apply(_OF_SIZES[target], *args)
        if target in _ARITHMETIC:
            return target(*args)
        key = _key(target)
        if key in _SIZES:
            return _SIZES[key](*args)
        row = rows.get(key)
        assert row is not None
        return row(self.b, *args, **kwargs)


# Keywords that a row may not have, and the names that it then uses instead. "input" is the first argument of
# the row, whatever its name.
_RENAMED = {
    "axis": "dim", "keepdims": "keepdim", "x1": "input", "x2": "other", "x": "input", "a": "input",
    "exponent": "other", "mat2": "mat_b", "element": "elements", "test_element": "test_elements",
    "input2": "tau", "input3": "other",
    **dict.fromkeys(("indices", "sections"), "indices_or_sections"),
}  # fmt: skip
# Prefixes of the names of rows that only one kind of function uses, because functions of the same bare name
# differ, for example in their parameters: ``x.where(condition, y)``, but ``torch.where(condition, x, y)``.
_OWN_ROWS = {"torch.nn.functional.": "nn.functional", "torch.Tensor.": "Tensor", "torch.ops.aten.": "aten"}


def lift_graph(graph: Graph) -> Graph:
    return _TorchLifter(graph).run()


class _TorchLifter(Lifter):
    framework = "torch"

    def __init__(self, recorded: Graph) -> None:
        super().__init__(recorded)
        # Values that were computed without gradients and need no ``stop_gradient``.
        self.cut_off: set[Value] = set()

    def builder(self, graph: Graph) -> TorchBuilder:
        return TorchBuilder(graph, has_floats(self.recorded))

    def key(self, node: Node) -> str:
        return row_key(node.op)

    def arguments(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = with_fixed_numbers(self.b, pure_key(row_key(node.op)), *super().arguments(node))
        if node.no_grad:
            args, kwargs = map_structure(self._without_gradient, (args, kwargs))
        return args, kwargs

    def _without_gradient(self, item: Any) -> Any:
        if not isinstance(item, Value) or not is_inexact(item.dtype) or item in self.cut_off:
            return item
        return self.b.stop_gradient(item)

    def row(self, node: Node) -> Callable[..., Any] | None:
        key = row_key(node.op)
        # ``normal_`` and ``bernoulli_`` have other parameters than ``normal`` and ``bernoulli``, so they have
        # rows of their own.
        if is_in_place(key) and rows.get(key) and not node.op.startswith("torch.nn.init."):
            return rows.get(key)
        if node.op.startswith("torch.nn.init."):
            return rows.get(f"nn.init.{key}") or rows.get(pure_key(key))
        key = pure_key(key)
        own = next((prefix for start, prefix in _OWN_ROWS.items() if node.op.startswith(start)), None)
        return own and rows.get(f"{own}.{key}") or rows.get(key)

    def call(self, node: Node) -> Any:
        args, kwargs = self.arguments(node)
        # This follows ``arguments``, because views among them may be calls that are lifted again.
        self.b.recorded = self.specs_recorded(node)
        row = self.row(node)
        self.b.generator = self._stream_of(args, kwargs) if self.b.streams else None
        key, before = pure_key(row_key(node.op)), len(self.result.nodes)
        result = (
            lift_by_tracing(self.b, node, args, kwargs)
            if row is None
            else self._by_row(key, row, args, kwargs)
        )
        made = self.result.nodes[before:]
        if node.no_grad:
            self.cut_off.update(value for each in made for value in each.outputs)
        assume_demands(self.b, made)
        expect_elements(self.b, made, CONDITIONS)
        check_bounds(self.b, key, made)
        return result

    def _stream_of(self, args: list[Any], kwargs: dict[str, Any]) -> Value | None:
        return next(
            (
                item
                for item in iterate_structure((args, kwargs))
                if isinstance(item, Value) and item in self.b.streams
            ),
            None,
        )

    def _by_row(self, key: str, row: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
        kwargs = own_keywords(row, kwargs)
        assume_agreement(self.b, key, row, args, kwargs)
        nodes, guards = len(self.result.nodes), len(self.result.guards)
        try:
            return row(self.b, *args, **kwargs)
        # Python raises these if a row needs the number of a symbol, such as an axis.
        except (
            TypeError,
            AttributeError,
        ):
            if self.b.reads_numbers or not any(
                isinstance(item, Size) for item in iterate_structure((args, kwargs))
            ):
                raise
            # The row may have emitted operations and guards before it raised.
            del self.result.nodes[nodes:], self.result.guards[guards:]
            args, kwargs = map_structure(
                lambda item: self.b.fix_number(item) if isinstance(item, Size) else item, (args, kwargs)
            )
            return row(self.b, *args, **kwargs)

    def new_elements(self, node: Node, result: Any) -> dict[Value, Any]:
        key = row_key(node.op)
        # ``requires_grad_`` changes no elements.
        if key == "requires_grad_":
            return {}
        if key not in WRITTEN:
            return dict(zip(node.writes, _fresh(node, result)))
        before = len(self.result.nodes)
        # The keys are positions or keywords of arguments.
        new_values: dict[int | str, Any] = WRITTEN[key](self.b, *self.arguments(node))
        check_bounds(self.b, pure_key(key), self.result.nodes[before:])
        return {
            node.inputs[where] if isinstance(where, int) else node.params[where]: new
            for where, new in new_values.items()
        }


def _fresh(node: Node, result: Any) -> list[Any]:
    flat = list(iterate_structure(result))
    return flat if not is_in_place(row_key(node.op)) else flat[:1]


def own_keywords(row: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return ``kwargs`` with alternative keywords, such as ``axis``, renamed to those that rows use.

    Remove ``inplace`` from ``kwargs`` if ``row`` has no such parameter.
    """
    # Most calls have none, and a signature takes 30 microseconds.
    if not kwargs:
        return kwargs
    known = inspect.signature(row).parameters
    kwargs.pop("inplace", None) if "inplace" not in known else None
    _builder, *first = known
    names = {**_RENAMED, **dict(zip(("input",), first))}

    def own(name: str) -> str:
        return name if name in known or name not in names else own(names[name])

    return {own(name): value for name, value in kwargs.items()}
