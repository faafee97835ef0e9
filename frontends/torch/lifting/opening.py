"""The second level: a call without a row is opened into ATen operations, which have rows.

``make_fx`` traces that one call with symbolic sizes and torch's core decompositions; the operations it finds are lifted by
their bare names, and sizes it reads become the sizes of the canonical values.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ....errors import UnsupportedOperation
from ....forwarding import forward
from ....ir.node import Node, Value
from ....sizes import Size, apply, product
from ....tracing.faults import is_fault
from ....trees import iterate_structure, map_structure
from ..basics.dtypes import torch_dtype
from ..basics.names import resolve
from ..compat import OpOverload, core_aten_decompositions
from .table import TorchBuilder, rows

_ARITHMETIC: frozenset[Any] = frozenset({
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg, operator.truediv, operator.pow,
    operator.getitem, math.floor, math.ceil, math.trunc, torch.sym_max, torch.sym_min, torch.sym_float, torch.sym_int,
})  # fmt: skip
_SIZES: dict[str, Callable[..., Any]] = {"sym_size": lambda array, axis: array.shape[axis], "sym_numel": lambda array: product(array.shape)}
_OF_SIZES: dict[Any, str] = {torch.sym_float: "float", torch.sym_max: "max", torch.sym_min: "min"}  # torch's own take none of ours


def open_call(b: TorchBuilder, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The results of a call, through ATen; ``UnsupportedOperation`` where it cannot be opened or an opened part has no row."""
    values = [item for item in _leaves((args, kwargs)) if isinstance(item, Value)]
    traced = _trace(resolve(node.op), values, args, kwargs, node)
    missing = sorted({_key(part.target) for part in traced.graph.nodes if part.op == "call_function" and not _known(part.target)})
    if missing:
        raise UnsupportedOperation(f"no row for it, nor for {', '.join(missing)} which it consists of")
    _keep_sizes(b, values, _sizes((args, kwargs)), is_general=not traced.shape_env.guards)
    return _Opened(b, traced, values).run()


def _keep_sizes(b: TorchBuilder, values: list[Value], given: list[Size], is_general: bool) -> None:
    """Guards for what torch's own tracer has taken for granted, which says a word of it only where the code has asked.

    Sizes that were given as numbers are constants in what it gives, so are those of 0 and 1, and sizes that were equal have one symbol.
    """
    sizes = [size for value in values for size in value.shape if isinstance(size, Size)]
    for size in dict.fromkeys((*given, *sizes)):
        if size in given or not is_general or size.hint in (0, 1):
            b.guard(apply("eq", size, size.hint))
        elif (first := next(other for other in sizes if other.hint == size.hint)) is not size:
            b.guard(apply("eq", first, size))


def _trace(function: Callable[..., Any], values: list[Value], args: list[Any], kwargs: dict[str, Any], node: Node) -> torch.fx.GraphModule:
    def call(*tensors: Any) -> Any:
        given = dict(zip(values, tensors))
        real_args, real_kwargs = map_structure(lambda item: given[item] if isinstance(item, Value) else _number(item), (args, kwargs))
        return forward(function, *real_args, **real_kwargs)

    examples = [torch.zeros(value.spec.hints, dtype=torch_dtype(value.dtype)) for value in values]
    try:
        return make_fx(call, decomposition_table=_decompositions(), tracing_mode="symbolic")(*examples)
    # What torch's tracer cannot follow it refuses in any words.
    except Exception as problem:
        if is_fault(problem):
            raise
        raise UnsupportedOperation(
            f"no row for it, and torch cannot open it ({type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''})"
        ) from problem


@functools.cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """torch's core decompositions; its own table asks all operators that there are, each time that one is made."""
    return dict(core_aten_decompositions())


def _number(item: Any) -> Any:
    return getattr(item, "hint", item)


def _sizes(structure: Any) -> list[Size]:
    return [item for item in iterate_structure(structure) if isinstance(item, Size)]


def _leaves(structure: Any) -> list[Any]:
    return list(dict.fromkeys(item for item in iterate_structure(structure) if isinstance(item, Value)))


def _key(target: Any) -> str:
    return target._schema.name.partition("::")[2] if isinstance(target, OpOverload) else str(target)


def _known(target: Any) -> bool:
    return target in _ARITHMETIC or _key(target) in _SIZES or rows.get(_key(target)) is not None


class _Opened:
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
