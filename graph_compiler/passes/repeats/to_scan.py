"""Turn repeated nodes, as an unrolled Python loop leaves them, into a ``scan``.

Values that one repetition passes to the next become the carry, rows of an array that are taken in order
become sequences, and results that are stacked after the loop become outputs. Numbers that change become
sequences if possible. Everything else must be the same in each repetition; otherwise the nodes stay
unrolled. :func:`rolled` makes the pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...errors import Signal
from ...ir.builder import Body, Builder, close
from ...ir.graph import GUARD, Aliases, Graph, Guard, check, guard_of
from ...ir.node import Block, CallRecord, Node, Value, count_all, every
from ...ir.rewrite import copy_with_replacements
from ...ops.dtypes import is_inexact
from ...ops.elementwise import RAISES_FOR_INTEGERS
from ...ops.registry import ArraySpec, find
from ...sizes import Size, Symbol, apply
from ...trees import iterate_structure
from ..driver import GraphPass, Pass
from .find import (
    AffineInteger,
    CounterSequences,
    EarlierResult,
    GraphSignatures,
    IndexedBlock,
    Invariant,
    RepeatedRun,
    RepeatedSteps,
    SignatureCache,
    Slot,
    find_repeated_runs,
    fit_steps,
    sources_of_sizes,
    with_leaves,
)

_STACKS = frozenset({"array", "stack", "stack_p"})
_JOINS = frozenset({"concat"})
_ROWS = frozenset({"__getitem__", "getitem"})
_WHOLE = (None, None, 1)


def name_of(node: Node) -> str:
    return node.key or node.op


def takes_row(node: Node) -> bool:
    """Return True if ``node`` indexes an array with an int first, as ``x[i]`` and ``x[i, :]`` do."""
    if name_of(node) not in _ROWS or not isinstance(node.inputs[0], Value) or len(node.outputs) != 1:
        return False
    key = _key(node)
    return type(key[0] if isinstance(key, tuple) and key else key) is int


def _key(node: Node) -> Any:
    return node.inputs[1] if node.record is not None else node.params["key"]


def rows_node(node: Node, first: int, by: int, count: int) -> Node:
    """Return a node that takes ``count`` rows, ``first``, ``first + by``, ..., of the array of ``node``.

    ``by`` is positive.
    """
    (array, *_), end = node.inputs, first + by * (count - 1) + 1
    # A stop of 0 would mean the first row, not the end, if rows are counted from the end.
    stop = None if end == 0 else end
    value = Value(array.name, ArraySpec((count, *array.shape[1:]), array.dtype))
    if node.record is None:
        return replace(node, params={"key": ((first, stop, by),)}, outputs=(value,))
    return _recorded_index(node, array, slice(first, stop, None if by == 1 else by), value)


def rest_node(node: Node, row: Value) -> Node | None:
    """Return the node that computes the result of ``node`` from ``row``; None if none is needed."""
    key = _key(node)
    left = key[1:] if isinstance(key, tuple) else ()
    if all(part in (_WHOLE, Ellipsis) for part in left):
        return None
    value = Value(node.outputs[0].name, node.outputs[0].spec)
    if node.record is None:
        return replace(node, inputs=(row,), params={"key": left}, outputs=(value,))
    return _recorded_index(node, row, left if len(left) > 1 else left[0], value)


def _recorded_index(node: Node, array: Value, index: Any, value: Value) -> Node:
    assert node.record is not None
    record = replace(node.record, result=value, views={0: array} if node.views else {})
    return replace(node, inputs=(array, index), outputs=(value,), record=record)


def stacked_arrays(node: Node) -> Sequence[Any] | None:
    """Return the arrays that ``node`` stacks or concatenates along the first axis, or None."""
    name = name_of(node)
    if name not in (_STACKS | _JOINS if node.record is None else _STACKS) or not node.params.keys() <= {
        "axis",
        "dim",
    }:
        return None
    if any(part for part in iterate_structure((node.params, node.inputs[1:])) if not isinstance(part, Value)):
        return None
    is_list = len(node.inputs) == 1 and isinstance(node.inputs[0], (list, tuple))
    items = node.inputs[0] if is_list else node.inputs if node.record is None or name != "array" else ()
    return items if items and all(isinstance(item, Value) for item in items) else None


def parts_joined(node: Node, first: int, steps: Value) -> Sequence[Node]:
    """Return canonical nodes that compute the result of ``node`` from the stacked results of all steps.

    The rows of ``steps`` replace as many arrays of ``node``, from index ``first`` on.
    """
    scratch = Graph("scratch", "canonical")
    build, is_stack = Builder(scratch, node.origin), name_of(node) in _STACKS
    count, item = steps.shape[0], steps.shape[1:]
    whole = steps if is_stack else build.reshape(steps, shape=(count * item[0], *item[1:]))
    others = (node.inputs[:first], node.inputs[first + count :])
    before, after = (
        [build.getitem(each, key=(None,)) if is_stack else each for each in some] for some in others
    )
    if len(parts := [*before, whole, *after]) > 1:
        build.concat(*parts, axis=0)
    *nodes, last = scratch.nodes
    return [*nodes, replace(last, outputs=node.outputs)]


@dataclass(frozen=True)
class GatheredResult:
    """Output of a loop that replaces a ``stack`` or ``concat`` of one result of each step.

    slot: place of the result within a step.
    user: index of the ``stack`` or ``concat`` node.
    place: index of the result of step 0 among the arrays of that node.
    result: the stacked output of the loop.
    nodes: nodes that compute the result of that node from ``result``; empty if the two are the same value.
    """

    slot: Slot
    user: int
    place: int
    result: Value
    nodes: Sequence[Node] = ()


class TrimmedSteps(NamedTuple):
    """Steps whose results a loop can return, as far as other nodes read them.

    gathered: results of all steps that the loop stacks.
    last: results of the last step, in slots that no later step reads. They are carried; the first iteration
        gets zeros for them.
    """

    steps: RepeatedSteps
    gathered: Sequence[GatheredResult]
    last: Sequence[Slot]


def trim_steps(steps: RepeatedSteps, fewest: int) -> TrimmedSteps | None:
    """Drop last steps until a loop can return what other nodes read; return None if too few are left."""
    while steps.count >= max(fewest, _lookback(steps) + 1):
        # Nodes of the steps that were cut off now read results from outside, so both are found again.
        gathered = list(_find_gathered(steps))
        returned = {(each.slot, each.user) for each in gathered}
        count = _first_used(steps, returned)
        last = list(_used_after(steps, steps.count - 1, returned)) if count == steps.count - 1 else []
        if count is None or last and all(_starts_as_zeros(steps, slot) for slot in last):
            return TrimmedSteps(steps, gathered, last)
        # At least one step is removed, so that the loop ends.
        steps = steps.part(0, min(count, steps.count - 1))
    return None


def _lookback(steps: RepeatedSteps) -> int:
    return max(
        (pattern.distance for row in steps.patterns for pattern in row if isinstance(pattern, EarlierResult)),
        default=0,
    )


def _outside(steps: RepeatedSteps, value: Value) -> Iterator[int]:
    return (user for user in steps.program.users.get(value, ()) if not steps.first <= user < steps.end)


def _find_gathered(steps: RepeatedSteps) -> Iterator[GatheredResult]:
    for slot in steps.slots():
        first = steps.value(0, slot)
        for user in dict.fromkeys(_outside(steps, first)):
            # `user` is -1 for the outputs of the block; then `node` is not used.
            node = steps.program.block.nodes[user]
            items = stacked_arrays(node) if user >= 0 else None
            place = items.index(first) if items is not None and first in items else 0
            if items is None or len(items) < place + steps.count:
                continue
            # Arrays before and after the results of the steps are concatenated with the loop's output.
            others = (*items[:place], *items[place + steps.count :])
            # The nodes that join parts are canonical, so a recorded node can only be replaced by the output
            # itself.
            is_apart = (
                not any(map(steps.makes, others))
                and (node.record is None or not others)
                and node.outputs[0].dtype == first.dtype
            )
            if is_apart and all(
                item is steps.value(step, slot)
                for step, item in enumerate(items[place : place + steps.count])
            ):
                yield _gather(steps, slot, user, place, bool(others))


def _gather(steps: RepeatedSteps, slot: Slot, user: int, place: int, has_others: bool) -> GatheredResult:
    node, value = steps.program.block.nodes[user], steps.value(0, slot)
    if not has_others and node.outputs[0].ndim == value.ndim + 1:
        return GatheredResult(slot, user, place, node.outputs[0])
    result = Value(node.outputs[0].name, ArraySpec((steps.count, *value.shape), value.dtype))
    return GatheredResult(slot, user, place, result, parts_joined(node, place, result))


def _first_used(steps: RepeatedSteps, gathered: set[tuple[Slot, int]]) -> int | None:
    """Return the first step with a result that other nodes use, neither gathered nor carried, or None."""
    return next(
        (step for step in range(steps.count) if any(True for _ in _used_after(steps, step, gathered))), None
    )


def _used_after(steps: RepeatedSteps, step: int, gathered: set[tuple[Slot, int]]) -> Iterator[Slot]:
    # Number of last steps whose result in a slot is in the final carry.
    carried: dict[Slot, int] = {}
    for row in steps.patterns:
        for pattern in row:
            if isinstance(pattern, EarlierResult):
                carried[pattern.slot] = max(carried.get(pattern.slot, 0), pattern.distance)
    for slot in steps.slots():
        is_carried = steps.count - step <= carried.get(slot, 0)
        if not is_carried and any(
            (slot, user) not in gathered for user in _outside(steps, steps.value(step, slot))
        ):
            yield slot


def _starts_as_zeros(steps: RepeatedSteps, slot: Slot) -> bool:
    value = steps.value(steps.count - 1, slot)
    is_canonical = steps.node(0, slot.node).record is None
    return is_canonical and not any(map(steps.makes, sources_of_sizes(value)))


@dataclass(frozen=True)
class LoopContext:
    """Properties of the graph and the target that a loop can rely on.

    fixed: values whose shape is the same at each call.
    unsized: values with a size read from a result, which may differ from step to step.
    counts: True if the target's loop index is a Python integer.
    """

    fixed: set[Value]
    unsized: set[Value]
    counts: bool


@dataclass(frozen=True)
class LoopReplacement:
    """Replacement of nodes of a block by a loop.

    instead: new nodes, by the index of the node that they replace.
    replaced: indices of all nodes that are removed.
    carried: number of arrays in the carry of the loop that its steps read.
    """

    instead: Mapping[int, Sequence[Node]]
    replaced: Sequence[int]
    carried: int


@dataclass(frozen=True)
class CarriedSlot:
    """Item of the carry that holds the result of ``slot`` from ``len(before)`` steps ago.

    slot: the result of a step.
    before: initial values of this and the later items of the carry for the slot, oldest first.
    """

    slot: Slot
    before: tuple[Value, ...]

    @property
    def later(self) -> CarriedSlot:
        return CarriedSlot(self.slot, self.before[1:])


def build_loop(steps: RepeatedSteps, means: LoopContext, fewest: int) -> LoopReplacement | None:
    found = trim_steps(steps, fewest)
    return _ScanBuilder(found, means).loop() if found is not None else None


class _CannotRoll(Signal):
    """Signal that a step cannot be written as the body of a loop."""


class _ScanBuilder:
    def __init__(self, found: TrimmedSteps, means: LoopContext) -> None:
        self.steps, self.gathered, self.returned = found
        self.fixed, self.unsized = means.fixed, means.unsized
        self.carried: dict[CarriedSlot, Value] = {}
        self.sequences: dict[tuple[Value, int, int], tuple[Node, Value]] = {}
        self.made: dict[Slot, Value] = {}
        self.nodes: list[Node] = []
        # Nodes for what only the last step returns, before the first one.
        self.zeros: list[Node] = []
        self.last = self.steps.count - 1
        self.counters = CounterSequences(self.steps, means.counts)

    def loop(self) -> LoopReplacement | None:
        if not self.unsized.isdisjoint(self.steps.value(0, each.slot) for each in self.gathered):
            return None
        try:
            for place in range(self.steps.period):
                self._add(place)
            for slot in self.returned:
                self._carry(CarriedSlot(slot, (self._zeros(slot),)))
        except _CannotRoll:
            return None
        return self._loop()

    # ------------------------------------------------------------------------------ loop body
    def _is_row(self, place: int) -> bool:
        patterns = self.steps.patterns[place]
        changing = [
            at for at, pattern in enumerate(patterns) if not isinstance(pattern, (EarlierResult, Invariant))
        ]
        if (
            changing != [1]
            or not takes_row(self.steps.node(0, place))
            or not isinstance(patterns[0], Invariant)
        ):
            return False
        index = patterns[1]
        assert isinstance(index, AffineInteger)
        # Indices that change their sign would wrap around the end of the axis.
        return bool(index.by > 0) and (index.at(0) < 0) == (index.at(self.last) < 0)

    def _add(self, place: int) -> None:
        node, pairs = self.steps.node(self.last, place), self._pairs(place)
        if self._is_row(place):
            row = self._row(place)
            left = rest_node(node, row)
            given = [] if left is None else [left]
            self.made[Slot(place, 0)] = row
        else:
            found = self.counters.given(node, self.steps.patterns[place], place)
            if found is None:
                raise _CannotRoll
            given = found
        for part in given:
            pairs += zip(part.outputs, self._append(place, part, pairs))

    def _pairs(self, place: int) -> list[tuple[Value, Value]]:
        leaves = enumerate(zip(self.steps.leaves(self.last, place), self.steps.patterns[place]))
        return [
            (leaf, self._read(place, at, pattern) if isinstance(pattern, EarlierResult) else leaf)
            for at, (leaf, pattern) in leaves
            if isinstance(leaf, Value)
        ] + [(source, self._made_now(slot)) for source, slot in self.steps.sizing(self.last, place)]

    def _made_now(self, slot: Slot | None) -> Value:
        if slot is None:
            raise _CannotRoll
        return self.made[slot]

    def _append(self, place: int, node: Node, pairs: Sequence[tuple[Value, Value]]) -> tuple[Value, ...]:
        new = copy_with_replacements(node, pairs)
        if new is None:
            raise _CannotRoll
        self.nodes.append(new)
        self.made.update((Slot(place, output), value) for output, value in enumerate(new.outputs))
        return new.outputs

    def _read(self, place: int, at: int, pattern: EarlierResult) -> Value:
        if not pattern.distance:
            return self.made[pattern.slot]
        before = tuple(self.steps.leaves(step, place)[at] for step in range(pattern.distance))
        return self._carry(CarriedSlot(pattern.slot, before))

    def _carry(self, item: CarriedSlot) -> Value:
        if item not in self.carried:
            value = self.steps.value(self.last, item.slot)
            # The carry of a loop keeps its shape.
            if value in self.unsized:
                raise _CannotRoll
            self.carried[item] = Value(value.name, value.spec)
            if len(item.before) > 1:
                self._carry(item.later)
        return self.carried[item]

    def _zeros(self, slot: Slot) -> Value:
        value, origin = self.steps.value(self.last, slot), self.steps.node(self.last, slot.node).origin
        made = Value(value.name, value.spec)
        self.zeros.append(Node("zeros", (), {"shape": value.shape, "dtype": value.dtype}, origin, (made,)))
        return made

    def _row(self, place: int) -> Value:
        node, index = self.steps.node(0, place), self.steps.patterns[place][1]
        assert isinstance(index, AffineInteger)
        array = node.inputs[0]
        key = (array, index.first, index.by)
        if key not in self.sequences:
            value = node.outputs[0]
            row = Value(value.name, ArraySpec(array.shape[1:], array.dtype))
            self.sequences[key] = (rows_node(node, index.first, index.by, self.steps.count), row)
        return self.sequences[key][1]

    # ------------------------------------------------------------------------------ loop node
    def _loop(self) -> LoopReplacement:
        steps = self.steps
        read = {value for node in self.nodes for value in node.uses}
        sequences = [
            *self.sequences.values(),
            *(pair for pair in self.counters.made.values() if pair[1] in read),
        ]
        inputs = [*self.carried.values(), *(row for _, row in sequences)]
        following = [
            self.carried[item.later] if len(item.before) > 1 else self.made[item.slot]
            for item in self.carried
        ]
        body = Body(
            "body", inputs, self.nodes, [*following, *(self.made[each.slot] for each in self.gathered)]
        )
        (region,), captured = close(body)
        operands = (
            *(item.before[0] for item in self.carried),
            *(taken.outputs[0] for taken, _ in sequences),
            *captured,
        )
        params = {
            "carried": len(self.carried),
            "sequences": len(sequences),
            "length": steps.count,
            "reverse": False,
            "checkpoint": False,
        }
        outputs = (*self._finals(), *(each.result for each in self.gathered))
        first = steps.node(0, 0)
        record = None if first.record is None else CallRecord("scan", result=outputs)
        scan = Node("scan", operands, params, first.origin, outputs, record, (region,))
        replaced = [*range(steps.first, steps.end), *(each.user for each in self.gathered)]
        instead = {each.user: each.nodes for each in self.gathered}
        instead[steps.first] = [*self._checks(), *self.zeros, *(taken for taken, _ in sequences), scan]
        return LoopReplacement(instead, replaced, len(self.carried) - len(self.zeros))

    def _finals(self) -> Iterator[Value]:
        """Yield the values of the final carry, which are those of the unrolled steps where possible."""
        given: set[Value] = set()
        for item in self.carried:
            value = self.steps.value(self.steps.count - len(item.before), item.slot)
            yield Value(value.name, value.spec) if value in given else value
            given.add(value)

    def _checks(self) -> Iterator[Node]:
        """Yield checks that arrays of varying shape have all rows that are taken, in recorded graphs.

        A slice of an array with fewer rows would return fewer rows.
        """
        for (array, first, by), (node, _) in self.sequences.items():
            if node.record is not None and array not in self.fixed:
                fewest = -first if first < 0 else first + by * self.last + 1
                condition = apply("ge", Size.of(Symbol(array, 0, array.shape[0])), fewest)
                assert isinstance(condition, Size)
                yield check(Guard(condition, True, node.origin), is_recorded=True)


# ------------------------------------------------------------------------------ completion of the last step
# Operations that can be computed in vain: at finite operands, their derivatives are finite. Reverse mode
# multiplies an infinite derivative by the gradient 0 of a result that nothing reads, which gives NaN.
_HARMLESS = frozenset({
    "add", "boolean_mask", "clip", "conj", "cos", "masked_gradient", "masked_scatter", "maximum", "minimum",
    "multiply", "negative", "sin", "square", "subtract", "tanh", "where",
})  # fmt: skip


def with_whole_last_step(steps: RepeatedSteps) -> Block | None:
    """Return the block with the missing nodes of an incomplete step after ``steps`` added, or None.

    Dead code elimination removes from the last step what only a next one would read.
    """
    block, period = steps.program.block, steps.period
    made: list[Node] = []
    at = steps.end
    for place in range(period):
        if at < len(block.nodes) and _continues(steps, place, at, made):
            made.append(block.nodes[at])
            at += 1
        elif at == steps.end or not _is_harmless(steps.node(steps.count - 1, place)):
            return None
        else:
            added = _next(steps, place, made)
            if added is None:
                return None
            made.append(added)
    if at == steps.end + period:
        return None
    return Block(block.inputs, (*block.nodes[: steps.end], *made, *block.nodes[at:]), block.outputs)


def _is_harmless(node: Node) -> bool:
    declared = find(node.op)
    second: Any = next(reversed(node.inputs), None)
    is_elementwise = declared is not None and declared.section == "elementwise"
    # Integers and bools have no derivative.
    is_discrete = (
        is_elementwise and not is_inexact(node.outputs[0].dtype) and node.op not in RAISES_FOR_INTEGERS
    )
    is_by_number = type(second) in (int, float, complex) and (
        node.op == "divide" and second != 0 or node.op == "pow" and second == abs(second) >= 1
    )
    return node.record is None and (node.op in _HARMLESS or is_discrete or is_by_number)


def _continues(steps: RepeatedSteps, place: int, at: int, made: Sequence[Node]) -> bool:
    """Return True if node ``at`` of the block is the one at ``place`` of the step after ``steps``."""
    rows = steps.program.rows
    if rows[at].key != rows[steps.first + place].key:
        return False
    return all(
        leaf is _expected(steps, pattern, made)
        if isinstance(pattern, EarlierResult)
        else leaf == pattern.at(steps.count)
        if isinstance(pattern, AffineInteger)
        else not isinstance(pattern, Invariant) or pattern.is_it(leaf)
        for leaf, pattern in zip(rows[at].leaves, steps.patterns[place])
    )


def _expected(steps: RepeatedSteps, pattern: EarlierResult, made: Sequence[Node]) -> Value:
    if pattern.distance:
        return steps.value(steps.count - pattern.distance, pattern.slot)
    return made[pattern.slot.node].outputs[pattern.slot.output]


def _next(steps: RepeatedSteps, place: int, made: Sequence[Node]) -> Node | None:
    """Return a copy of the node at ``place`` of the last step for the step after it; None if none fits."""
    last, row = steps.count - 1, steps.patterns[place]
    leaves = steps.leaves(last, place)
    pairs = [
        (leaf, _expected(steps, pattern, made))
        for leaf, pattern in zip(leaves, row)
        if isinstance(pattern, EarlierResult)
    ]
    for source, slot in steps.sizing(last, place):
        if slot is None:
            return None
        pairs.append((source, made[slot.node].outputs[slot.output]))
    node = steps.node(last, place)
    numbers = {
        at: pattern.at(steps.count) for at, pattern in enumerate(row) if isinstance(pattern, AffineInteger)
    }
    return copy_with_replacements(with_leaves(node, numbers) if numbers else node, pairs)


FEWEST = 3
"""Fewest steps that show what changes from one to the next."""
# Fewest steps that become a loop if they contain branches or loops, across which compilers do not optimise
# unrolled steps.
_FEWEST_WITH_BRANCHES = 4
_BRANCHES = frozenset({"branch", "scan", "while_loop"})
# Most iterations of an inner loop that stays unrolled inside of a step.
_MOST_INNER = 8


def rolled(fewest: int, counts: bool = False, keys: SignatureCache | None = None) -> GraphPass:
    """Return a pass that turns repetitions of nodes into a ``scan``, if possible.

    fewest: fewest repetitions; less than 3 count as 3, and for nodes with branches or loops more than 4 as 4.
    counts: True if a loop index may be the bound of a slice.
    keys: cache of signatures shared with other passes.
    """
    fewest = max(fewest, FEWEST)

    def roll(graph: Graph) -> tuple[Graph, bool]:
        if count_all(graph.nodes) < min(fewest, _FEWEST_WITH_BRANCHES):
            return graph, False
        signatures = GraphSignatures(Aliases(graph), keys=keys)
        signatures.unsized.update(sized_by_results(graph.nodes))
        fixed = {*graph.parameters.values(), *(value for value, _ in graph.constants.values())}
        made, changed = Pass(
            "roll",
            lambda block: _roll_block(
                block, signatures, LoopContext(fixed, signatures.unsized, counts), fewest
            ),
            "deep",
        )(graph)
        return (_with_guards(made), True) if changed else (graph, False)

    return roll


def sized_by_results(nodes: Iterable[Node]) -> set[Value]:
    """Return the results of ``nodes``, and of nodes of their regions, with a size read from a result."""
    made = [value for node in every(nodes) for value in node.outputs]
    deciding = {value for value in made if value in sources_of_sizes(value)}
    return (
        {value for value in made if not deciding.isdisjoint(sources_of_sizes(value))} if deciding else set()
    )


def _with_guards(graph: Graph) -> Graph:
    known = {guard.condition for guard in graph.guards}
    found = dict.fromkeys(guard for node in graph.nodes if (guard := guard_of(node)) is not None)
    guards = [*graph.guards, *(guard for guard in found if guard.condition not in known)]
    return graph.derive(nodes=[node for node in graph.nodes if node.op != GUARD], guards=guards)


def _roll_block(block: Block, signatures: GraphSignatures, means: LoopContext, fewest: int) -> Block:
    def once(block: Block) -> tuple[Block, Block | None]:
        program = IndexedBlock.of(block, list(map(signatures.of, block.nodes)))
        search = _RollingRound(program, means, fewest)
        return search.block(), search.completed

    while _may_repeat(block, _fewest_of(block.nodes, fewest)):
        made, completed = once(block)
        if completed is not None:
            signatures.unsized.update(sized_by_results(completed.nodes))
            longer, _ = once(completed)
            made = longer if len(longer.nodes) < len(made.nodes) else made
        if made is block:
            break
        block = made
    return block


def _fewest_of(nodes: Iterable[Node], fewest: int) -> int:
    return min(fewest, _FEWEST_WITH_BRANCHES) if any(node.op in _BRANCHES for node in nodes) else fewest


def _may_repeat(block: Block, fewest: int) -> bool:
    lines = Counter((node.op, node.origin.line) for node in block.nodes)
    return max(lines.values(), default=0) >= fewest


class _RollingRound:
    """Search of one block for runs of repeated nodes that do not overlap, and their replacement by loops.

    completed: the block with the missing nodes of one run's incomplete last step added; None if no such run
        is found.
    """

    def __init__(self, program: IndexedBlock, means: LoopContext, fewest: int) -> None:
        self.program, self.means, self.fewest = program, means, fewest
        self.completed: Block | None = None
        self.taken = bytearray(len(program.rows))
        self.instead: dict[int, Sequence[Node]] = {}

    def block(self) -> Block:
        block, signatures = self.program.block, self.program.rows
        fewest = _fewest_of(block.nodes, self.fewest)
        # Runs that also agree in their numbers come first, because their loops need no sequences of numbers.
        for keys in ([row.exact for row in signatures], [row.key for row in signatures]):
            for run in find_repeated_runs(keys, fewest):
                self._roll(run)
                # The periods of later runs are hardly shorter, so too few nodes are left for these.
                if self.taken.count(0) < run.period * fewest:
                    break
            if self.instead:
                nodes = [part for index, node in enumerate(block.nodes) for part in self._at(index, node)]
                return Block(block.inputs, tuple(nodes), block.outputs)
        return block

    def _at(self, index: int, node: Node) -> Sequence[Node]:
        return self.instead.get(index, () if self.taken[index] else (node,))

    def _roll(self, run: RepeatedRun) -> None:
        """Replace ``run`` by a loop if one is found.

        Several periods are tried as one step, because a step may contain a short unrolled loop with its own
        numbers.
        """
        nodes = self.program.block.nodes[run.first : run.first + run.period]
        fewest = _fewest_of(nodes, self.fewest)
        for times in range(1, _MOST_INNER + 1):
            longer = run._replace(period=run.period * times)
            if longer.period * fewest > longer.end - longer.first:
                return
            found = [
                loop
                for first in _beginnings(self.program.block, longer)
                if (loop := self._loop(longer, first, fewest)) is not None
            ]
            if found:
                # A smaller carry is faster, and more replaced nodes make the source shorter.
                self._take(min(found, key=lambda loop: (loop.carried, -len(loop.replaced))))
                return

    def _loop(self, run: RepeatedRun, first: int, fewest: int) -> LoopReplacement | None:
        count = (run.end - first) // run.period
        if count < fewest or any(self.taken[first : first + count * run.period]):
            return None
        steps = fit_steps(self.program, first, run.period, count, fewest)
        if steps is not None and self.completed is None:
            self.completed = with_whole_last_step(steps)
        loop = build_loop(steps, self.means, fewest) if steps is not None else None
        return None if loop is None or any(self.taken[index] for index in loop.replaced) else loop

    def _take(self, loop: LoopReplacement) -> None:
        for index in loop.replaced:
            self.taken[index] = 1
        self.instead.update(loop.instead)


def _beginnings(block: Block, run: RepeatedRun) -> Iterator[int]:
    first, end, period = run
    lines = [node.origin.line for node in block.nodes[first : first + period]]
    again = next((place for place in range(1, period) if lines[place] < lines[place - 1]), 0)
    yield from dict.fromkeys((first, first + (end - first) % period, first + again))
