"""Parser and printer of canonical graphs as text, for tests of passes.

The text is Python. An annotation declares an input (``x: float32[n, 4]``), a parameter (``w: float32[4] =
parameter``) or a constant (``c: int32[2] = [3, 5]``); ``int32`` alone is an array without axes. An
assignment appends nodes, and ``return`` names the results. A new name in the shape of an input is the
symbolic size of that axis. A function is the body of a ``call``, ``scan``, ``while_loop``, ``branch`` or
``associative_scan``, and may read any value above it. ``item(i)`` is an array without axes as a number in
a key, ``guard(size)`` and ``guard(value, expected)`` are guards, ``effect(kind, target, value)`` is an
effect. Functions of sizes have the names of ``graph_compiler.sizes`` (``max(n, 0)``, ``ge(n, 2)``).
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graph_compiler.ir import (
    Block,
    Builder,
    Effect,
    Graph,
    Guard,
    Node,
    Origin,
    Region,
    Value,
    to_text,
    verify,
)
from graph_compiler.ir.node import every, values_in
from graph_compiler.ops import ArraySpec, all_ops
from graph_compiler.sizes import Size, Symbol, apply, hint_of, substitute
from graph_compiler.sizes.algebra import FUNCTIONS
from graph_compiler.trees import Branch, Leaf

HINTS = {"n": 5, "m": 4, "k": 3}
"""The sizes while recording, by name."""
_NAMED = "__named__"


@dataclass
class Reader:
    """Interpreter that runs a text and adds what it declares to ``graph``.

    hints: concrete size for each symbolic size, by name.
    graph: the graph under construction.
    names: namespace in which the text runs.
    regions: regions of calls by function, sizes and dtypes, so that equal calls share one.
    """

    hints: Mapping[str, int]
    graph: Graph = field(default_factory=lambda: Graph("f", "canonical"))
    names: dict[str, Any] = field(default_factory=dict)
    regions: dict[Any, Region] = field(default_factory=dict)
    """Those of calls, by what they depend on."""

    def __post_init__(self) -> None:
        self.build = Builder(self.graph)
        sizes = {name: _of_sizes(name) for name in FUNCTIONS}
        ops = {name: getattr(self.build, name) for name in all_ops()}
        both = {name: _either(ops[name], sizes[name]) for name in ops.keys() & sizes.keys()}
        control = {
            name: getattr(self, name)
            for name in ("call", "scan", "while_loop", "branch", "associative_scan", "guard", "effect")
        }
        self.names.update({**sizes, **ops, **both, **control, "item": _item, _NAMED: self._named})

    def read(self, text: str) -> Graph:
        """Run the text and return the graph, verified."""
        for statement in ast.parse(textwrap.dedent(text)).body:
            if isinstance(statement, ast.AnnAssign):
                self._declare(statement)
            elif isinstance(statement, ast.Return):
                made = self._value(statement.value)
                self.graph.outputs = list(made) if isinstance(made, tuple) else [made]
            else:
                code = ast.fix_missing_locations(_Naming().visit(ast.Module([statement], [])))
                exec(compile(code, "<graph>", "exec"), self.names)
        count = len(self.graph.outputs)
        self.graph.output_tree = Branch(tuple, tuple(range(count)), (Leaf(),) * count)
        return verify(self.graph)

    # ------------------------------------------------------------------------------ declarations
    def _declare(self, statement: ast.AnnAssign) -> None:
        assert isinstance(statement.target, ast.Name)
        name, given = statement.target.id, statement.annotation
        axes = given.slice if isinstance(given, ast.Subscript) else ast.Tuple([], ast.Load())
        dims, dtype = (
            axes.elts if isinstance(axes, ast.Tuple) else [axes],
            ast.unparse(given).partition("[")[0],
        )
        value = self.names[name] = Value(name, ArraySpec((), dtype))
        value.spec = ArraySpec(tuple(self._dim(value, axis, dim) for axis, dim in enumerate(dims)), dtype)
        if statement.value is None:
            self.graph.inputs.append(value)
        elif ast.unparse(statement.value) == "parameter":
            self.graph.parameters[name] = value
        else:
            self.graph.constants[name] = (value, np.array(self._value(statement.value), dtype))

    def _dim(self, value: Value, axis: int, dim: ast.expr) -> Any:
        if isinstance(dim, ast.Name) and dim.id not in self.names:
            self.names[dim.id] = Size.of(Symbol(value, axis, self.hints[dim.id]))
        return self._value(dim)

    def _value(self, expression: ast.expr | None) -> Any:
        return eval(compile(ast.Expression(expression or ast.Constant(None)), "<graph>", "eval"), self.names)

    def _named(self, names: Sequence[str], write: Callable[[], Any]) -> Any:
        """Call ``write`` and give the values that it creates these names; values that existed before keep
        theirs.
        """
        nodes, before = self.graph.nodes, len(self.graph.nodes)
        made = write()
        fresh = {value for node in nodes[before:] for value in node.outputs}
        for name, value in zip(names, made if isinstance(made, tuple) else (made,), strict=True):
            if isinstance(value, Value) and value in fresh:
                value.name = name
        return made

    # ------------------------------------------------------------------------------ guards, effects, regions
    def guard(self, condition: Any, expected: Any = True) -> None:
        self.graph.guards.append(Guard(condition, expected, Origin()))

    def effect(self, kind: str, target: Any, value: Value) -> None:
        self.graph.effects.append(Effect(kind, target, value))

    def call(self, operands: Sequence[Value], body: Callable[..., Any], **params: Any) -> Any:
        """Append a ``call`` of ``body``. Calls of one function with operands of equal sizes and dtypes share
        a region.
        """
        made = self._run("call", operands, [(body, operands)], **params)
        node = self.graph.nodes.pop()
        (own,) = node.regions
        region = self.regions.setdefault(
            (body, tuple(own.sizes.values()), tuple(item.dtype for item in operands)), own
        )
        self.graph.nodes.append(replace(node, regions=(region,)))
        return made

    def scan(
        self, carried: Sequence[Value], sequences: Sequence[Value], body: Callable[..., Any], **params: Any
    ) -> Any:
        """Append a ``scan`` whose ``body`` takes the carry and one row of each sequence."""
        rows = [Value(item.name, ArraySpec(item.shape[1:], item.dtype)) for item in sequences]
        counts = {"carried": len(carried), "sequences": len(sequences)}
        return self._run("scan", [*carried, *sequences], [(body, [*carried, *rows])], **counts, **params)

    def while_loop(
        self, carried: Sequence[Value], condition: Callable[..., Any], body: Callable[..., Any], **params: Any
    ) -> Any:
        return self._run(
            "while_loop", carried, [(condition, carried), (body, carried)], carried=len(carried), **params
        )

    def branch(self, index: Value, operands: Sequence[Value], *branches: Callable[..., Any]) -> Any:
        return self._run("branch", [index, *operands], [(each, operands) for each in branches])

    def associative_scan(
        self, sequences: Sequence[Value], combine: Callable[..., Any], axis: int = 0, **params: Any
    ) -> Any:
        """Append an ``associative_scan``; the number of pairs that ``combine`` gets is the size of its first
        input.
        """
        first = Value("left", sequences[0].spec)
        own = Size.of(Symbol(first, axis, sequences[0].spec.hints[axis]))
        pairs = [
            Value(item.name, ArraySpec((*item.shape[:axis], own, *item.shape[axis + 1 :]), item.dtype))
            for item in sequences * 2
        ]
        first.spec, pairs[0] = pairs[0].spec, first
        body = self.build.body(combine.__name__, pairs, lambda *inputs: _tuple(combine(*inputs)))
        return _one(
            self.build.run(
                "associative_scan", sequences, [body], sequences=len(sequences), axis=axis, **params
            )
        )

    def _run(
        self,
        op: str,
        operands: Sequence[Value],
        bodies: Sequence[tuple[Callable[..., Any], Sequence[Value]]],
        **params: Any,
    ) -> Any:
        written = []
        for function, given in bodies:
            names = function.__code__.co_varnames[: function.__code__.co_argcount]
            inputs = [Value(name, item.spec) for name, item in zip(names, given, strict=True)]
            written.append(
                self.build.body(
                    function.__name__, inputs, lambda *values, function=function: _tuple(function(*values))
                )
            )
        return _one(self.build.run(op, operands, written, **params))


class _Naming(ast.NodeTransformer):
    """Transformer that passes the names on the left of an assignment to ``Reader._named``."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        (target,) = node.targets
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        words: list[ast.expr] = [ast.Constant(name.id) for name in names if isinstance(name, ast.Name)]
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        call = ast.Call(
            ast.Name(_NAMED, ast.Load()), [ast.Tuple(words, ast.Load()), ast.Lambda(nothing, node.value)], []
        )
        return ast.Assign([target], call)


def _tuple(made: Any) -> tuple[Any, ...]:
    return made if isinstance(made, tuple) else (made,)


def _one(made: tuple[Value, ...]) -> Any:
    return made if len(made) != 1 else made[0]


def _item(value: Value) -> Size:
    return Size.of(Symbol(value, 0, 0, "item"))


def _of_sizes(function: str) -> Callable[..., Any]:
    return lambda *numbers: apply(function, *numbers)


def _either(op: Callable[..., Any], of_sizes: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **params: (op if any(isinstance(item, Value) for item in given) else of_sizes)(
        *given, **params
    )


# ---------------------------------------------------------------------------------------------- graphs
def read(text: str, **hints: int) -> Graph:
    """Return the graph that a text describes, verified; ``hints`` overrides the concrete sizes of
    :data:`HINTS`.

    >>> print(written(read("x: float32[n, 2]; y = add(x, 1.0); return multiply(y, x)")))
    graph f (canonical): %x: float32[x.shape[0], 2]
       %y: float32[x.shape[0], 2] = add(%x, 1.0)
       %multiply: float32[x.shape[0], 2] = multiply(%y, %x)
       return (%multiply,)
    """
    return Reader({**HINTS, **hints}).read(text)


def numbered(graph: Graph) -> str:
    """Return the text of a graph in a canonical order, with numbered values.

    Graphs that differ only in names and in the order of independent nodes have the same text.
    """
    ordered = graph.derive(nodes=list(_ordered(graph.block).nodes))
    nodes = list(every(ordered.nodes))
    made = list(
        dict.fromkeys(
            value
            for node in nodes
            for value in (*node.outputs, *(item for each in node.regions for item in each.block.inputs))
        )
    )
    names = [value.name for value in made]
    try:
        for number, value in enumerate(made):
            value.name = f"v{number}"
        return written(ordered)
    finally:
        for name, value in zip(names, made, strict=True):
            value.name = name


def _ordered(block: Block) -> Block:
    """Return the block with each node directly before the first node that needs it, and unused nodes last."""
    nodes: dict[Node, Node] = {}
    regions = {
        id(each): replace(each, block=_ordered(each.block)) for node in block.nodes for each in node.regions
    }

    def visit(node: Node | None) -> None:
        if node is None or node in nodes:
            return
        for value in node.uses:
            visit(block.maker(value))
        nodes[node] = replace(node, regions=tuple(regions[id(each)] for each in node.regions))

    for value in values_in(block.outputs):
        visit(block.maker(value))
    for node in block.nodes:
        visit(node)
    return replace(block, nodes=tuple(nodes.values()))


def written(graph: Graph) -> str:
    """Return everything of a graph that a pass may change, as text."""
    lines = [to_text(graph)]
    lines += [f"   parameter {value!r}" for value in graph.parameters.values()]
    lines += [
        f"   constant {value!r} = {np.asarray(array).tolist()}" for value, array in graph.constants.values()
    ]
    lines += [f"   guard {_named(guard.condition)} is {guard.expected!r}" for guard in graph.guards]
    lines += [f"   effect {effect.kind} {effect.target} = {_named(effect.value)}" for effect in graph.effects]
    return "\n".join(lines)


def _named(item: Any) -> str:
    return f"%{item.name}" if isinstance(item, Value) else str(item)


def shapes_of(graph: Graph, **sizes: int) -> list[tuple[int, ...]]:
    """Return the shapes of the inputs if the sizes of :data:`HINTS` named in ``sizes`` have other values.

    Sizes with equal hints get equal values.
    """
    others = {HINTS[name]: size for name, size in sizes.items()}
    return [
        tuple(
            hint_of(substitute(dim, lambda symbol: others.get(symbol.hint, symbol.hint)))
            for dim in value.shape
        )
        for value in graph.inputs
    ]


def arrays_for(graph: Graph, seed: int = 0, **sizes: int) -> list[Any]:
    """Return random arrays for the inputs: floats with zeros of both signs, small integers, booleans."""
    rng = np.random.default_rng(seed)
    return [_array(rng, shape, value.dtype) for value, shape in zip(graph.inputs, shapes_of(graph, **sizes))]


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "bool":
        return np.array(rng.integers(0, 2, shape), bool)
    if dtype.startswith(("int", "uint")):
        return np.array(rng.integers(0, 3, shape), dtype)
    array = np.array(rng.uniform(-2, 2, shape), dtype)
    array[rng.random(shape) < 0.1] = -0.0
    return array
