"""Builder of canonical graphs: ``build.matmul(x, y)`` infers the shape and dtype, and appends a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..errors import InvalidGraph, UnsupportedOperation
from ..ops.registry import ArraySpec, Op, Unknown, complete_params, get
from ..ops.rules import identity_of
from ..sizes import Size, Symbol, substitute
from ..trees import iterate_structure
from .graph import Graph
from .node import Block, Node, Origin, Region, Value
from .rewrite import Rewriter, copy_node


@dataclass(frozen=True, slots=True)
class Body:
    """Block whose nodes may still read values and sizes of the enclosing scope, for :func:`close`.

    name: name of the function that is generated for the block.
    inputs: values that the operation passes, such as the carry of a loop.
    nodes: operations in program order.
    outputs: values, sizes or numbers that the block returns.
    """

    name: str
    inputs: Sequence[Value]
    nodes: Sequence[Node]
    outputs: Sequence[Any]


def close(*bodies: Body) -> tuple[tuple[Region, ...], tuple[Value, ...]]:
    """Return the regions of one node, and the outer values that they capture (closure conversion).

    The captured values have to become operands of the node.

    >>> from graph_compiler.ir import Builder, Graph
    >>> build = Builder(Graph("f", "canonical"))
    >>> x = build.input("x", ArraySpec((3,), "float32"))
    >>> body = build.body("body", [Value("carried", x.spec)], lambda carried: (build.add(carried, x),))
    >>> (region,), captured = close(body)
    >>> region.block.inputs
    (%carried: float32[carried.shape[0]], %x: float32[carried.shape[0]])
    >>> captured == (x,), region.sizes
    (True, {carried.shape[0]: x.shape[0]})
    """
    captured = tuple(dict.fromkeys(value for body in bodies for value in _captured(body)))
    return tuple(_Closing(body, captured).region() for body in bodies), captured


def _captured(body: Body) -> Iterable[Value]:
    """Yield the outer values that ``body`` captures; some may repeat."""
    made = {*body.inputs, *(value for node in body.nodes for value in node.outputs)}
    read = [
        (node.inputs, node.params, [list(region.sizes.values()) for region in node.regions])
        for node in body.nodes
    ]
    items = list(
        iterate_structure(
            (read, list(body.outputs), [value.shape for node in body.nodes for value in node.outputs])
        )
    )
    values = dict.fromkeys(item for item in items if isinstance(item, Value) and item not in made)
    known = {dim for value in (*body.inputs, *values) for dim in value.shape if isinstance(dim, Size)}
    yield from values
    for item in items:
        if isinstance(item, Size) and item not in known:
            yield from (s.source for s in item.symbols() if s.source not in made and Size.of(s) not in known)


@dataclass(slots=True)
class _Closing:
    """Closure conversion of one body to a region.

    body: the body to convert.
    captured: outer values that become inputs of the region.
    own: region value for each value converted so far.
    inner: size in the region for each size of an input, and each symbol, converted so far.
    sizes: ``Region.sizes`` of the result.
    """

    body: Body
    captured: tuple[Value, ...]
    own: dict[Value, Value] = field(default_factory=dict)
    inner: dict[Any, Size] = field(default_factory=dict)
    sizes: dict[Symbol, Any] = field(default_factory=dict)

    def region(self) -> Region:
        inputs = tuple(map(self._input, (*self.body.inputs, *self.captured)))
        nodes = tuple(copy_node(node, self.own, self._mapped) for node in self.body.nodes)
        return Region(
            self.body.name, Block(inputs, nodes, tuple(map(self._mapped, self.body.outputs))), self.sizes
        )

    def _input(self, value: Value) -> Value:
        # The symbols of its sizes refer to the value, so the value is made before its sizes.
        made = self.own[value] = Value(value.name, value.spec)
        made.spec = ArraySpec(
            tuple(self._input_size(made, axis, dim) for axis, dim in enumerate(value.shape)), value.dtype
        )
        return made

    def _input_size(self, made: Value, axis: int, dim: Any) -> Any:
        if not isinstance(dim, Size):
            return dim
        if dim not in self.inner:
            symbol = Symbol(made, axis, dim.hint)
            self.inner[dim] = Size.of(symbol)
            if not any(source.source in self.body.inputs for source in dim.symbols()):
                self.sizes[symbol] = dim
        return self.inner[dim]

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.own[item]
        if not isinstance(item, Size):
            return item
        known = self.inner.get(item)
        return substitute(item, self._symbol) if known is None else known

    def _symbol(self, symbol: Symbol) -> Size:
        if (known := self.inner.get(Size.of(symbol))) is not None:
            return known
        if symbol.source not in self.own:
            raise InvalidGraph(f"{symbol!r} is read in {self.body.name}, and nothing that it captures has it")
        made = symbol.of(self.own[symbol.source])
        # A size of one of the body's own inputs has no counterpart outside.
        if symbol.source in self.captured:
            self.sizes[made] = Size.of(symbol)
        return self.inner.setdefault(Size.of(symbol), Size.of(made))


Made = TypeVar("Made", bound="Builder")
_NOWHERE = Origin()


class Builder:
    """Builder that appends nodes to ``graph``. Canonical operations without regions are its methods.

    origin: source location given to the nodes.
    outside(value): returns the node that produces a value which this builder did not create, or None.

    >>> from graph_compiler.ir.graph import Graph
    >>> from graph_compiler.ops.registry import ArraySpec
    >>> build = Builder(Graph("f", "canonical"))
    >>> x = build.input("x", ArraySpec((2, 3), "float32"))
    >>> build.sum(build.multiply(x, 2.0), axis=1)
    %sum: float32[x.shape[0]]
    """

    def __init__(
        self, graph: Graph, origin: Origin = _NOWHERE, outside: Callable[[Value], Node | None] | None = None
    ) -> None:
        self.graph, self.origin = graph, origin
        self._made: dict[Value, Node] = {}
        self._outside = graph.maker if outside is None and graph.nodes else outside

    @classmethod
    def into(cls: type[Made], rewriter: Rewriter, origin: Origin = _NOWHERE) -> Made:
        return cls(Graph("scratch", "canonical", nodes=rewriter.nodes), origin, rewriter.maker)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = get(name)

        def make(*inputs: Any, **params: Any) -> Any:
            return self.apply(op, inputs, params)

        # The next access finds the attribute without this method.
        setattr(self, name, make)
        return make

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Append a node for ``op`` and return its output, or a tuple of outputs.

        If an array is known to equal the result, return it and append nothing.
        """
        params = complete_params(op, params)
        if not (op.variadic or op.required <= len(inputs) <= len(op.inputs)):
            raise InvalidGraph(f"{op.name} takes {', '.join(op.inputs)}; {len(inputs)} inputs were given")
        same = identity_of(op.name, inputs, params, self.maker)
        if same is not None:
            return same
        return self.append(op.name, inputs, params, op.infer(*map(_spec, inputs), **params))

    def maker(self, item: Any) -> Node | None:
        if not isinstance(item, Value):
            return None
        made = self._made.get(item)
        return self._outside(item) if made is None and self._outside is not None else made

    def append(
        self,
        name: str,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        specs: Any,
        regions: tuple[Region, ...] = (),
    ) -> Any:
        """Append a node without checking its arguments; return its output, or a tuple if ``specs`` is one."""
        several = isinstance(specs, tuple)
        shared: dict[int, Size] = {}
        outputs = tuple(
            _output(name, self.settled(spec), shared) for spec in (specs if several else (specs,))
        )
        node = Node(name, inputs, params, self.origin, outputs, regions=regions)
        self.graph.nodes.append(node)
        self._made.update(dict.fromkeys(outputs, node))
        return outputs if several else outputs[0]

    # ------------------------------------------------------------------------------ regions
    def argument(self, name: str, spec: ArraySpec) -> Value:
        return Value(name, spec)

    @contextmanager
    def block(self) -> Iterator[list[Node]]:
        """Yield a list that collects the nodes appended inside the context: the body of a region."""
        outside, self.graph.nodes = self.graph.nodes, []
        try:
            yield self.graph.nodes
        finally:
            self.graph.nodes = outside

    def body(self, name: str, inputs: Sequence[Value], write: Callable[..., Any]) -> Body:
        with self.block() as nodes:
            outputs = write(*inputs)
        return Body(name, tuple(inputs), tuple(nodes), tuple(outputs))

    def run(
        self, name: str, operands: Sequence[Any], bodies: Sequence[Body], **params: Any
    ) -> tuple[Value, ...]:
        """Append a node that runs ``bodies``, and return its outputs.

        Raise ``UnsupportedOperation`` if the size of an output is read from a value computed in a body.
        """
        regions, captured = close(*bodies)
        # Each iteration may have another size, so no symbol of the enclosing scope can express it.
        for region in regions:
            self._refuse_inner_sizes(region)
        op, inputs = get(name), (*operands, *captured)
        params = complete_params(op, params)
        made: tuple[Value, ...] = self.append(
            name,
            inputs,
            params,
            op.infer(*map(_spec, inputs), **op.named_regions(regions), **params),
            regions,
        )
        return made

    def _refuse_inner_sizes(self, region: Region) -> None:
        for spec in region.specs_outside():
            if any(_has_inner(region, dim) for dim in spec.shape):
                raise UnsupportedOperation(
                    f"a result of {region.name} has a size that depends on elements, which each step or "
                    "branch may have another of; "
                    f"use a mask instead\n    {self.origin}"
                )

    def settled(self, spec: ArraySpec) -> ArraySpec:
        return spec

    # ------------------------------------------------------------------------------ sources
    def input(self, name: str, spec: ArraySpec) -> Value:
        value = _source(name, spec)
        self.graph.inputs.append(value)
        return value

    def parameter(self, name: str, spec: ArraySpec) -> Value:
        value = self.graph.parameters[name] = Value(name, spec)
        return value

    def constant(self, name: str, spec: ArraySpec, array: Any) -> Value:
        while name in self.graph.constants:
            name += "_"
        value = Value(name, spec)
        self.graph.constants[name] = (value, array)
        return value


def symbolic(value: Value, axes: Any, shared: dict[int, Size] | None = None) -> None:
    """Replace unknown sizes of ``value``, and its sizes at ``axes``, by symbols.

    ``shared`` maps the ``id`` of an ``Unknown`` object to its size, and is updated.
    """
    known = {} if shared is None else shared

    def settled(axis: int, dim: Any) -> Any:
        if isinstance(dim, Unknown):
            return known.setdefault(id(dim), Size.of(Symbol(value, axis, dim.hint)))
        return Size.of(Symbol(value, axis, dim)) if axis in axes else dim

    value.spec = ArraySpec(
        tuple(settled(axis, dim) for axis, dim in enumerate(value.spec.shape)), value.spec.dtype
    )


def _has_inner(region: Region, dim: Any) -> bool:
    made = {value for node in region.block.nodes for value in node.outputs}
    return isinstance(dim, Size) and any(symbol.source in made for symbol in dim.symbols())


def _source(name: str, spec: ArraySpec) -> Value:
    value = Value(name, spec)
    symbolic(value, range(spec.ndim))
    return value


def _spec(operand: Any) -> Any:
    return operand.spec if isinstance(operand, Value) else operand


def _output(name: str, spec: ArraySpec, shared: dict[int, Size]) -> Value:
    value = Value(name, spec)
    if any(isinstance(dim, Unknown) for dim in spec.shape):
        symbolic(value, (), shared)
    return value
