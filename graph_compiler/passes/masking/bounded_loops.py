"""Give fixed lengths to loops and slices that depend on an outer loop index.

This is for targets whose loop indices are arrays. In ``for i in range(n): for j in range(i)`` the inner loop
runs the largest trip count each time. Iterations beyond the actual trip count take a branch that changes
nothing. So the trip count of the inner loop is known before the outer loop, and gradients can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...ir.builder import Body, Builder, close
from ...ir.graph import Graph, Guard
from ...ir.node import Block, Node, Region, Value, every
from ...ir.rewrite import Rewriter, inline
from ...ops.control import own_operands
from ...ops.registry import ArraySpec
from ...sizes import Apply, Size, Symbol, apply, hint_of, substitute
from ...sizes.bounds import upper_bound
from ...trees import iterate_structure, map_structure
from ..driver import only_with
from .ragged import ROWS, CannotPad, EqualSizesBuilder, PaddedArray, PaddedBuilder, PaddedRewrite

# ---------------------------------------------------------------------------------------------- moving slices
# Slices of constant length that begin at a loop index become dynamic slices, and those with a step become
# reads and writes by index, because the index is an array in the target.

_WHOLE = (None, None, 1)
_INDEXED = ("getitem", "setitem")
Key = tuple[Any, ...]


@only_with(*_INDEXED)
def moving_slices(graph: Graph) -> tuple[Graph, bool]:
    block = graph.block
    made = _SliceRewriter(frozenset()).block(block)
    return (graph, False) if made is block else (graph.with_block(made), True)


class _SliceRewriter:
    """Rewriter of a block and its regions, for slices whose start changes between iterations of a loop.

    numbers: symbols that may change between iterations.
    """

    def __init__(self, numbers: frozenset[Symbol]) -> None:
        self.numbers = numbers

    def block(self, block: Block) -> Block:
        nodes = [self._inside(node) if node.regions else node for node in block.nodes]
        if not any(map(self._moves, nodes)):
            return (
                block
                if all(new is old for new, old in zip(nodes, block.nodes))
                else Block(block.inputs, tuple(nodes), block.outputs)
            )
        rewriter = Rewriter(block)
        for node in map(rewriter.rewritten, nodes):
            if self._moves(node):
                self._replace(rewriter, node)
            else:
                rewriter.append(node)
        return rewriter.finish()

    def _replace(self, rewriter: Rewriter, node: Node) -> None:
        scratch = Graph("scratch", "canonical")
        build = Builder(scratch, node.origin, rewriter.maker)
        picked = _MovingKey(build, node.params["key"], self.is_moving)
        found = picked.read(node.inputs[0]) if node.op == "getitem" else picked.written(*node.inputs)
        found.name = node.outputs[0].name
        for part in scratch.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, (found,))

    # ------------------------------------------------------------------------------ regions
    def _inside(self, node: Node) -> Node:
        regions = tuple(self._region(node, region) for region in node.regions)
        return (
            node
            if all(new is old for new, old in zip(regions, node.regions))
            else replace(node, regions=regions)
        )

    def _region(self, node: Node, region: Region) -> Region:
        read = {symbol for inner in region.block.nodes for symbol in _symbols(inner)}
        given = {value for value in region.block.inputs if value not in self._counters(node, region)}
        known = (
            symbol for symbol in read if symbol in region.sizes and self._reads_number(region.sizes[symbol])
        )
        numbers = frozenset(
            (*known, *(symbol for symbol in read if symbol.kind == "item" and symbol.source not in given))
        )
        made = _SliceRewriter(numbers).block(region.block)
        return region if made is region.block else replace(region, block=made)

    @staticmethod
    def _counters(node: Node, region: Region) -> tuple[Value, ...]:
        carried = node.params.get("carried", 0)
        return region.block.inputs[carried : carried + node.params["sequences"]] if node.op == "scan" else ()

    # ------------------------------------------------------------------------------ keys
    def _moves(self, node: Node) -> bool:
        return bool(self.numbers) and node.op in _INDEXED and any(map(self.is_moving, node.params["key"]))

    def is_moving(self, item: Any) -> bool:
        if not isinstance(item, tuple) or item[1] is None or not self._reads_number(item[0]):
            return False
        # The length of the slice must be the same in each iteration.
        return not self._reads_number(item[1] - item[0])

    def _reads_number(self, size: Any) -> bool:
        return isinstance(size, Size) and not self.numbers.isdisjoint(size.symbols())


def _symbols(node: Node) -> Any:
    sizes = iterate_structure(
        (node.inputs, node.params, [list(region.sizes.values()) for region in node.regions])
    )
    return (symbol for size in sizes if isinstance(size, Size) for symbol in size.symbols())


class _MovingKey:
    """Key with at least one slice whose start may change between iterations of a loop.

    still: the key with a full slice in place of each moving one.
    windows: moving slices of step 1, by their axis in the array that ``still`` selects.
    spread: pairs of an axis of that array and a moving slice with another step.
    """

    def __init__(self, build: Builder, key: Key, is_moving: Callable[[Any], bool]) -> None:
        self.build = build
        self.still: Key = tuple(_WHOLE if is_moving(item) else item for item in key)
        kept: list[Any] = [item for item in key if item is None or isinstance(item, tuple)]
        moving = [(axis, item) for axis, item in enumerate(kept) if is_moving(item)]
        self.windows = {axis: item for axis, item in moving if item[2] == 1}
        self.spread = [(axis, item) for axis, item in moving if item[2] != 1]

    def read(self, x: Value) -> Value:
        found = self._part(x)
        for axis, item in self.spread:
            found = self.build.take(found, _places(self.build, item), axis=axis)
        if self.windows:
            found = self.build.dynamic_slice(
                found, *self._starts(), axes=self._axes(), sizes=tuple(map(_width, self.windows.values()))
            )
        return found

    def written(self, x: Value, value: Any) -> Value:
        part = self._part(x)
        written = self._spread(part, value, self.spread)
        whole: Value = written if part is x else self.build.setitem(x, written, key=self.still)
        return whole

    def _part(self, x: Value) -> Value:
        part: Value = (
            self.build.getitem(x, key=self.still) if any(item != _WHOLE for item in self.still) else x
        )
        return part

    def _spread(self, x: Value, value: Any, spread: list[tuple[int, Any]]) -> Value:
        if not spread:
            return self._updated(x, value)
        (axis, item), *others = spread
        places = _places(self.build, item)
        if others or self.windows:
            value = self._spread(self.build.take(x, places, axis=axis), value, others)
        written: Value = self.build.scatter_nd(x, value, places, axes=(axis,))
        return written

    def _updated(self, x: Value, value: Any) -> Value:
        shape = tuple(
            _width(self.windows[axis]) if axis in self.windows else size for axis, size in enumerate(x.shape)
        )
        is_array = isinstance(value, Value)
        update = (
            self.build.broadcast_to(value, shape=shape)
            if is_array
            else self.build.full(shape=shape, fill_value=value, dtype=x.dtype)
        )
        written: Value = self.build.dynamic_update_slice(x, update, *self._starts(), axes=self._axes())
        return written

    def _starts(self) -> tuple[Any, ...]:
        return tuple(item[0] for item in self.windows.values())

    def _axes(self) -> tuple[int, ...]:
        return tuple(self.windows)


def _width(item: Any) -> Any:
    return item[1] - item[0]


def _places(build: Builder, item: Any) -> Value:
    start, stop, step = item
    places: Value = build.add(
        build.multiply(build.arange(stop=(stop - start + step - 1) // step, dtype="int64"), step), start
    )
    return places


# ---------------------------------------------------------------------------------------------- bounded loops
def moves_with_steps(graph: Graph) -> bool:
    return any(_moves(node, frozenset()) for node in graph.nodes)


def _moves(node: Node, numbers: frozenset[Value]) -> bool:
    for region in node.regions:
        own = {
            symbol.source
            for symbol, size in region.sizes.items()
            if isinstance(size, Size) and _reads(size, numbers)
        }
        if node.op == "scan":
            own.update(region.block.inputs[node.params["carried"] :][: node.params["sequences"]])
        inside = frozenset(own)
        if any(
            _moves(inner, inside) or any(_reads(size, inside) for size in _bounds(inner))
            for inner in region.block.nodes
        ):
            return True
    return False


def _reads(size: Size, numbers: frozenset[Value]) -> bool:
    return any(symbol.source in numbers for symbol in size.symbols())


def _bounds(node: Node) -> Iterator[Size]:
    given = [part for item in node.inputs for part in (item if isinstance(item, tuple) else (item,))]
    slices = [part for item in given if isinstance(item, slice) for part in (item.start, item.stop)]
    parts = node.inputs if node.key == "arange" else slices
    yield from (part for part in (*parts, node.params.get("length")) if isinstance(part, Size))


_NUMBER = ArraySpec((), "int64")
_OPENED = ("scan", "while_loop", "branch")
Ends = Mapping[Value, "tuple[Any, Any]"]


@only_with(*_OPENED)
def bounded_loops(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with upper bounds for trip counts that depend on an outer loop index.

    A branch skips the iterations beyond the actual trip count. Loops that cannot be bounded remain.
    """
    if not any(map(_is_open, graph.nodes)):
        return graph, False
    return graph.with_block(
        Block(graph.block.inputs, tuple(_BoundingScope({}).nodes(graph.nodes)), graph.block.outputs)
    ), True


def _is_open(node: Node) -> bool:
    if node.op not in _OPENED or node.record is not None:
        return False
    inside = [inner for region in node.regions for inner in region.block.nodes]
    return any(_has_number(inner) or _is_open(inner) for inner in inside)


def _has_number(node: Node) -> bool:
    length = node.params.get("length") if node.op == "scan" else None
    return isinstance(length, Size) and any(symbol.kind == "item" for symbol in length.symbols())


class _BoundingScope:
    """Rewriter that bounds the trip counts of loops among nodes of one block.

    While a region is rewritten, its nodes read values and sizes of the enclosing blocks directly.

    ends: bounds of loop indices of enclosing loops.
    """

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    def nodes(self, nodes: Sequence[Node]) -> list[Node]:
        makers = {value: node for node in nodes for value in node.outputs}
        made: list[Node] = []
        for node in nodes:
            counters = self._counters(node, makers)
            bound = self._bound(node) if all(counter is not None for counter in counters) else None
            if bound is not None:
                made += self._bounded(node, bound, [counter for counter in counters if counter is not None])
            else:
                made.append(self._opened(node, counters) if _is_open(node) else node)
        return made

    @staticmethod
    def _counters(node: Node, makers: Mapping[Value, Node]) -> list[Node | None]:
        if node.op != "scan":
            return []
        carried = node.params["carried"]
        found = map(makers.get, node.inputs[carried : carried + node.params["sequences"]])
        return [maker if maker is not None and maker.op == "arange" else None for maker in found]

    def _bound(self, node: Node) -> Any:
        if not _has_number(node) or len(node.outputs) > node.params["carried"] or node.params["reverse"]:
            return None
        length = node.params["length"]
        return (
            upper_bound(length, self._ends)
            if any(self._ends(symbol) for symbol in length.symbols())
            else None
        )

    def _ends(self, symbol: Symbol) -> tuple[Any, Any] | None:
        return self.ends.get(symbol.source)

    def _opened(self, node: Node, counters: Sequence[Node | None]) -> Node:
        first = int(node.op == "branch")
        own = first + own_operands(node.params)
        bodies = [self._body(node, region, first, own, counters) for region in node.regions]
        regions, captured = close(*bodies)
        return replace(node, inputs=(*node.inputs[:own], *captured), regions=regions)

    def _body(
        self, node: Node, region: Region, first: int, own: int, counters: Sequence[Node | None]
    ) -> Body:
        carried = first + node.params.get("carried", 0)
        rows = [ArraySpec(item.shape[1:], item.dtype) for item in node.inputs[carried:own]]
        specs = [*(item.spec for item in node.inputs[first:carried]), *rows]
        inputs = [Value(value.name, spec) for value, spec in zip(region.block.inputs, specs)]
        nodes: list[Node] = []
        outputs = inline(region, [*inputs, *node.inputs[own:]], nodes.append)
        ends = {
            value: ends_of(counter)
            for value, counter in zip(inputs[carried - first :], counters)
            if counter is not None
        }
        return Body(region.name, inputs, _BoundingScope({**self.ends, **ends}).nodes(nodes), outputs)

    def _bounded(self, node: Node, bound: Any, counters: Sequence[Node]) -> list[Node]:
        build, carried = Builder(Graph("scratch", "canonical"), node.origin), node.params["carried"]
        state = [Value(value.name, value.spec) for value in node.inputs[:carried]]
        number = Value("step", _NUMBER)
        step, still = _split_still_reads(
            self._step(build, node, [*state], number, counters), {*state, number}
        )
        build.graph.nodes.extend(still)
        with build.block() as nodes:
            held = build.less(number, without_max_zero(node.params["length"]))
            outputs = build.run("branch", [held], [Body("skipped", (), (), state), step])
        steps = build.arange(stop=bound, dtype=_NUMBER.dtype)
        options = {**node.params, "sequences": 1, "length": bound}
        build.run(
            "scan",
            [*node.inputs[:carried], steps],
            [Body(node.regions[0].name, (*state, number), nodes, outputs)],
            **options,
        )
        *before, loop = build.graph.nodes
        return [*before, replace(loop, outputs=node.outputs)]

    def _step(
        self, build: Builder, node: Node, state: list[Value], number: Value, counters: Sequence[Node]
    ) -> Body:
        own = own_operands(node.params)
        with build.block() as nodes:
            numbers = [
                build.add(_times(build, number, each.params["step"]), each.params["start"])
                for each in counters
            ]
            for made, old in zip(numbers, node.regions[0].block.inputs[len(state) :]):
                made.name = old.name
            outputs = inline(
                node.regions[0], [*state, *numbers, *node.inputs[own:]], build.graph.nodes.append
            )
        inner = _BoundingScope(
            {**self.ends, **{value: ends_of(counter) for value, counter in zip(numbers, counters)}}
        )
        return Body("step", (), inner.nodes(nodes), outputs)


def _split_still_reads(step: Body, changing: set[Value]) -> tuple[Body, list[Node]]:
    """Return ``step`` without its own reads of unchanging arrays by an index, and these reads.

    ``changing`` has the inputs that differ between iterations.
    """
    # The caller puts them before the branch, because no later pass moves them out of it.
    nodes: list[Node] = []
    still: list[Node] = []
    for node in step.nodes:
        is_still = (
            node.op == "getitem"
            and node.outputs[0].ndim < node.inputs[0].ndim
            and changing.isdisjoint(node.uses)
        )
        (still if is_still else nodes).append(node)
        changing = changing if is_still else changing.union(node.outputs)
    return Body(step.name, step.inputs, nodes, step.outputs), still


def without_max_zero(length: Any) -> Any:
    """Return ``n`` for a trip count ``max(n, 0)``, and any other trip count unchanged."""
    alone = next(length.atoms(), None) if isinstance(length, Size) else None
    if (
        isinstance(alone, Apply)
        and alone.function == "max"
        and length == Size.of(alone)
        and 0 in alone.arguments
    ):
        return next(item for item in alone.arguments if item != 0)
    return length


def _times(build: Builder, number: Value, step: int) -> Any:
    return number if step == 1 else build.multiply(number, step)


def ends_of(counter: Node) -> tuple[Any, Any]:
    start, stop, step = (counter.params[name] for name in ("start", "stop", "step"))
    return (start, stop - 1) if step > 0 else (stop + 1, start)


# A loop may be inside of any of these.
@only_with("associative_scan", "branch", "call", "custom_derivative", "scan", "while_loop")
def pad_ragged_arrays(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with padded arrays instead of arrays sized by a loop index.

    Raise ``CannotPad`` if an operation has no equivalent on padded arrays.
    """
    inside = every(inner for node in graph.nodes for region in node.regions for inner in region.block.nodes)
    if not any(_is_uneven(value) for inner in inside for value in inner.outputs):
        return graph, False
    widening = _PaddingRewriter()
    nodes = widening.nodes(graph.nodes)
    return graph.derive(nodes=nodes, guards=[*graph.guards, *dict.fromkeys(widening.guards)]), True


def _is_uneven(value: Value) -> bool:
    return any(
        symbol.kind == "item" for size in value.shape if isinstance(size, Size) for symbol in size.symbols()
    )


class _PaddingRewriter:
    """Rewriter of one graph to padded arrays.

    While a region is rewritten, its nodes read values of the enclosing blocks directly.
    """

    def __init__(self) -> None:
        self.build = EqualSizesBuilder(Graph("scratch", "canonical"))
        self.padded = PaddedBuilder(self.build, self._are_equal, self.upper_bound)
        self.guards: list[Guard] = []
        self.ragged: dict[Value, PaddedArray] = {}
        self.inner: set[Value] = set()
        """Values that are computed inside of rewritten regions, and inputs of these."""
        self.ends: dict[Value, tuple[Any, Any]] = {}
        """Bounds of the loop indices."""

    def nodes(self, nodes: Sequence[Node], is_inner: bool = False) -> list[Node]:
        makers = {value: node for node in nodes for value in node.outputs}
        known = dict(self.padded.masks)
        with self.build.block() as made:
            for node in nodes:
                if is_inner:
                    self.inner.update(node.outputs)
                self._node(node, makers)
        self.padded.masks = known
        return made

    def _node(self, node: Node, makers: Mapping[Value, Node]) -> None:
        self.build.origin = node.origin
        node = self._with_widths(node)
        if node.regions and self._has_uneven(node):
            self.build.graph.nodes.append(self._opened(node, makers))
        elif not node.regions and self._is_ragged(node):
            self._widened(node)
        elif any(item in self.ragged for item in node.uses):
            raise self._refused(node)
        else:
            self.build.graph.nodes.append(node)

    def _with_widths(self, node: Node) -> Node:
        if self.ragged.keys().isdisjoint(
            symbol.source for size in _sizes_of(node) for symbol in size.symbols()
        ):
            return node
        self._know(node.outputs)
        inputs, params = (map_structure(self._width, part) for part in (node.inputs, node.params))
        sizes = (
            {symbol: self._width(size) for symbol, size in region.sizes.items()} for region in node.regions
        )
        regions = tuple(replace(region, sizes=known) for region, known in zip(node.regions, sizes))
        return replace(node, inputs=inputs, params=params, regions=regions)

    def _know(self, values: Sequence[Value]) -> None:
        for value in values:
            value.spec = ArraySpec(tuple(map(self._width, value.shape)), value.dtype)

    def _width(self, item: Any) -> Any:
        return substitute(item, self._of_ragged) if isinstance(item, Size) else item

    def _of_ragged(self, symbol: Symbol) -> Any:
        found = self.ragged.get(symbol.source)
        if found is None:
            return Size.of(symbol)
        span = found.spans[symbol.axis]
        return found.full.shape[symbol.axis] if span is None else span.width

    def _refused(self, node: Node) -> CannotPad:
        return CannotPad(
            f"{node.op} of an array that is not equally wide in all steps of a loop has no place in a loop "
            "that counts in arrays. Convert the original for this target, not a graph for another one: its "
            f"loops are written out then\n    {node.origin}"
        )

    # ------------------------------------------------------------------------------ nodes
    def _is_ragged(self, node: Node) -> bool:
        is_cut = node.op in _INDEXED and any(map(self._cuts, node.params["key"]))
        sizes = (size for value in node.outputs for size in value.shape)
        return (
            is_cut
            or any(item in self.ragged for item in node.uses)
            or any(map(self.reads_changing_number, sizes))
        )

    def _cuts(self, item: Any) -> bool:
        if not isinstance(item, tuple):
            return False
        return self.reads_changing_number(item[1]) is not self.reads_changing_number(
            item[0]
        ) or self.reads_changing_number((item[1] or 0) - (item[0] or 0))

    def reads_changing_number(self, size: Any) -> bool:
        return isinstance(size, Size) and any(
            symbol.kind == "item" and symbol.source in self.inner for symbol in size.symbols()
        )

    def _are_equal(self, one: Any, other: Any) -> bool:
        return self._holds(apply("eq", one - other, 0))

    def _holds(self, condition: Any) -> bool:
        if not isinstance(condition, Size):
            return bool(condition)
        if not hint_of(condition) or any(symbol.source in self.inner for symbol in condition.symbols()):
            return False
        self.guards.append(Guard(condition, True, self.build.origin))
        return True

    def upper_bound(self, size: Any) -> Any:
        found = upper_bound(size, lambda symbol: self.ends.get(symbol.source))
        return None if self.reads_changing_number(found) else found

    def is_nonempty(self, width: Any) -> bool:
        none = self.upper_bound(1 - width)
        return none is not None and self._holds(apply("le", none, 0))

    def _widened(self, node: Node) -> None:
        row = ROWS.get(node.op)
        if row is None or len(node.outputs) != 1:
            raise self._refused(node)
        operands = [self.ragged.get(item, item) if isinstance(item, Value) else item for item in node.inputs]
        try:
            made = row(PaddedRewrite(self.padded, node, operands, self))
        except CannotPad as problem:
            raise self._refused(node) from problem
        if isinstance(made, PaddedArray):
            self.ragged[node.outputs[0]] = made
            self._know(node.outputs)
            return
        *before, last = self.build.graph.nodes
        if last.outputs != (made,) or any(map(self.reads_changing_number, node.outputs[0].shape)):
            raise self._refused(node)
        self.build.graph.nodes[:] = [*before, replace(last, outputs=node.outputs)]

    # ------------------------------------------------------------------------------ regions
    def _has_uneven(self, node: Node) -> bool:
        inside = every([inner for region in node.regions for inner in region.block.nodes])
        return any(item in self.ragged for item in node.inputs) or any(
            _is_uneven(value) for inner in inside for value in inner.outputs
        )

    def _opened(self, node: Node, makers: Mapping[Value, Node]) -> Node:
        first = int(node.op == "branch")
        own = len(node.inputs) if node.op == "call" else first + own_operands(node.params)
        if node.op not in ("scan", "while_loop", "branch") or any(
            item in self.ragged for item in node.inputs[:own]
        ):
            raise self._refused(node)
        bodies = [self._body(node, region, first, own, makers) for region in node.regions]
        regions, captured = close(*bodies)
        return replace(node, inputs=(*node.inputs[:own], *captured), regions=regions)

    def _body(self, node: Node, region: Region, first: int, own: int, makers: Mapping[Value, Node]) -> Body:
        carried = first + node.params.get("carried", 0)
        rows = [ArraySpec(item.shape[1:], item.dtype) for item in node.inputs[carried:own]]
        specs = [*(item.spec for item in node.inputs[first:carried]), *rows]
        inputs = [Value(value.name, spec) for value, spec in zip(region.block.inputs, specs)]
        self.inner.update(inputs)
        for value, sequence in zip(inputs[carried - first :], node.inputs[carried:own]):
            maker = makers.get(sequence)
            if maker is not None and maker.op == "arange":
                self.ends[value] = ends_of(maker)
        nodes: list[Node] = []
        outputs = inline(region, [*inputs, *node.inputs[own:]], nodes.append)
        made = self.nodes(nodes, is_inner=True)
        if any(item in self.ragged for item in outputs):
            raise self._refused(node)
        return Body(region.name, inputs, made, outputs)


def _sizes_of(node: Node) -> Iterator[Size]:
    shapes, inner = (
        [value.shape for value in node.outputs],
        [list(region.sizes.values()) for region in node.regions],
    )
    return (
        item
        for item in iterate_structure((node.inputs, node.params, shapes, inner))
        if isinstance(item, Size)
    )
