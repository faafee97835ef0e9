"""Bound the trip counts of ``while`` loops, and pad axes that are indexed in regions.

:func:`trip_bounds` bounds the trip count of a ``while_loop`` by means of its condition and counters.

:func:`pad_indexed_axes` is for targets that compile code even if it never runs. ``while i < n: s += x[i]``
has no iteration if ``x`` is empty, but JAX cannot compile ``x[i]`` for an array without elements. So arrays
that a region reads at computed indices are padded with zeros to the length that is read. The pass is only
correct for source frameworks that raise an error for such indices: the check in their graphs fails if a
padded zero is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Region, Value
from ...ir.rewrite import Rewriter, inline
from ...ops.control import own_operands
from ...ops.dtypes import ITEMSIZE, SIGNED, is_inexact
from ...ops.rules import nonnegative
from ...sizes import Apply, Size, Symbol, apply, substitute
from ..driver import only_with
from ..masking.bounded_loops import without_max_zero

Interval = tuple[Any, Any]
"""Lower and upper bound of an integer scalar; None for an unknown bound."""
_OPEN: Interval = (None, None)
_BITS_OF_SIZES = 31

# Names of canonical operations, and of JAX's primitives for graphs that stay in JAX.
_SAME = frozenset({"astype", "asarray", "convert_element_type_p"})
_COMPARED = {
    "less": "<", "lt_p": "<", "less_equal": "<=", "le_p": "<=",
    "greater": ">", "gt_p": ">", "greater_equal": ">=", "ge_p": ">=",
}  # fmt: skip
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ENTERED = ("scan", "while_loop", "branch")


@only_with("while_loop")
def trip_bounds(graph: Graph) -> tuple[Graph, bool]:
    block = graph.block
    made = _IntervalScope(block, {}).bounded()
    return (graph, False) if made is block else (graph.with_block(made), True)


@dataclass
class _IntervalScope:
    """Block with intervals of its inputs.

    ends: intervals of counters and captured values; ``(None, None)`` if nothing is known.
    makers: nodes of regions that were inlined for analysis, by their outputs.
    """

    block: Block
    ends: Mapping[Value, Interval]
    makers: dict[Value, Node] = field(default_factory=dict)

    def bounded(self) -> Block:
        nodes = tuple(map(self._node, self.block.nodes))
        is_same = all(new is old for new, old in zip(nodes, self.block.nodes))
        return self.block if is_same else Block(self.block.inputs, nodes, self.block.outputs)

    def _node(self, node: Node) -> Node:
        if (
            node.op == "while_loop"
            and node.params.get("most") is None
            # The bound serves derivatives in reverse mode, and only floats have them.
            and any(is_inexact(value.dtype) for value in node.outputs)
        ):
            most = _CountedLoop(self, node).most()
            node = node if most is None else replace(node, params={**node.params, "most": most})
        if node.op not in _ENTERED:
            return node
        regions = tuple(self._region(node, region) for region in node.regions)
        return (
            node
            if all(new is old for new, old in zip(regions, node.regions))
            else replace(node, regions=regions)
        )

    def _region(self, node: Node, region: Region) -> Region:
        made = _IntervalScope(region.block, self._inside(node, region)).bounded()
        return region if made is region.block else replace(region, block=made)

    def _inside(self, node: Node, region: Region) -> dict[Value, Interval]:
        """Return the intervals of the captured values of a region and, in a ``scan``, of its counters."""
        first = int(node.op == "branch")
        own = first + own_operands(node.params)
        given = dict(zip(region.block.inputs[own - first :], map(self.interval, node.inputs[own:])))
        if node.op == "scan":
            given.update(_CountedLoop(self, node).counters(region))
        return {
            value: (_inner_size(region, least), _inner_size(region, greatest))
            for value, (least, greatest) in given.items()
        }

    # ------------------------------------------------------------------------------ numbers
    def maker(self, value: Any) -> Node | None:
        return (self.makers.get(value) or self.block.maker(value)) if isinstance(value, Value) else None

    def interval(self, item: Any) -> Interval:
        if not isinstance(item, Value):
            return (item, item) if type(item) is int or isinstance(item, Size) and item.type is int else _OPEN
        node = self.maker(item)
        if node is None or item.shape:
            return self.ends.get(item, _OPEN)
        known = _NUMBERS.get(_bare_name(node))
        found = _OPEN if known is None else known(self, node)
        # A number that overflows wraps around, so bounds outside of the dtype's range do not hold.
        return found if all(end is None or _fits(item.dtype, end) for end in found) else _OPEN


class _CountedLoop:
    """Loop whose regions are inlined, for an analysis of its counters and its trip count.

    state: values that represent the carry in an iteration.
    scope: the scope of the loop, with the inlined nodes.
    start: intervals of the carry before the loop.
    outputs: outputs of each inlined region.
    """

    def __init__(self, scope: _IntervalScope, node: Node) -> None:
        self.node, self.carried = node, node.params["carried"]
        self.state = [Value(item.name, item.spec) for item in node.outputs[: self.carried]]
        self.scope = replace(scope, makers=dict(scope.makers))
        self.start = [scope.interval(item) for item in node.inputs[: self.carried]]
        self.outputs = [self._opened(region) for region in node.regions]

    def _opened(self, region: Region) -> Sequence[Any]:
        count = own_operands(self.node.params)
        rows = [Value("row", value.spec) for value in region.block.inputs[self.carried : count]]
        return self._inlined(region, [*self.state, *rows, *self.node.inputs[count:]])

    def _inlined(self, region: Region, operands: Sequence[Any]) -> Sequence[Any]:
        nodes: list[Node] = []
        outputs = inline(region, operands, nodes.append)
        self.scope.makers.update((value, node) for node in nodes for value in node.outputs)
        return outputs

    def counters(self, region: Region) -> dict[Value, Interval]:
        """Return known intervals of integers in the carry of a ``scan`` that change by a constant."""
        found: dict[Value, Interval] = {}
        for value, (least, greatest) in zip(region.block.inputs[: self.carried], self.start):
            place = region.block.inputs.index(value)
            step = self._step(place)
            if step and least is not None and greatest is not None:
                reach = (self.node.params["length"] - 1) * step
                ends = (least, greatest + reach) if step > 0 else (least + reach, greatest)
                # A counter that overflows wraps around.
                if all(_fits(value.dtype, end) for end in ends):
                    found[value] = ends
        return found

    def most(self) -> Any:
        found = (self._bound(*each) for each in self._implied(self.outputs[0][0], True, 0))
        return next((most for most in found if most is not None and _is_computed(most)), None)

    def _bound(self, symbol: str, left: Any, right: Any, late: int) -> Any:
        """Return a bound of the trip count of a loop that runs while ``left symbol right``, or None.

        A negative bound means that the loop has no iteration. ``late`` is 1 for a comparison that a flag
        stores for the next iteration, and 0 otherwise.
        """
        for counter, limit, sign in ((left, right, symbol), (right, left, _MIRRORED[symbol])):
            place, offset = self._counted(counter)
            step = 0 if place is None else self._step(place)
            rises = sign[0] == "<"
            if place is None or step == 0 or (step > 0) is not rises:
                continue
            first, last = self.start[place][not rises], self.scope.interval(limit)[rises]
            if first is None or last is None:
                continue
            # The counter exceeds the limit by at most one step, which must not overflow.
            after = last + step + (0 if "=" in sign else -1 if rises else 1)
            # The comparison may be of a cast of the counter.
            is_exact = _fits(counter.dtype, first + offset) and _fits(self.state[place].dtype, after - offset)
            if is_exact and _fits(counter.dtype, after):
                room = last - first - offset if rises else first + offset - last
                count = -(-(room + int("=" in sign)) // abs(step))
                # A flag is computed by the previous iteration, so one more iteration runs.
                return apply("max", count, 0) + 1 if late else without_max_zero(count)
        return None

    def _counted(self, item: Any) -> tuple[int | None, int]:
        """Return the index in the carry of the value to which ``item`` adds a constant, and the constant.

        The index is None if there is no such value.
        """
        if item in self.state:
            return self.state.index(item), 0
        node = self.scope.maker(item)
        # Sums of floats round, so a float counts no iterations exactly.
        if node is None or item.shape or is_inexact(item.dtype):
            return None, 0
        if _bare_name(node) in _SAME:
            return self._counted(node.inputs[0])
        sign = _STEPS.get(_bare_name(node), 0)
        if sign and type(node.inputs[1]) is int:
            place, offset = self._counted(node.inputs[0])
            return place, offset + sign * node.inputs[1]
        return None, 0

    def _step(self, place: int) -> int:
        counted, by = self._counted(self.outputs[-1][place])
        return by if counted == place else 0

    # ------------------------------------------------------------------------------ conditions
    def _implied(self, truth: Any, holds: bool, late: int) -> Iterator[tuple[str, Any, Any, int]]:
        """Yield comparisons ``(symbol, left, right, late)`` that follow if ``truth`` equals ``holds``.

        Floats are assumed not to be NaN. ``late`` is 1 for a comparison in the previous iteration, if there
        was one.
        """
        # A carried flag is what the previous iteration computed.
        if truth in self.state and not late:
            yield from self._implied(self.outputs[1][self.state.index(truth)], holds, 1)
        node = self.scope.maker(truth)
        if node is None:
            return
        role = _bare_name(node)
        if role in _COMPARED:
            symbol = _COMPARED[role]
            yield symbol if holds else _NEGATED[symbol], *node.inputs[:2], late
        elif role in _SAME:
            yield from self._implied(node.inputs[0], holds, late)
        elif role in ("logical_not", "not_p"):
            yield from self._implied(node.inputs[0], not holds, late)
        elif role in (("logical_and", "and_p") if holds else ("logical_or", "or_p")):
            for item in node.inputs[:2]:
                yield from self._implied(item, holds, late)
        elif role == "branch" and node.inputs[0].dtype == "bool":
            yield from self._of_branch(node, node.outputs.index(truth), holds, late)

    def _of_branch(
        self, node: Node, place: int, holds: bool, late: int
    ) -> Iterator[tuple[str, Any, Any, int]]:
        index, *captured = node.inputs
        sides = [self._inlined(region, captured)[place] for region in node.regions]
        answers = [self._truth(each, index, bool(taken)) for taken, each in enumerate(sides)]
        for taken, answer in enumerate(answers):
            # This side would return the opposite, so the other one was taken.
            if answer is (not holds):
                yield from self._implied(index, not taken, late)
                yield from self._implied(sides[not taken], holds, late)

    def _truth(self, item: Any, index: Any, taken: bool) -> bool | None:
        """Return the truth value of ``item`` if ``index`` equals ``taken``; None if it is unknown."""
        node, asked = self.scope.maker(item), self.scope.maker(index)
        if item is index or node and asked and _computes_the_same(node, asked):
            return taken
        if node is None:
            return item if type(item) is bool else None
        if _bare_name(node) in _SAME:
            return self._truth(node.inputs[0], index, taken)
        filled = node.params.get("fill_value") if _bare_name(node) == "full" else None
        return filled if type(filled) is bool else None


def _computes_the_same(one: Node, other: Node) -> bool:
    is_plain = len(one.outputs) == 1 and not (one.regions or one.is_random or one.writes)
    return is_plain and (one.op, one.inputs, one.params) == (other.op, other.inputs, other.params)


def _fits(dtype: str, number: Any) -> bool:
    """Return True if integers of ``dtype`` are known to represent ``number``.

    A symbolic size is assumed to fit into int32.
    """
    bits = 8 * ITEMSIZE[dtype] - (dtype in SIGNED)
    least = -(1 << bits) if dtype in SIGNED else 0
    if isinstance(number, Size):
        return bits >= _BITS_OF_SIZES and (dtype in SIGNED or nonnegative(number))
    return bool(least <= number < 1 << bits)


def _bare_name(node: Node) -> str:
    return node.op.rpartition(".")[2]


def _inner_size(region: Region, size: Any) -> Any:
    """Return a size of the enclosing scope in terms of sizes of ``region``; None if that is impossible."""
    if not isinstance(size, Size):
        return size
    names = {
        next(outer.atoms()): Size.of(inner) for inner, outer in region.sizes.items() if _is_symbol(outer)
    }
    return substitute(size, names.__getitem__) if all(symbol in names for symbol in size.symbols()) else None


def _is_computed(most: Any) -> bool:
    if not isinstance(most, Size) or all(symbol.kind == "size" for symbol in most.symbols()):
        return True
    return not any(isinstance(atom, Apply) and atom.function in ("max", "min") for atom in most.atoms())


def _is_symbol(size: Any) -> bool:
    first = next(size.atoms(), None) if isinstance(size, Size) else None
    return isinstance(first, Symbol) and size == Size.of(first)


# ---------------------------------------------------------------------------------------------------- numbers
_STEPS = {"add": 1, "add_p": 1, "subtract": -1, "sub_p": -1}


def _full_interval(scope: _IntervalScope, node: Node) -> Interval:
    return scope.interval(node.params["fill_value"])


def _operand_interval(scope: _IntervalScope, node: Node) -> Interval:
    return _OPEN if is_inexact(node.outputs[0].dtype) else scope.interval(node.inputs[0])


def _sum_interval(scope: _IntervalScope, node: Node) -> Interval:
    one, other = map(scope.interval, node.inputs[:2])
    if _STEPS[_bare_name(node)] < 0:
        other = tuple(None if end is None else -end for end in other[::-1])  # type: ignore[assignment]
    least, greatest = (None if None in ends else ends[0] + ends[1] for ends in zip(one, other))
    return least, greatest


def _where_interval(scope: _IntervalScope, node: Node) -> Interval:
    (least, greatest), (others_least, others_greatest) = map(scope.interval, node.inputs[1:3])
    return _extreme("min", least, others_least), _extreme("max", greatest, others_greatest)


def _extreme(function: str, one: Any, other: Any) -> Any:
    return None if one is None or other is None else apply(function, one, other)


_NUMBERS = {
    "full": _full_interval,
    **dict.fromkeys(_SAME, _operand_interval),
    **dict.fromkeys(_STEPS, _sum_interval),
    "where": _where_interval,
    "select_n_p": _where_interval,
}


Outward = Callable[[Any], Any]
"""Function that expresses a size of a block in sizes of the outermost block."""


# For each operation, the axes of its first operand that it indexes, and how many elements it reads there.
_READS: dict[str, Callable[[Node], dict[int, Any]]] = {
    "take": lambda node: {} if node.inputs[1].ndim else {node.params["axis"]: 1},
    "gather_nd": lambda node: (
        {} if any(index.ndim for index in node.inputs[1:]) else dict.fromkeys(node.params["axes"], 1)
    ),
    "dynamic_slice": lambda node: dict(zip(node.params["axes"], node.params["sizes"])),
}


@only_with(*_READS)
def pad_indexed_axes(graph: Graph) -> tuple[Graph, bool]:
    block = graph.block
    made = _with_regions(block, lambda size: size)
    return (graph, False) if made is block else (graph.with_block(made), True)


def _with_regions(block: Block, outward: Outward) -> Block:
    nodes = tuple(_inside(node, outward) if node.regions else node for node in block.nodes)
    return (
        block
        if all(new is old for new, old in zip(nodes, block.nodes))
        else Block(block.inputs, nodes, block.outputs)
    )


def _inside(node: Node, outward: Outward) -> Node:
    def around(region: Region) -> Outward:
        return lambda size: outward(region.outward(size))

    regions = tuple(_region(region, around(region)) for region in node.regions)
    return (
        node if all(new is old for new, old in zip(regions, node.regions)) else replace(node, regions=regions)
    )


def _region(region: Region, outward: Outward) -> Region:
    block = _with_regions(region.block, outward)
    missing = {
        node: found for node in block.nodes if node.op in _READS and (found := _padding_needed(node, outward))
    }
    if missing:
        block = _pad_axes(block, missing)
    return region if block is region.block else replace(region, block=block)


def _padding_needed(node: Node, outward: Outward) -> dict[int, Any]:
    shape = node.inputs[0].shape
    found = {axis: wanted - shape[axis] for axis, wanted in _READS[node.op](node).items()}
    return {axis: apply("max", size, 0) for axis, size in found.items() if not nonnegative(outward(-size))}


def _pad_axes(block: Block, missing: dict[Node, dict[int, Any]]) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        made = rewriter.rewritten(node)
        if node not in missing:
            rewriter.append(made)
            continue
        found = _padded_operation(Builder.into(rewriter, node.origin), made, missing[node])
        found.name = node.outputs[0].name
        rewriter.replace(node.outputs, (found,))
    return rewriter.finish()


def _padded_operation(build: Builder, node: Node, missing: dict[int, Any]) -> Value:
    x, *others = node.inputs
    padding = tuple((0, missing.get(axis, 0)) for axis in range(x.ndim))
    found: Value = getattr(build, node.op)(
        build.pad(x, padding=padding, mode="constant", value=0), *others, **node.params
    )
    return found
