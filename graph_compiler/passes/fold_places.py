"""Where values of a recorded graph are made and used, as loops that are folded ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..ir.graph import Graph
from ..ir.node import Node, Value, values_in
from ..ir.recorded_loop import ASKED, Mark, RecordedLoop
from ..sizes import Size, hint_of
from ..sizes.extremes import greatest, widest
from ..trees import iterate_structure
from .roll_keys import Rows

_INDEXED = frozenset({"__getitem__", "__setitem__"})
_ARITHMETIC = frozenset({
    "add", "radd", "sub", "rsub", "subtract", "mul", "rmul", "multiply", "div", "truediv", "rtruediv", "divide", "maximum", "minimum", "lt",
    "le", "gt", "ge", "eq", "ne", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "where", "pow", "rpow", "power",
})  # fmt: skip
_ANYWHERE = (_ARITHMETIC - {"pow", "rpow", "power"}) | {  # whole numbers have no negative powers
    "abs", "absolute", "all", "any", "sum", "mean", "max", "min", "amax", "amin", "sqrt", "square", "exp", "log", "neg", "negative",
    "isnan", "isfinite", "isinf", "and", "or", "invert", "logical_and", "logical_or", "logical_not", "norm", "vector_norm", "dot", "matmul",
    "copy", "shape", "size", "T", "asarray", "reduce_sum", "reduce_max", "reduce_min", "reduce_or", "reduce_and", "convert_element_type",
    "broadcast_in_dim", "squeeze", "select_n", "dot_general",
}  # fmt: skip
_STEPS, _TOO_WIDE = 2**15, 2**31
_CONVERTED = frozenset({"asarray"})  # the number itself as an array


class Places:
    """Where values of the recorded graph are made and last used, and the rows of its nodes."""

    def __init__(self, graph: Graph, rows: Rows, counts: bool) -> None:
        self.graph, self.rows, self.aliases, self.counts = graph, rows, rows.aliases, counts
        self.made = {value: place for place, node in enumerate(graph.nodes) for value in node.outputs}
        self.used: dict[Value, float] = {}
        self.sources = set(graph.sources())
        self.memory_used = dict.fromkeys(self.sources, float("inf"))  # of bases: whoever gave them may read them
        self.written: dict[Value, list[int]] = {}
        for place, node in enumerate(graph.nodes):
            for value in node.writes:
                self.written.setdefault(self.aliases.base_of(value), []).append(place)
            self._note((*node.uses, *node.writes), place)
        for mark in (mark for loop in graph.loops for mark in loop.marks):
            self._note([held.item for path, held in mark.state.items() if path[0] == ASKED[0]], mark.position)
        self._note(graph.roots(), float("inf"))
        self.guarded = {value for guard in graph.guards for value in values_in((guard.condition,))}
        self.of_index = {mark.index: loop for loop in graph.loops for mark in loop.marks if mark.index is not None}

    def is_counted(self, node: Node) -> bool:
        """Whether the number of a step stands where a target that counts in arrays cannot have it: in sizes, in slices that
        are cut off by their axis, and in sums that pass 32 bits. Inner loops may have lengths that grow evenly with it, and get a bound."""
        if node.op == "scan":
            return greatest(node.params["length"], lambda symbol: (0, 0) if symbol.source in self.of_index else None) is None
        if self.rows.counters.issuperset(node.outputs):
            return False
        if any(self._is_wide(item) for item in iterate_structure((node.inputs, node.params))):
            return True
        if node.key in _INDEXED:
            index = _items(node)
            free: tuple[Any, ...] = (node.inputs[0], *(item for item in index if isinstance(item, Size)), *node.inputs[2:3])
            is_wide = all(is_inside for cut in self.cuts(node) for _, is_inside in cut)
            left = [item for item in index if not isinstance(item, Size) and not (is_wide and self._goes_forward(item))]
        else:
            is_free = _bare(node) in _ARITHMETIC | _CONVERTED
            free, left = (node.inputs, []) if is_free else ((), [*node.inputs])
        rest = [*left, *(item for item in free if not isinstance(item, (Size, Value))), node.params]
        return any(map(self._is_of_step, iterate_structure(rest)))

    def cuts(self, node: Node) -> list[list[tuple[bool, bool]]]:
        """Of each bound of a slice in which the number of a step stands, whether it counts from the end, and lies inside of its axis."""
        found, items = [], _items(node) if node.key in _INDEXED else ()
        shape = node.inputs[0].shape if items else ()
        for place, item in enumerate(items):
            bounds = [bound for bound in (item.start, item.stop) if self._is_of_step(bound)] if isinstance(item, slice) else []
            before = [other for other in items[:place] if other is not None]
            axis = place - items[:place].count(None) if Ellipsis not in before else place - len(items) + items[place:].count(None)
            numbers = [hint_of(bound) for bound in bounds]
            found.append([(number < 0, -hint_of(shape[axis]) <= number <= hint_of(shape[axis])) for number in numbers])
        return found

    def cuts_at_step(self, node: Node) -> bool:
        """Whether the number of a step stands in a slice."""
        items = _items(node) if node.key in _INDEXED else ()
        return any(self._is_of_step(bound) for item in items if isinstance(item, slice) for bound in (item.start, item.stop))

    @staticmethod
    def selects(node: Node) -> bool:
        """Whether a mask says how many elements a node reads."""
        return node.key == "__getitem__" and any(isinstance(item, Value) and item.dtype == "bool" for item in _items(node))

    @staticmethod
    def _goes_forward(item: Any) -> bool:
        """Whether this is a slice in the order of the axis."""
        return isinstance(item, slice) and (item.step is None or (type(item.step) is int and item.step > 0))

    def _is_wide(self, item: Any) -> bool:
        """Whether what is computed with the number of a step passes 32 bits, in which arrays hold it, in some thousand steps."""
        return self._is_of_step(item) and widest(item, lambda symbol: max(_STEPS, abs(int(symbol.hint)))) >= _TOO_WIDE

    def _is_of_step(self, item: Any) -> bool:
        return isinstance(item, Size) and any(symbol.source in self.of_index for symbol in item.symbols())

    def are_harmless(self, mark: Mark) -> bool:
        """Whether later conditions of a ``while`` may be computed where an earlier one has ended it: of no elements they fail."""
        late = self.graph.nodes[mark.position if mark.asked is None else mark.asked : mark.position]
        return all(_bare(node) in _ANYWHERE for node in late)

    def is_before(self, value: Value, mark: Mark) -> bool:
        """Whether a value is there before a loop."""
        return self.made.get(value, -1) < mark.position

    def note_use(self, values: Sequence[Value], mark: Mark) -> None:
        """A loop begins with these values, whether or not its recorded steps read them: those before it have to give them."""
        self._note(values, mark.position)

    def _note(self, values: Iterable[Value], place: float) -> None:
        for value in values:
            self.used[value] = max(self.used.get(value, -1), place)
            base = self.aliases.base_of(value)
            self.memory_used[base] = max(self.memory_used.get(base, -1), place)

    def sees_writes(self, value: Value, to: Value, mark: Mark) -> bool:
        """Whether the memory of a value is used after that of another one is written to behind a loop."""
        written = self.written.get(self.aliases.base_of(to), ())
        first = next((place for place in written if place >= mark.position), float("inf"))
        return self.memory_used.get(self.aliases.base_of(value), -1) > first

    def is_used_after(self, value: Value, mark: Mark) -> bool:
        """Whether a value, or the number of a step, is used behind a loop."""
        return self.used.get(value, -1) >= mark.position


def _bare(node: Node) -> str:
    """The name of a call that methods and primitives have in common."""
    return node.key.removesuffix("_p").strip("_")


def _items(node: Node) -> tuple[Any, ...]:
    return node.inputs[1] if isinstance(node.inputs[1], tuple) else (node.inputs[1],)


def outer_loops(loop: RecordedLoop) -> Iterator[RecordedLoop]:
    """The loops that a loop stands in."""
    while loop.outer is not None:
        loop = loop.outer[0]
        yield loop
