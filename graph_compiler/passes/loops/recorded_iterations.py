"""Conversion of the recorded iterations of one loop to a ``scan`` or ``while_loop``.

:func:`folded_loop` is the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from ...errors import Signal
from ...ir.builder import Body, close
from ...ir.graph import Graph, Guard
from ...ir.node import CallRecord, Node, Region, Value, values_in
from ...ir.recorded_loop import CONDITIONS, Mark, Path, RecordedLoop, VariableState
from ...ir.rewrite import copy_with_replacements
from ...ops.registry import ArraySpec
from ...ops.rules import nonnegative
from ...sizes import Size, Symbol, apply, hint_of
from ...sizes.bounds import largest_magnitude, upper_bound
from ...trees import iterate_structure
from ..repeats.find import GraphSignatures, NodeSignature


class IterationsDiffer(Signal):
    """Signal that no loop node can express the recorded iterations."""


class TooShort(IterationsDiffer):
    """Signal that there are fewer than two comparable iterations."""


@dataclass(frozen=True)
class RecordedIteration:
    """Recorded nodes of one iteration.

    nodes: all nodes; inner loops are loop nodes, or unrolled.
    own: the nodes outside of inner loops that may become nodes.
    is_whole: False if a directly enclosed loop has too few recorded iterations to become a loop node,
        although its trip count may be larger in other iterations.
    """

    nodes: Sequence[Node]
    own: Sequence[Node]
    is_whole: bool = True

    def written(self, base_of: Callable[[Value], Value]) -> list[Value]:
        made = {value for node in self.nodes for value in node.outputs}
        bases = dict.fromkeys(base_of(value) for node in self.nodes for value in node.writes)
        return [base for base in bases if base not in made]


@dataclass(frozen=True)
class IterationResult:
    node: int
    output: int


def made_in(step: Sequence[Node]) -> dict[Value, IterationResult]:
    return {
        value: IterationResult(place, output)
        for place, node in enumerate(step)
        for output, value in enumerate(node.outputs)
    }


def slots_of(mark: Mark) -> dict[Value, list[Path]]:
    found: dict[Value, list[Path]] = {}
    for path, held in mark.state.items():
        if isinstance(held.item, Value):
            found.setdefault(held.item, []).append(path)
    return found


def value_at(mark: Mark, path: Path) -> Value | None:
    held = mark.state.get(path)
    return held.item if held is not None and isinstance(held.item, Value) else None


_INDEXED = frozenset({"__getitem__", "__setitem__"})
_ARITHMETIC = frozenset({
    "add", "radd", "sub", "rsub", "subtract", "mul", "rmul", "multiply", "div", "truediv", "rtruediv",
    "divide", "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne", "less", "less_equal", "greater",
    "greater_equal", "equal", "not_equal", "where", "pow", "rpow", "power",
})  # fmt: skip
# Powers are excluded, because integers have no negative powers.
_ANYWHERE = (_ARITHMETIC - {"pow", "rpow", "power"}) | {
    "abs", "absolute", "all", "any", "sum", "mean", "max", "min", "amax", "amin", "sqrt", "square", "exp",
    "log", "neg", "negative", "isnan", "isfinite", "isinf", "and", "or", "invert", "logical_and",
    "logical_or", "logical_not", "norm", "vector_norm", "dot", "matmul", "copy", "shape", "size", "T",
    "asarray", "reduce_sum", "reduce_max", "reduce_min", "reduce_or", "reduce_and", "convert_element_type",
    "broadcast_in_dim", "squeeze", "select_n", "dot_general",
}  # fmt: skip
_STEPS, _TOO_WIDE = 2**15, 2**31
# Operations that only convert the loop index to an array.
_CONVERTED = frozenset({"asarray"})


class ValueIndex:
    """Index of the values of a recorded graph, with the positions of nodes that compute, use and write them.

    counts: True if loop indices of the target are Python integers.
    made: position of the node that computes a value.
    used: position of the last use of a value; infinity if it is used after all nodes.
    sources: inputs, parameters and constants of the graph.
    memory_used: position of the last use of an array's memory, by the owner of the memory; infinity if it may
        be used after all nodes.
    written: positions of the writes, by the owner of the memory.
    guarded: values that guards read.
    of_index: loop of each loop index.
    """

    def __init__(self, graph: Graph, rows: GraphSignatures, counts: bool) -> None:
        self.graph, self.rows, self.aliases, self.counts = graph, rows, rows.aliases, counts
        self.made = {value: place for place, node in enumerate(graph.nodes) for value in node.outputs}
        self.used: dict[Value, float] = {}
        self.sources = set(graph.sources())
        # The caller may read its arrays after the call.
        self.memory_used = dict.fromkeys(self.sources, float("inf"))
        self.written: dict[Value, list[int]] = {}
        for place, node in enumerate(graph.nodes):
            for value in node.writes:
                self.written.setdefault(self.aliases.base_of(value), []).append(place)
            self._note((*node.uses, *node.writes), place)
        for mark in (mark for loop in graph.loops for mark in loop.marks):
            self._note(
                [held.item for path, held in mark.state.items() if path[0] == CONDITIONS[0]], mark.position
            )
        self._note(graph.roots(), float("inf"))
        self.guarded = {value for guard in graph.guards for value in values_in((guard.condition,))}
        self.of_index = {
            mark.index: loop for loop in graph.loops for mark in loop.marks if mark.index is not None
        }

    def is_counted(self, node: Node) -> bool:
        if node.op == "scan":
            return (
                upper_bound(
                    node.params["length"], lambda symbol: (0, 0) if symbol.source in self.of_index else None
                )
                is None
            )
        if self.rows.unsized.issuperset(node.outputs):
            return False
        if any(self._is_wide(item) for item in iterate_structure((node.inputs, node.params))):
            return True
        if node.key in _INDEXED:
            index = _items(node)
            free: tuple[Any, ...] = (
                node.inputs[0],
                *(item for item in index if isinstance(item, Size)),
                *node.inputs[2:3],
            )
            is_wide = all(is_inside for cut in self.cuts(node) for _, is_inside in cut)
            left = [
                item
                for item in index
                if not isinstance(item, Size) and not (is_wide and self._goes_forward(item))
            ]
        else:
            is_free = _bare(node) in _ARITHMETIC | _CONVERTED
            free, left = (node.inputs, []) if is_free else ((), [*node.inputs])
        rest = [*left, *(item for item in free if not isinstance(item, (Size, Value))), node.params]
        return any(map(self._is_of_step, iterate_structure(rest)))

    def cuts(self, node: Node) -> list[list[tuple[bool, bool]]]:
        found, items = [], _items(node) if node.key in _INDEXED else ()
        shape = node.inputs[0].shape if items else ()
        for place, item in enumerate(items):
            bounds = (
                [bound for bound in (item.start, item.stop) if self._is_of_step(bound)]
                if isinstance(item, slice)
                else []
            )
            before = [other for other in items[:place] if other is not None]
            axis = (
                place - items[:place].count(None)
                if Ellipsis not in before
                else place - len(items) + items[place:].count(None)
            )
            numbers = [hint_of(bound) for bound in bounds]
            found.append(
                [(number < 0, -hint_of(shape[axis]) <= number <= hint_of(shape[axis])) for number in numbers]
            )
        return found

    def cuts_at_step(self, node: Node) -> bool:
        items = _items(node) if node.key in _INDEXED else ()
        return any(
            self._is_of_step(bound)
            for item in items
            if isinstance(item, slice)
            for bound in (item.start, item.stop)
        )

    @staticmethod
    def selects(node: Node) -> bool:
        return node.key == "__getitem__" and any(
            isinstance(item, Value) and item.dtype == "bool" for item in _items(node)
        )

    @staticmethod
    def _goes_forward(item: Any) -> bool:
        return isinstance(item, slice) and (item.step is None or (type(item.step) is int and item.step > 0))

    def _is_wide(self, item: Any) -> bool:
        return (
            self._is_of_step(item)
            and largest_magnitude(item, lambda symbol: max(_STEPS, abs(int(symbol.hint)))) >= _TOO_WIDE
        )

    def _is_of_step(self, item: Any) -> bool:
        return isinstance(item, Size) and any(symbol.source in self.of_index for symbol in item.symbols())

    def are_harmless(self, mark: Mark) -> bool:
        late = self.graph.nodes[
            mark.position if mark.first_condition is None else mark.first_condition : mark.position
        ]
        return all(_bare(node) in _ANYWHERE for node in late)

    def is_before(self, value: Value, mark: Mark) -> bool:
        return self.made.get(value, -1) < mark.position

    def note_use(self, values: Sequence[Value], mark: Mark) -> None:
        self._note(values, mark.position)

    def _note(self, values: Iterable[Value], place: float) -> None:
        for value in values:
            self.used[value] = max(self.used.get(value, -1), place)
            base = self.aliases.base_of(value)
            self.memory_used[base] = max(self.memory_used.get(base, -1), place)

    def sees_writes(self, value: Value, to: Value, mark: Mark) -> bool:
        written = self.written.get(self.aliases.base_of(to), ())
        first = next((place for place in written if place >= mark.position), float("inf"))
        return self.memory_used.get(self.aliases.base_of(value), -1) > first

    def is_used_after(self, value: Value, mark: Mark) -> bool:
        return self.used.get(value, -1) >= mark.position


def _bare(node: Node) -> str:
    return node.key.removesuffix("_p").strip("_")


def _items(node: Node) -> tuple[Any, ...]:
    return node.inputs[1] if isinstance(node.inputs[1], tuple) else (node.inputs[1],)


def outer_loops(loop: RecordedLoop) -> Iterator[RecordedLoop]:
    while loop.outer is not None:
        loop = loop.outer[0]
        yield loop


class RetainedVariables:
    def __init__(self, places: ValueIndex, loop: RecordedLoop, marks: Sequence[Mark]) -> None:
        self.places, self.marks = places, marks
        self.after = {path for path in (*marks[0].state, *marks[1].state) if path[0] in loop.after}
        last = {path: value_at(marks[-1], path) for path in self.after}
        self.old = {
            path: value
            for path, value in last.items()
            if value is not None and places.is_before(value, marks[0])
        }
        """Variables that hold an array from before the loop when it ends."""

    def are_certain(self, first: int) -> bool:
        return all(
            value_at(mark, path) is value for path, value in self.old.items() for mark in self.marks[first:]
        )

    def need_a_step(self) -> bool:
        return any(
            self._held(0, path) != self._held(1, path) or self._is_shared_without_one(path)
            for path in self.after
        )

    def _is_shared_without_one(self, path: Path) -> bool:
        first, last, end = value_at(self.marks[0], path), value_at(self.marks[-1], path), self.marks[-1]
        if first is None or last is None or path in self.old:
            return False
        return self.places.sees_writes(first, last, end) or self.places.sees_writes(last, first, end)

    def _held(self, place: int, path: Path) -> tuple[Any, str | Value | None]:
        held = self.marks[place].state.get(path, VariableState(None))
        if isinstance(held.item, Size):
            return held.kind, held.item.text(
                lambda symbol: f"{symbol.kind} {symbol.axis} {id(symbol.source)}"
            )
        return held.kind, held.item if path in self.old else None


_FEWEST = 2
# Pattern of the loop index.
_INDEX = "index"


def folded_loop(
    places: ValueIndex, loop: RecordedLoop, steps: Sequence[RecordedIteration], peeled: int
) -> tuple[list[Node], list[Guard]]:
    """Return the nodes of a loop with its first ``peeled`` iterations unrolled, and the guards it needs.

    Raise ``IterationsDiffer`` if no loop node can express the other iterations. ``places`` is updated.
    """
    return _LoopBuilder(places, loop, steps, peeled).result()


Pattern = Any
"""``IterationResult``, the path of a variable, ``_INDEX``, or a value from before the loop.

None for a leaf that is not a value.
"""


class _LoopBuilder:
    def __init__(
        self, places: ValueIndex, loop: RecordedLoop, steps: Sequence[RecordedIteration], peeled: int
    ) -> None:
        self.places, self.loop = places, loop
        self.before, self.all_steps, self.marks = steps[:peeled], steps[peeled:], loop.marks[peeled:]
        self.peeled, self.count = peeled, len(steps) - peeled
        if self.count < _FEWEST:
            raise TooShort
        whole = [
            place
            for place, step in enumerate(self.all_steps)
            if step.is_whole and self._has_conditions(self.marks[place + 1])
        ]
        if len(whole) < _FEWEST:
            raise TooShort
        self.are_whole = len(whole) == self.count
        if not all(step.is_whole for step in (steps if loop.is_while else self.before)):
            raise IterationsDiffer
        if any(
            mark.index in node.inputs for step, mark in zip(self.before, loop.marks) for node in step.nodes
        ):
            # An inner loop node reads the index of an unrolled iteration, which has no value then.
            raise IterationsDiffer
        if loop.any_of and peeled and not self._has_conditions(self.marks[0]):
            raise IterationsDiffer
        self.steps = [self.all_steps[place].nodes for place in whole]
        self.rows: list[list[NodeSignature]] = [
            [places.rows.of(node) for node in step] for step in self.steps
        ]
        self.made = [made_in(step) for step in self.steps]
        self.made_in_any = {value for step in self.all_steps for node in step.nodes for value in node.outputs}
        self.begins, self.ends = (
            [self.marks[place] for place in whole],
            [self.marks[place + 1] for place in whole],
        )
        self.slots, self.last_slots = slots_of(self.begins[0]), slots_of(self.marks[-1])
        self.kept = RetainedVariables(places, loop, self.marks)
        self.carried, self.first = dict[Path, Value](), dict[Path, Value]()
        self.is_spared = False
        self.written: dict[Value, Value] = {}
        self.memory: dict[Value, None] = {}
        self.reached: dict[Value, Pattern] = {}
        self.index: Value | None = None

    def _has_conditions(self, mark: Mark) -> bool:
        return all((*CONDITIONS, number) in mark.state for number in range(len(self.loop.negated)))

    # ------------------------------------------------------------------------------ comparison of iterations
    def result(self) -> tuple[list[Node], list[Guard]]:
        self._states_are_equal()
        self._calls_are_equal()
        patterns = [
            [self._pattern(list(leaves)) for leaves in zip(*self._leaves(place))]
            for place in range(len(self.rows[0]))
        ]
        self._writes_are_apart(patterns)
        if not self.places.counts and any(map(self.places.is_counted, self.steps[-1])):
            raise IterationsDiffer
        return self._nodes(list(zip(self.steps[-1], patterns)))

    def _leaves(self, place: int) -> list[Sequence[Any]]:
        return [rows[place].leaves for rows in self.rows if place < len(rows)]

    def _states_are_equal(self) -> None:
        begin = 0 if self.peeled else 1
        first, *others = (self._state(place) for place in range(begin, len(self.marks)))
        if any(state != first for state in others) or not self.kept.are_certain(begin):
            raise IterationsDiffer

    def _state(self, place: int) -> Mapping[Path, Any]:
        mark = self.marks[place]
        before = self.loop.marks[place + self.peeled - 1].index
        held: dict[Value, Any] = {
            item.item: path for path, item in mark.state.items() if isinstance(item.item, Value)
        }

        def symbol(item: Symbol) -> str:
            loop = self.places.of_index.get(item.source)
            is_inner = loop is not None and self.loop in outer_loops(loop)
            other: Any = (
                loop.origin if loop is not None and is_inner else held.get(item.source, id(item.source))
            )
            source = "before" if item.source is before else other
            return f"{item.kind} {item.axis} {source}"

        own = {path: held for path, held in mark.state.items() if path[0] != CONDITIONS[0]}
        return {
            path: (held.kind, held.item.text(symbol) if isinstance(held.item, Size) else None)
            for path, held in own.items()
        }

    def _calls_are_equal(self) -> None:
        if any(
            value in self.places.guarded
            for step in self.all_steps
            for node in step.nodes
            for value in node.outputs
        ):
            # Further iterations would need guards as well.
            raise IterationsDiffer
        keys = [[row.key for row in rows] for rows in self.rows]
        if any(step != keys[0] for step in keys[1:]) or any(key < 0 for key in keys[0]):
            raise IterationsDiffer
        own = [[self.places.rows.of(node).key for node in step.own] for step in self.all_steps]
        longest = max(own, key=len)
        if (
            any(step != (longest[: len(step)] if self.loop.is_while else longest) for step in own)
            or not self._sizes_are_even()
        ):
            raise IterationsDiffer
        cuts = [[self.places.cuts(node) for node in step] for step in self.steps]
        if any(cut != whole for step in cuts for cut, whole in zip(step, cuts[0])):
            # The end of an axis cuts the slice off in some iterations only.
            raise IterationsDiffer
        if len(self.loop.negated) > 1 and not all(map(self.places.are_harmless, self.loop.marks)):
            raise IterationsDiffer

    def _sizes_are_even(self) -> bool:
        uneven: set[Value] = set()
        selected: set[Value] = set()
        for nodes in zip(*self.steps):
            for values in zip(*(node.outputs for node in nodes)):
                shapes = [value.shape for value in values]
                if any(shape != shapes[0] for shape in shapes) and values[-1] not in self.places.rows.unsized:
                    if self.places.selects(nodes[-1]) or not selected.isdisjoint(nodes[-1].uses):
                        selected.update(values)
                        continue
                    uneven.update(values)
                    is_cut = self.places.cuts_at_step(nodes[-1]) or not uneven.isdisjoint(nodes[-1].uses)
                    if not is_cut or any(
                        len({two - one for one, two in pairwise(sizes)}) > 1 for sizes in zip(*shapes)
                    ):
                        return False
        return True

    def _needs_a_step(self) -> bool:
        return bool(self.peeled) or self.is_spared or self.kept.need_a_step()

    # ------------------------------------------------------------------------------ patterns
    def _pattern(self, leaves: list[Any]) -> Pattern:
        first = leaves[0]
        if not isinstance(first, Value):
            if any(type(leaf) is not type(first) or repr(leaf) != repr(first) for leaf in leaves):
                raise IterationsDiffer
            return None
        if first in self.made[0]:
            own = self.made[0][first]
            if all(made.get(leaf) == own for made, leaf in zip(self.made, leaves)):
                return own
            raise IterationsDiffer
        if first is self.begins[0].index:
            if all(leaf is mark.index for leaf, mark in zip(leaves, self.begins)):
                return _INDEX
            raise IterationsDiffer
        if all(leaf is first for leaf in leaves) and self.places.is_before(first, self.marks[0]):
            return first
        for path in self.slots.get(first, ()):
            if all(value_at(mark, path) is leaf for leaf, mark in zip(leaves, self.begins)):
                return path
        raise IterationsDiffer

    def _writes_are_apart(self, patterns: list[list[Pattern]]) -> None:
        self.memory = dict.fromkeys(
            base for step in self.all_steps for base in step.written(self.places.aliases.base_of)
        )
        for value in self.memory:
            self._keep_written(value)
        for place, row in enumerate(patterns):
            for at, pattern in enumerate(row):
                if not (pattern is None or pattern is _INDEX or isinstance(pattern, IterationResult)):
                    for leaves in self._leaves(place):
                        self._reach(leaves[at], pattern)

    def _variables_are_apart(self) -> None:
        for path in self.carried:
            for mark in self.marks[:-1]:
                value = value_at(mark, path)
                if value is not None:
                    self._reach(value, path)

    def _reach(self, value: Value, pattern: Pattern) -> None:
        base = self.places.aliases.base_of(value)
        if base in self.memory and (base is not value or self.reached.setdefault(value, pattern) != pattern):
            raise IterationsDiffer

    def _keep_written(self, value: Value) -> None:
        if value in self.made_in_any:
            return
        if not self.places.is_before(value, self.marks[0]) or not self._writes_in_all(value):
            raise IterationsDiffer
        self.written[value] = Value(value.name, value.spec)

    def _writes_in_all(self, value: Value) -> bool:
        base_of = self.places.aliases.base_of
        return all(
            any(base_of(each) is value for node in step for each in node.writes) for step in self.steps
        )

    # ------------------------------------------------------------------------------ loop body
    def _read(self, pattern: Pattern, leaf: Value, made: Mapping[IterationResult, Value]) -> Value:
        if isinstance(pattern, IterationResult):
            return made[pattern]
        if pattern is _INDEX:
            self.index = self.index or Value(leaf.name, leaf.spec)
            return self.index
        if isinstance(pattern, tuple):
            return self._carry(pattern)
        return self.written.get(leaf, leaf)

    def _carry(self, path: Path) -> Value:
        if path not in self.carried:
            last = value_at(self.ends[-1] if path[0] == CONDITIONS[0] else self.marks[-1], path)
            if last is None:
                raise IterationsDiffer
            self.first[path] = self._before_first(path, last)
            self.carried[path] = Value(last.name, last.spec)
        return self.carried[path]

    def _before_first(self, path: Path, last: Value) -> Value:
        first = value_at(self.marks[0], path)
        if first is not None and first.spec == last.spec:
            return first
        self.is_spared = True
        for held in self.marks[0].state.values():
            if isinstance(held.item, Value) and held.item.spec == last.spec:
                return held.item
        raise IterationsDiffer

    def _copies(
        self, nodes: list[tuple[Node, list[Pattern]]], made: dict[IterationResult, Value]
    ) -> Iterator[Node]:
        for place, (node, row) in enumerate(nodes):
            leaves = zip(self.rows[-1][place].leaves, row)
            new_node = copy_with_replacements(
                node,
                [
                    (leaf, self._read(pattern, leaf, made))
                    for leaf, pattern in leaves
                    if isinstance(leaf, Value)
                ],
            )
            if new_node is None:
                raise IterationsDiffer
            made.update(
                (IterationResult(place, output), value) for output, value in enumerate(new_node.outputs)
            )
            yield new_node

    # ------------------------------------------------------------------------------ values after the loop
    def _finals(self) -> dict[Path, Pattern]:
        end = self.marks[-1]
        for step in self.all_steps:
            for value in (value for node in step.nodes for value in node.outputs):
                if self.places.is_used_after(value, end):
                    self._carry(self._variable(value))
        for mark in self.loop.marks:
            if mark.index is not None and self.places.is_used_after(mark.index, end):
                raise IterationsDiffer
        found: dict[Path, Pattern] = {}
        while missing := [path for path in self.carried if path not in found]:
            for path in missing:
                found[path] = self._following(path)
        return found

    def _variable(self, value: Value) -> Path:
        paths = self.last_slots.get(value, [])
        if not self.are_whole and len({self._following(path) for path in paths}) > 1:
            # The variables agree only because an inner loop had no iteration.
            raise IterationsDiffer
        begun = [
            path
            for path in paths
            if (first := value_at(self.marks[0], path)) is not None and first.spec == value.spec
        ]
        if not paths:
            raise IterationsDiffer
        return next((path for path in begun if path in self.carried), (*begun, *paths)[0])

    def _following(self, path: Path) -> Pattern:
        values = [value_at(mark, path) for mark in self.ends]
        first = values[0]
        if first is None or None in values:
            raise IterationsDiffer
        if first in self.made[0] and all(
            value is not None and made.get(value) == self.made[0][first]
            for made, value in zip(self.made, values)
        ):
            return self.made[0][first]
        for other in self.slots.get(first, ()):
            if all(value_at(mark, other) is value for value, mark in zip(values, self.begins)):
                self._carry(other)
                return other
        raise IterationsDiffer

    def _outputs(self) -> Iterator[Value]:
        given: set[Value] = set()
        for each in self.written:
            yield Value(each.name, each.spec)
        for path, carried in self.carried.items():
            value = value_at(self.marks[-1], path)
            # The condition was not evaluated.
            if value is None:
                yield Value(carried.name, carried.spec)
                continue
            is_made = not self.places.is_before(value, self.marks[0])
            if not is_made and self.places.is_used_after(value, self.marks[-1]):
                raise IterationsDiffer
            if self.places.aliases.base_of(value) is not value and self.places.aliases.is_written(value):
                raise IterationsDiffer
            yield value if is_made and value not in given else Value(value.name, value.spec)
            given.add(value)

    # ------------------------------------------------------------------------------ loop node
    def _nodes(self, steps: list[tuple[Node, list[Pattern]]]) -> tuple[list[Node], list[Guard]]:
        if self.loop.is_while:
            for number in range(len(self.loop.negated)):
                self._carry((*CONDITIONS, number))
        made: dict[IterationResult, Value] = {}
        nodes = list(self._copies(steps, made))
        finals = self._finals()
        self._variables_are_apart()
        following = {path: self._read(pattern, self.carried[path], made) for path, pattern in finals.items()}
        body = Body(
            "body",
            [*self.written.values(), *self.carried.values()],
            nodes,
            [*self.written.values(), *(following[path] for path in self.carried)],
        )
        before = [node for step in self.before for node in step.nodes]
        if not body.inputs:
            return before, self._guards()
        return [*before, *(self._while(body) if self.loop.is_while else self._scan(body))], self._guards()

    def _while(self, body: Body) -> list[Node]:
        state = [Value(value.name, value.spec) for value in body.inputs]
        held = dict(zip(self.carried, state[len(self.written) :]))
        nodes: list[Node] = []
        answers = [held[(*CONDITIONS, number)] for number in range(len(self.loop.negated))]
        answers = [
            self._logical(nodes, "not", value) if negated else value
            for value, negated in zip(answers, self.loop.negated)
        ]
        answer = reduce(partial(self._logical, nodes, "or" if self.loop.any_of else "and"), answers)
        regions, captured = close(Body("condition", state, nodes, [answer]), body)
        return [self._node("while_loop", captured, {"most": None}, regions)]

    def _logical(self, nodes: list[Node], name: str, *values: Value) -> Value:
        made = Value(f"is_{name}", values[0].spec)
        op = f"logical_{name}"
        nodes.append(
            Node(
                f"{self.loop.library}.{op}",
                values,
                {},
                self.loop.origin,
                (made,),
                CallRecord(op, result=made),
            )
        )
        return made

    def _scan(self, body: Body) -> list[Node]:
        start, length = self._start(), self._length()
        length = length if nonnegative(length) or self._needs_a_step() else apply("max", length, 0)
        sequences = [] if self.index is None else [self._numbers(start)]
        inputs = body.inputs if self.index is None else [*body.inputs, self.index]
        regions, captured = close(Body("body", inputs, body.nodes, body.outputs))
        params = {"sequences": len(sequences), "length": length, "reverse": False, "checkpoint": False}
        return [
            *sequences,
            self._node("scan", (*(node.outputs[0] for node in sequences), *captured), params, regions),
        ]

    def _node(
        self, op: str, operands: Sequence[Value], params: dict[str, Any], regions: tuple[Region, ...]
    ) -> Node:
        carried = (*self.written, *(self.first[path] for path in self.carried))
        self.places.note_use(carried, self.marks[0])
        results = tuple(self._outputs())
        record = CallRecord(op, result=results, writes=tuple(self.written))
        return Node(
            op,
            (*carried, *operands),
            {"carried": len(carried), **params},
            self.loop.origin,
            results,
            record,
            regions,
        )

    def _start(self) -> Any:
        return self.loop.start + self.peeled * self.loop.step

    def _length(self) -> Any:
        step = self.loop.step
        return (self.loop.stop - self._start() + step - (1 if step > 0 else -1)) // step

    def _guards(self) -> list[Guard]:
        if not self._needs_a_step():
            return []
        if self.loop.is_while:
            first = self.loop.conditions[: sum(path[0] == CONDITIONS[0] for path in self.loop.marks[0].state)]
            if self.loop.outer is not None:
                begin = list(outer_loops(self.loop))[-1].marks[0]
                if not all(self.places.is_before(value, begin) for value, _ in first):
                    raise IterationsDiffer
            return [Guard(value, answer, self.loop.origin) for value, answer in first]
        condition = apply("ge", self._length(), 0 if self.peeled else 1)
        if not isinstance(condition, Size):
            return []
        if self.loop.outer is not None and any(
            symbol.source not in self.places.sources for symbol in condition.symbols()
        ):
            # The number may differ between iterations of an outer loop.
            raise IterationsDiffer
        return [Guard(condition, True, self.loop.origin)]

    def _numbers(self, start: Any) -> Node:
        value = Value("steps", ArraySpec((self.count + self.loop.skipped,), "int64"))
        self.places.rows.unsized.add(value)
        inputs = (start, self.loop.stop, self.loop.step)
        return Node(
            f"{self.loop.library}.arange",
            inputs,
            {},
            self.loop.origin,
            (value,),
            CallRecord("arange", result=value),
        )
