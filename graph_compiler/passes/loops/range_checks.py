"""Remove checks in loops and branches that are proved to hold, such as ``i < n`` in ``for i in range(n)``.

Integers are polynomials in sizes and loop indices, and loops and branches contribute *facts*: expressions
that are at least 0. A comparison is proved by writing its difference as a sum of positive multiples of facts
and of expressions known to be nonnegative.

Integers that a program reads from arrays or computes in other dtypes than int64 may overflow. They are
compared, but arithmetic on them is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.graph import Graph, guard_of
from ...ir.node import Block, Node, Region, Value
from ...ops.control import own_operands
from ...ops.dtypes import is_integer
from ...ops.registry import ArraySpec
from ...ops.rules import nonnegative
from ...sizes import Size, Symbol, substitute
from ..masking.bounded_loops import without_max_zero

Facts = tuple[Any, ...]
# Loop indices of traced statements are Python integers, which do not overflow; they are recorded as int64.
_STEP = ArraySpec((), "int64")
# Most facts that are combined in one proof.
_MOST = 8


def remove_certain_checks(graph: Graph) -> Graph:
    constants = {value: int(array) for value, array in graph.constants.values() if value.spec == _STEP}
    nodes = _RangeProver(constants).kept(graph.nodes, ())
    return graph if all(map(_is_same_object, nodes, graph.nodes)) else graph.derive(nodes=nodes)


@dataclass(slots=True)
class _RangeProver:
    """Rewriter of nodes that removes checks which are proved to hold.

    numbers: polynomials that are equal to integer scalars.
    sizes: polynomials that are equal to sizes of regions.
    makers: nodes by their outputs; an input of a region has the node of the value that it captures.
    steps: the index of each loop visited so far, outer loops before inner ones.
    """

    numbers: dict[Value, Any] = field(default_factory=dict)
    sizes: dict[Symbol, Any] = field(default_factory=dict)
    makers: dict[Value, Node] = field(default_factory=dict)
    steps: list[Value] = field(default_factory=list)

    def kept(self, nodes: Iterable[Node], facts: Facts) -> list[Node]:
        """Return the nodes without checks that ``facts`` prove.

        Loops and branches, in which further facts hold, are rewritten likewise. Register the nodes in
        ``makers``, and known integers in ``numbers``.
        """
        kept = []
        for node in nodes:
            guard = guard_of(node) if facts else None
            # Without facts no proof is tried.
            if guard is None or guard.expected is not True or not self._is_certain(guard.condition, facts):
                kept.append(self._inside(node, facts) if node.op in _ENTERED else node)
            self._note(node)
        return kept

    def _note(self, node: Node) -> None:
        for value in node.outputs:
            self.makers[value] = node
        # Integers of other dtypes may overflow, so nothing is computed with them.
        if node.op in _NUMBERS and node.outputs[0].spec == _STEP:
            operands = [self._told(item) for item in node.inputs or (node.params["fill_value"],)]
            if None not in operands and (number := _NUMBERS[node.op](*operands)) is not None:
                self.numbers[node.outputs[0]] = number

    def _told(self, item: Any) -> Any:
        if isinstance(item, Size) and item.type is int:
            return substitute(item, self._size)
        return self.numbers.get(item) if isinstance(item, Value) else item if type(item) is int else None

    def _size(self, symbol: Symbol) -> Any:
        return self.sizes.get(
            symbol,
            self.numbers.get(symbol.source, Size.of(symbol)) if symbol.kind == "item" else Size.of(symbol),
        )

    def _compared(self, item: Any) -> Any:
        told = self._told(item)
        # An unknown integer is an atom of its own. It may overflow, so no arithmetic is done with it.
        is_whole = told is None and isinstance(item, Value) and not item.shape and is_integer(item.dtype)
        return Size.of(Symbol(item, 0, 0, "item")) if is_whole else told

    # ------------------------------------------------------------------------------ regions
    def _inside(self, node: Node, facts: Facts) -> Node:
        first = int(node.op == "branch")
        own = first + own_operands(node.params)
        inside = facts if first else self._with_first((*facts, *self._counted(node)))
        regions = []
        for place, region in enumerate(node.regions):
            self._enter(node, region, own, first)
            known = (*inside, *self._facts(node.inputs[0], bool(place))) if first else inside
            regions.append(self._region(region, known))
            if region.name == "condition":
                inside = self._with_first((*inside, *self._facts(region.block.outputs[0], True)))
        return (
            node
            if all(map(_is_same_object, regions, node.regions))
            else replace(node, regions=tuple(regions))
        )

    def _region(self, region: Region, facts: Facts) -> Region:
        block = region.block
        nodes = self.kept(block.nodes, facts)
        is_same = len(nodes) == len(block.nodes) and all(map(_is_same_object, nodes, block.nodes))
        return region if is_same else replace(region, block=Block(block.inputs, tuple(nodes), block.outputs))

    def _enter(self, node: Node, region: Region, own: int, first: int) -> None:
        self.sizes.update((symbol, self._told(size)) for symbol, size in region.sizes.items())
        inputs = region.block.inputs
        for inner, outer in zip(inputs[own - first :], node.inputs[own:]):
            if outer in self.makers:
                self.makers[inner] = self.makers[outer]
            if (number := self._told(outer)) is not None:
                self.numbers[inner] = number
        if not first:
            self.numbers.update(self._counters(node, inputs))

    def _counted(self, node: Node) -> Facts:
        self.steps.append(Value("step", _STEP))
        step = self._step()
        length = self._told(node.params.get("length"))
        # In the body there is an iteration, so the length is positive and a ``max`` with 0 around it is
        # dropped.
        return (step,) if length is None else (step, without_max_zero(length) - 1 - step)

    def _with_first(self, facts: Facts) -> Facts:
        """Return ``facts``, followed by values at index 0 of facts that decrease with the innermost index.

        Such a value is the largest of its fact, so it is at least 0 as well.
        """
        step = self._step()
        found = ((fact, *self._innermost(fact)) for fact in facts)
        return (
            *facts,
            *(
                fact - step * by
                for fact, symbol, by in found
                if symbol and symbol.source is self.steps[-1] and by < 0
            ),
        )

    def _step(self) -> Any:
        return Size.of(Symbol(self.steps[-1], 0, 0, "item"))

    def _counters(self, node: Node, inputs: Sequence[Value]) -> Iterator[tuple[Value, Any]]:
        """Yield ``(value, expression)`` for carried values and rows known to be linear in the loop index."""
        body, carried, step = node.regions[-1].block, node.params["carried"], self._step()
        for place, start in enumerate(map(self._told, node.inputs[:carried])):
            by = _counts(body, body.outputs[place], body.inputs[place])
            if start is not None and by is not None:
                yield inputs[place], start + by * step
        for row, array in zip(
            inputs[carried:], node.inputs[carried : carried + node.params.get("sequences", 0)]
        ):
            made = self.makers.get(array)
            ends = (
                [self._told(made.params[name]) for name in ("start", "step")]
                if made is not None and made.op == "arange"
                else [None]
            )
            if row.spec == _STEP and None not in ends:
                number = self._told(node.params["length"]) - 1 - step if node.params["reverse"] else step
                yield row, ends[0] + ends[1] * number

    # ------------------------------------------------------------------------------ truth values
    def _facts(self, truth: Any, holds: bool) -> Iterator[Any]:
        """Yield expressions that are at least 0 if ``truth`` equals ``holds``."""
        node = self.makers.get(truth)
        if node is None:
            return
        if (inner := self._same_truth(node)) is not None:
            yield from self._facts(inner, holds is not (node.op == "logical_not"))
        elif node.op == "branch":
            yield from self._of_branch(node, node.outputs.index(truth), holds)
        elif node.op == ("logical_and" if holds else "logical_or"):
            for item in node.inputs:
                yield from self._facts(item, holds)
        elif node.op in _COMPARED:
            yield from self._differences(node, holds)

    def _of_branch(self, node: Node, place: int, holds: bool) -> Iterator[Any]:
        """Yield the facts of ``a and b`` or ``a or b``: a branch on ``a``, one side of which returns ``a``.

        If that side would return the opposite of ``holds``, the other side was taken, so both ``a`` and
        ``b`` are known.
        """
        index, sides = node.inputs[0], [region.block.outputs[place] for region in node.regions]
        asked = self._asked(index) if index.dtype == "bool" else None
        for taken, side in enumerate(sides):
            if asked is not None and self._asked(side) is asked and bool(taken) is not holds:
                yield from self._facts(index, not taken)
                yield from self._facts(sides[not taken], holds)

    def _asked(self, truth: Any) -> Node | None:
        """Return the node with one output that makes ``truth`` or the boolean that it copies, or None."""
        node = self.makers.get(truth)
        inner = None if node is None or node.op == "logical_not" else self._same_truth(node)
        if inner is not None:
            return self._asked(inner)
        # Two outputs of one node are two booleans.
        return node if node is not None and len(node.outputs) == 1 else None

    def _is_certain(self, truth: Any, facts: Facts) -> bool:
        node = self.makers.get(truth)
        if node is None:
            return False
        if node.op == "logical_and":
            return all(self._is_certain(item, facts) for item in node.inputs)
        differences = list(self._differences(node, True)) if node.op in _COMPARED else []
        return bool(differences) and all(self._is_sum(difference, facts, _MOST) for difference in differences)

    def _differences(self, node: Node, holds: bool) -> Iterator[Any]:
        left, right = map(self._compared, node.inputs)
        if left is not None and right is not None:
            yield _COMPARED[node.op](left, right) if holds else _COMPARED[_NEGATED[node.op]](left, right)

    def _same_truth(self, node: Node) -> Any:
        """Return the value that ``node`` negates or copies, or ``b`` of ``astype(b) != 0``, or None."""
        if node.op in ("logical_not", "copy"):
            return node.inputs[0]
        written = (
            self.makers.get(node.inputs[0]) if node.op == "not_equal" and node.inputs[1:] == (0,) else None
        )
        return (
            written.inputs[0]
            if written is not None and written.op == "astype" and written.inputs[0].dtype == "bool"
            else None
        )

    def _is_sum(self, number: Any, facts: Facts, left: int) -> bool:
        """Return True if ``number`` is shown to be a nonnegative expression plus multiples of ``facts``."""
        if nonnegative(number):
            return True
        symbol, factor = self._innermost(number)
        found = ((fact, *self._innermost(fact)) for fact in facts) if left else ()
        rests = (
            number - fact * (factor // by)
            for fact, other, by in found
            if other == symbol and factor * by > 0 and factor % by == 0
        )
        return any(self._is_sum(rest, facts, left - 1 if symbol else 0) for rest in rests)

    def _innermost(self, number: Any) -> tuple[Symbol | None, int]:
        """Return the innermost loop index, or another integer scalar, in ``number``, and its factor.

        The factor is 0 if it is not a constant. Without such a symbol, return ``(None, 1)``.
        """
        symbols = (
            [symbol for symbol in number.symbols() if symbol.kind == "item"]
            if isinstance(number, Size)
            else []
        )
        if not symbols:
            return None, 1
        found = max(
            symbols, key=lambda symbol: self.steps.index(symbol.source) if symbol.source in self.steps else -1
        )
        factors = [factor for monomial, factor in number.terms() if monomial == (found,)]
        return found, factors[0] if factors and symbols.count(found) == 1 else 0


def _is_same_object(one: Any, other: Any) -> bool:
    return one is other


def _counts(body: Block, made: Any, counter: Value) -> int | None:
    """Return the constant by which ``made`` exceeds ``counter`` in ``body``, or None if none is known."""
    if made is counter:
        return 0
    node = body.maker(made) if isinstance(made, Value) else None
    if node is None or made.spec != _STEP or node.op not in _ADDED:
        return None
    before = _counts(body, node.inputs[0], counter)
    by = node.inputs[1] if len(node.inputs) > 1 else 0
    return None if before is None or type(by) is not int else before + _ADDED[node.op] * by


_ENTERED = frozenset(("scan", "while_loop", "branch"))
_ADDED = {"add": 1, "subtract": -1, "copy": 0}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "less": lambda one, other: other - one - 1,
    "less_equal": lambda one, other: other - one,
    "greater": lambda one, other: one - other - 1,
    "greater_equal": lambda one, other: one - other,
}
_NEGATED = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
}


_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": lambda one, other: one + other,
    "subtract": lambda one, other: one - other,
    "multiply": lambda one, other: one * other,
    "floor_divide": lambda one, other: one if other == 1 else None,
    "negative": lambda number: -number,
    **dict.fromkeys(("copy", "astype", "full"), lambda number: number),
}
"""Operations on integers, each with its result in terms of its operands; None if it is unknown."""
