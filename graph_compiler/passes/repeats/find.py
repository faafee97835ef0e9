"""Find repeated runs of nodes in a block, and describe what changes from one repetition to the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple, Union

from ...ir.graph import GUARD, Aliases
from ...ir.node import Block, CallRecord, Node, Region, Value, every, values_in
from ...ir.sameness import comparable, params_without_hint, region_description
from ...ops.dtypes import is_in_range
from ...ops.registry import ArraySpec, find
from ...sizes import Size, Symbol
from ...trees import iterate_structure, map_structure


class RepeatedRun(NamedTuple):
    """Run of repetitions in a sequence.

    first: index of the first item.
    end: index after the last item. The last repetition may be incomplete.
    period: number of items in a repetition.
    """

    first: int
    end: int
    period: int


def find_repeated_runs(keys: list[Any], fewest: int) -> Iterator[RepeatedRun]:
    """Yield runs of ``keys`` with at least ``fewest`` repetitions; ``fewest`` is 3 or more.

    The algorithm is prefix doubling: keys are numbered, and the numbers of windows of ``2 w`` keys follow
    from those of ``w`` keys.

    >>> [*find_repeated_runs(["a", *["b", "c"] * 3, "d"], 3)], [*find_repeated_runs(["a", "b", "a"], 3)]
    ([RepeatedRun(first=1, end=7, period=2)], [])
    """
    single = numbers = _number_distinct(keys)
    width = 1
    # If no window of a width occurs twice, no wider one does.
    while (width // 2 + 1) * fewest <= len(keys) and len(set(numbers)) < len(numbers):
        yield from _runs_of_width(single, numbers, width, fewest)
        numbers = _number_distinct(list(zip(numbers, numbers[width:])))
        width *= 2


def _number_distinct(items: list[Any]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(item, len(known)) for item in items]


def _runs_of_width(keys: list[int], numbers: list[int], width: int, fewest: int) -> Iterator[RepeatedRun]:
    """Yield runs of at least ``fewest`` periods of more than ``width / 2`` and at most ``width`` keys.

    ``keys`` are the numbers of single keys, ``numbers`` those of windows of ``width`` keys.
    """
    last: dict[int, int] = {}
    # `done` and `known` are the end and the period of the last run, which must not be found again.
    done, known = 0, 0
    for place, number in enumerate(numbers):
        before = last.get(number, -width - 1)
        last[number] = place
        period = place - before
        if not width // 2 < period <= width or (period == known and place < done):
            continue
        end = place
        while end < len(keys) and keys[end] == keys[end - period]:
            end += 1
        done, known = end - period, period
        if end - before >= period * fewest:
            yield RepeatedRun(before, end, period)


_HOLDS_VALUES = ("result", "writes", "views", "extra")
_FLAGS = attrgetter(*(field.name for field in fields(CallRecord) if field.name not in _HOLDS_VALUES))


@dataclass(frozen=True, slots=True)
class NodeSignature:
    """Node split into a key, which must be equal in all iterations of a loop, and leaves, which may differ.

    key: number of the part that must be equal. It is negative for a node that may not be part of a loop.
    leaves: values from outside of the node (also for sizes), ints and floats, in order; empty if ``key`` is
        negative.
    """

    key: int
    leaves: tuple[Any, ...]

    @property
    def exact(self) -> Any:
        return (
            self.key,
            # ``repr`` tells 0.0 from -0.0, and NaN equals itself.
            *(repr(leaf) if type(leaf) is float else leaf for leaf in self.leaves if type(leaf) is not Value),
        )


class SignatureCache:
    """Cache of signatures that depend on the node alone, shared by passes that visit the same nodes.

    sizes: False to leave the sizes of arrays outside of regions out of the keys.
    """

    def __init__(self, sizes: bool = True) -> None:
        self.sizes = sizes
        self._rows: dict[Node, NodeSignature] = {}
        self._numbers: dict[Any, int] = {}
        # Calls of one function share its region, so the cache is keyed by identity.
        self._regions: dict[int, tuple[Region, int]] = {}

    def of(self, node: Node, unsized: Collection[Value] = ()) -> NodeSignature:
        """Return the signature of ``node``, whose key leaves out the sizes of the values ``unsized``.

        Raise ``TypeError`` for arguments such as NumPy arrays, which cannot be hashed.
        """
        row = self._rows.get(node) if not unsized else None
        if row is None:
            leaves: list[Any] = []
            row = NodeSignature(self._number(_key(node, leaves, self, unsized)), tuple(leaves))
            if not unsized:
                self._rows[node] = row
        return row

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def of_region(self, region: Region) -> int:
        if id(region) not in self._regions:
            self._regions[id(region)] = region, self._number(region_description(region, lambda size: None))
        return self._regions[id(region)][1]

    def of_spec(self, spec: ArraySpec) -> Any:
        return spec if self.sizes else (spec.dtype, spec.ndim)


class GraphSignatures:
    """Cache of the signatures of the nodes of one graph.

    A node that may not be part of a loop gets a key that equals no other.

    with_checks, with_draws: True if checks, and nodes that sample random numbers, may be part of a loop.
    written: owners of written memory that nodes of a loop may touch.
    """

    def __init__(
        self,
        aliases: Aliases,
        with_checks: bool = False,
        with_draws: bool = False,
        written: Collection[Value] = (),
        keys: SignatureCache | None = None,
    ) -> None:
        self.aliases, self.with_checks, self.with_draws = aliases, with_checks, with_draws
        self.apart = aliases.touched.difference(written)
        # Values with sizes that elements decide, which may differ from step to step.
        self.unsized: set[Value] = set()
        self._rows: dict[Node, NodeSignature] = {}
        self._keys = SignatureCache() if keys is None else keys
        self._alone = count(-1, -1)

    def of(self, node: Node) -> NodeSignature:
        row = self._rows.get(node)
        if row is None:
            row = self._rows[node] = self._made(node)
        return row

    def _made(self, node: Node) -> NodeSignature:
        if not self._stays(node):
            # Arguments of recorded calls need not be hashable. Such a node equals no other.
            try:
                return self._keys.of(node, self.unsized)
            except TypeError:
                pass
        return NodeSignature(next(self._alone), ())

    def _stays(self, node: Node) -> bool:
        record = node.record
        if node.op == GUARD:
            return not self.with_checks
        if record is not None and record.is_host_number:
            return True
        if not (node.outputs or node.writes) or not self.with_draws and any(map(_draws, every([node]))):
            return True
        return bool(self.apart) and any(
            self.aliases.base_of(value) in self.apart for value in (*node.outputs, *node.uses, *node.writes)
        )


def _draws(node: Node) -> bool:
    if node.record is not None:
        return node.is_random
    declared = find(node.op)
    return declared is not None and declared.section == "random"


def _key(node: Node, leaves: list[Any], keys: SignatureCache, unsized: Collection[Value]) -> Any:
    """Return the part of ``node`` that equal iterations share; append what may differ to ``leaves``."""
    origin, record, read = node.origin, node.record, _Reading(node, leaves, keys, unsized)
    outputs = tuple([read.spec(value) for value in node.outputs])
    parts = [
        node.op,
        origin.file,
        origin.line,
        origin.call,
        outputs,
        read.item(node.inputs),
        read.item(params_without_hint(node)),
    ]
    if record is not None:
        parts += [
            _FLAGS(record),
            *map(read.value, record.writes),
            *((place, read.value(viewed)) for place, viewed in record.views.items()),
            read.item(record.result),
        ]
        parts.append(None if record.extra is None else record.extra.mapped(read.opened))
    for region in node.regions:
        parts += [tuple([read.item(size) for size in region.sizes.values()]), keys.of_region(region)]
    return tuple(parts)


class _Reading:
    """Traversal of the parts of one node that collects its leaves and describes the rest."""

    # A class instead of nested functions: these would form a reference cycle that waits for the garbage
    # collector.
    __slots__ = ("keys", "leaves", "own", "unsized")

    def __init__(
        self, node: Node, leaves: list[Any], keys: SignatureCache, unsized: Collection[Value]
    ) -> None:
        self.own = {value: place for place, value in enumerate(node.outputs)}
        self.leaves, self.keys, self.unsized = leaves, keys, unsized

    def item(self, item: Any) -> Any:
        cls = type(item)
        if cls is Value:
            return self.value(item)
        if cls is int or cls is float:
            self.leaves.append(item)
            return cls
        if cls is tuple or cls is list:
            return (cls, *map(self.item, item))
        if cls is dict:
            return tuple([(name, self.item(part)) for name, part in item.items()])
        if cls is slice:
            return (slice, self.item(item.start), self.item(item.stop), self.item(item.step))
        return item.text(self.symbol) if cls is Size else comparable(item)

    def value(self, value: Value) -> Any:
        if value in self.own:
            return self.own[value]
        self.leaves.append(value)
        return self.spec(value)

    def spec(self, value: Value) -> Any:
        return (value.dtype, value.ndim) if value in self.unsized else self.keys.of_spec(value.spec)

    def symbol(self, item: Symbol) -> str:
        self.value(item.source)
        return f"{item.kind} {item.axis}"

    def opened(self, item: Any) -> Any:
        return self.item(item) if isinstance(item, (Value, Size)) else item


def with_leaves(node: Node, instead: Mapping[int, Any]) -> Node:
    """Return ``node`` with other numbers: ``instead`` has them by their place in ``NodeSignature.leaves``."""
    leaves: list[Any] = []
    # The signature was read in the same way, so a size counts for as many leaves as it has there.
    read = _Reading(node, leaves, SignatureCache(), ())

    def placed(item: Any) -> Any:
        at = len(leaves)
        read.item(item)
        return instead.get(at, item) if type(item) in (int, float) else item

    inputs = map_structure(placed, node.inputs)
    params = {**node.params, **map_structure(placed, params_without_hint(node))}
    return replace(node, inputs=inputs, params=params)


# How many steps back a step may read. Each one makes the carry larger.
_FARTHEST = 4


class Slot(NamedTuple):
    """Position of a result in each step (repetition)."""

    node: int
    output: int


class EarlierResult(NamedTuple):
    """Pattern of a leaf that reads a result of its own step or of an earlier one.

    distance: number of steps since it was computed; 0 for the leaf's own step.
    """

    slot: Slot
    distance: int


class Invariant(NamedTuple):
    """Pattern of a leaf that is one value from before the loop, or one number, in all steps."""

    value: Any

    def is_it(self, leaf: Any) -> bool:
        # `repr` tells 0.0 from -0.0, and 1 from 1.0, and NaN equals itself.
        return leaf is self.value or (type(leaf) in (int, float) and repr(leaf) == repr(self.value))


class AffineInteger(NamedTuple):
    """Pattern of an integer leaf that changes by the same amount in each step.

    first: value for step 0.
    by: the amount, which may be negative.
    """

    first: int
    by: int

    def at(self, step: int) -> int:
        return self.first + self.by * step


class VaryingFloat(NamedTuple):
    """Pattern of a float leaf that may be any number in each step."""


Pattern = Union[EarlierResult, Invariant, AffineInteger, VaryingFloat]


def sources_of_sizes(value: Value) -> list[Any]:
    return [symbol.source for dim in value.shape if isinstance(dim, Size) for symbol in dim.symbols()]


@dataclass(frozen=True)
class IndexedBlock:
    """Block with the signatures of its nodes, and lookup tables.

    place: node index and output index of each value that the block computes.
    users: for each value that is read, indices of the nodes that read it; -1 means an output of the block.
    """

    block: Block
    rows: list[NodeSignature]
    place: dict[Value, tuple[int, int]]
    users: dict[Value, list[int]]

    @classmethod
    def of(cls, block: Block, rows: list[NodeSignature]) -> IndexedBlock:
        place = {
            value: (index, output)
            for index, node in enumerate(block.nodes)
            for output, value in enumerate(node.outputs)
        }
        users: dict[Value, list[int]] = {}
        for index, node in enumerate(block.nodes):
            for value in node.uses:
                users.setdefault(value, []).append(index)
        for value in values_in(block.outputs):
            users.setdefault(value, []).append(-1)
        return cls(block, rows, place, users)


@dataclass(frozen=True)
class RepeatedSteps:
    """Run of ``count`` repetitions (steps) of ``period`` nodes each, from node ``first`` of a block on.

    patterns: for each node of a step, the patterns of its leaves; empty before they are determined.
    """

    program: IndexedBlock
    first: int
    period: int
    count: int
    patterns: tuple[tuple[Pattern, ...], ...]

    @property
    def end(self) -> int:
        return self.first + self.period * self.count

    def node(self, step: int, place: int) -> Node:
        return self.program.block.nodes[self.first + step * self.period + place]

    def value(self, step: int, slot: Slot) -> Value:
        return self.node(step, slot.node).outputs[slot.output]

    def leaves(self, step: int, place: int) -> tuple[Any, ...]:
        return self.program.rows[self.first + step * self.period + place].leaves

    def slots(self) -> Iterator[Slot]:
        return (
            Slot(place, output)
            for place in range(self.period)
            for output in range(len(self.node(0, place).outputs))
        )

    def sizing(self, step: int, place: int) -> Iterator[tuple[Value, Slot | None]]:
        """Yield results of other nodes of the steps that appear in the sizes of the results of a node.

        Each is paired with its slot, or with None if it is of another step.
        """
        outputs = self.node(step, place).outputs
        for source in dict.fromkeys(source for value in outputs for source in sources_of_sizes(value)):
            if source not in outputs and self.makes(source):
                index, output = self.program.place[source]
                at, other = divmod(index - self.first, self.period)
                yield source, Slot(other, output) if at == step else None

    def makes(self, value: Value) -> bool:
        return value in self.program.place and self.first <= self.program.place[value][0] < self.end

    def part(self, low: int, high: int) -> RepeatedSteps:
        patterns = tuple(tuple(_shift(pattern, low) for pattern in row) for row in self.patterns)
        return RepeatedSteps(self.program, self.first + low * self.period, self.period, high - low, patterns)


def _shift(pattern: Pattern, steps: int) -> Pattern:
    return AffineInteger(pattern.at(steps), pattern.by) if isinstance(pattern, AffineInteger) else pattern


def fit_steps(
    program: IndexedBlock, first: int, period: int, count: int, fewest: int
) -> RepeatedSteps | None:
    """Return at least ``fewest`` consecutive steps whose leaves follow patterns; None if none are found."""
    low = 0
    while count - low >= fewest:
        # Compare steps a little after the first one, whose leaves still come from before the run.
        about = low + min(_FARTHEST, count - low - 2)
        bare = RepeatedSteps(program, first, period, count, ())
        found = _PatternFit(bare, about).steps(low)
        if found is None:
            low = about + 1
            continue
        begin, end = found[1:]
        if end - begin >= fewest:
            return found[0].part(begin, end)
        low = max(end, about + 1)
    return None


class _PatternFit:
    """Search for patterns of leaves that fit two steps, and for the steps around these that follow them."""

    def __init__(self, steps: RepeatedSteps, about: int) -> None:
        self.about, self.first, self.period = about, steps.first, steps.period
        self.program, self.bare = steps.program, steps

    def steps(self, low: int) -> tuple[RepeatedSteps, int, int] | None:
        """Return the steps with patterns, and the range that follows these; None if a leaf has no pattern."""
        patterns = []
        for place in range(self.period):
            pairs = zip(self.bare.leaves(self.about, place), self.bare.leaves(self.about + 1, place))
            row = tuple(self._pattern(one, two) for one, two in pairs)
            if None in row:
                return None
            patterns.append(row)
        rows: Any = tuple(patterns)
        self.whole = RepeatedSteps(self.program, self.first, self.period, self.bare.count, rows)
        self.reach = max(
            (pattern.distance for row in patterns for pattern in row if isinstance(pattern, EarlierResult)),
            default=0,
        )
        begin, end = self.about, self.about
        while end < self.bare.count and self._fits(end):
            end += 1
        while begin > low and self._fits(begin - 1):
            begin -= 1
        # The first steps may read any values from before the loop instead of earlier results. So further
        # steps are added as long as those after them that would read their results fit as well.
        while (
            begin > low
            and end > begin
            and all(self._fits(step, begin - 1) for step in range(begin - 1, min(begin + self.reach, end)))
        ):
            begin -= 1
        begin = max(begin, self._known_from())
        return self.whole, begin, end

    def _pattern(self, one: Any, two: Any) -> Pattern | None:
        if (same := Invariant(one)).is_it(two):
            return same
        if type(one) is float:
            # A changing float needs no rule, because the loop can read it from a list.
            return VaryingFloat()
        # Extrapolate the integer to step 0.
        if not isinstance(one, Value):
            return AffineInteger(one - (two - one) * self.about, two - one)
        (step, slot), (next_step, other) = self._made(one), self._made(two)
        distance = self.about - step
        # Both steps must read the same result, of steps that are equally far back.
        if slot is None or slot != other or next_step != step + 1 or not 0 <= distance <= _FARTHEST:
            return None
        return EarlierResult(slot, distance)

    def _made(self, value: Value) -> tuple[int, Slot | None]:
        index, output = self.program.place.get(value, (-1, 0))
        step, place = divmod(index - self.first, self.period)
        return step, Slot(place, output) if index >= self.first else None

    def _fits(self, step: int, begin: int | None = None) -> bool:
        """Return True if the leaves of ``step`` follow the patterns.

        With ``begin``, values from before step ``begin`` may replace results of steps before it.
        """
        for place, row in enumerate(self.whole.patterns):
            for leaf, pattern in zip(self.whole.leaves(step, place), row):
                if isinstance(pattern, AffineInteger):
                    if leaf != pattern.at(step):
                        return False
                elif isinstance(pattern, Invariant):
                    if not pattern.is_it(leaf):
                        return False
                elif isinstance(pattern, VaryingFloat):
                    continue
                elif begin is not None and pattern.distance > step - begin:
                    if not self._is_before(leaf, begin):
                        return False
                elif leaf is not self._earlier(pattern, step):
                    return False
        return True

    def _earlier(self, pattern: EarlierResult, step: int) -> Value | None:
        return self.whole.value(step - pattern.distance, pattern.slot) if step >= pattern.distance else None

    def _is_before(self, value: Value, begin: int) -> bool:
        index = self.program.place.get(value)
        return index is None or index[0] < self.first + begin * self.period

    def _known_from(self) -> int:
        """Return a step before which the invariant values have been computed."""
        same = (
            pattern.value for row in self.whole.patterns for pattern in row if isinstance(pattern, Invariant)
        )
        made = [
            self.program.place[value][0]
            for value in same
            if isinstance(value, Value) and value in self.program.place
        ]
        return max(((index - self.first) // self.period + 1 for index in made), default=0)


_KEYED = frozenset({"getitem", "setitem"})
_PLACES = "int32"
_WHOLE = (None, None, 1)
# Operations whose operands have one dtype, apart from the condition of ``where``.
_OF_ONE_DTYPE = frozenset({
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "where",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
})  # fmt: skip
_EXACT = {"float32": 2**24, "float64": 2**53, "int32": 2**31, "int64": 2**53}
"""Dtypes, each with a number below which it represents all integers exactly."""
# Longer lists of constants would make the generated source too large.
_MOST_LISTED = 10_000


class CounterSequences:
    """Sequences over which a loop scans, for numbers that change from step to step.

    has_slices: True if a loop index may be the bound of a slice, because the target's loop indices are
        Python integers.
    made: for the content of each sequence, the node that makes it and the value of its rows.
    """

    def __init__(self, steps: RepeatedSteps, has_slices: bool) -> None:
        self.has_slices = has_slices
        self.steps, self.count, self.origin = steps, steps.count, steps.node(0, 0).origin
        self.made: dict[Any, tuple[Node, Value]] = {}

    def given(self, node: Node, row: Sequence[Pattern], place: int) -> list[Node] | None:
        """Return nodes that compute ``node`` with rows of sequences instead of its changing numbers, or None.

        ``node`` is the node at ``place`` of the last step, and ``row`` has the patterns of its leaves.
        """
        changing = {
            at: pattern
            for at, pattern in enumerate(row)
            if not isinstance(pattern, (EarlierResult, Invariant))
        }
        if node.record is not None or not changing:
            return None if changing else [node]
        if any(isinstance(item, Size) for item in iterate_structure(node.inputs)):
            return None
        # Without sizes, each value, int and float is one leaf. Bools and complex numbers are none.
        operands = sum(type(item) in (Value, int, float) for item in iterate_structure(node.inputs))
        instead: dict[int, Any] = {}
        for at, pattern in changing.items():
            numbers = [self.steps.leaves(step, place)[at] for step in range(self.count)]
            instead[at] = self._operand(node, numbers) if at < operands else self._index(node, pattern)
        if any(item is None for item in instead.values()):
            return None
        made = with_leaves(node, instead)
        # Targets with Python loop indices can slice with them.
        return self._windows(made) if node.op in _KEYED and not self.has_slices else [made]

    def _windows(self, node: Node) -> list[Node] | None:
        # A slice with moving bounds becomes a ``take``, because some compilers need static bounds.
        key = node.params["key"]
        moving = [
            place for place, item in enumerate(key) if isinstance(item, tuple) and any(map(self._moves, item))
        ]
        if not moving:
            return [node]
        place = moving[0]
        (start, stop, step), axis = key[place], sum(item is not None for item in key[:place])
        length = stop - start if self._moves(start) and self._moves(stop) else None
        if (
            node.op != "getitem"
            or len(moving) > 1
            or type(length) is not int
            or self._moves(step)
            or step != 1
            or length <= 0
        ):
            return None
        array, numbers = node.inputs[0], ArraySpec((length,), _PLACES)
        params = {"start": 0, "stop": length, "step": 1, "dtype": _PLACES}
        steps = Node("arange", (), params, node.origin, (Value("places", numbers),))
        first = self._sequence(_PLACES, *self._line(start))
        places = Node("add", (steps.outputs[0], first), {}, node.origin, (Value("places", numbers),))
        spec = ArraySpec((*array.shape[:axis], length, *array.shape[axis + 1 :]), array.dtype)
        taken = Node(
            "take",
            (array, places.outputs[0]),
            {"axis": axis},
            node.origin,
            (Value(node.outputs[0].name, spec),),
        )
        left = tuple(_WHOLE if at == place else item for at, item in enumerate(key))
        if all(item == _WHOLE for item in left):
            return [steps, places, replace(taken, outputs=node.outputs)]
        return [steps, places, taken, replace(node, inputs=taken.outputs, params={"key": left})]

    def _moves(self, item: Any) -> bool:
        steps = {value for _, value in self.made.values()}
        return isinstance(item, Size) and any(symbol.source in steps for symbol in item.symbols())

    @staticmethod
    def _line(size: Size) -> tuple[int, int]:
        parts = {bool(monomial): factor for monomial, factor in size.terms()}
        return parts.get(False, 0), parts[True]

    def _operand(self, node: Node, numbers: list[Any]) -> Value | None:
        """Return a scalar that is ``numbers[i]`` in step ``i``, as an operand of ``node``, or None."""
        arrays = node.outputs if node.op == "where" else node.inputs
        dtypes = {item.dtype for item in arrays if isinstance(item, Value)}
        dtype = dtypes.pop() if len(dtypes) == 1 else ""
        if node.op not in _OF_ONE_DTYPE or (type(numbers[0]) is float) != dtype.startswith("float"):
            return None
        most, by = _EXACT.get(dtype, 0), numbers[1] - numbers[0]
        # The end of an `arange` is of the same dtype, too.
        end = numbers[0] + by * len(numbers)
        # An `arange` never yields -0.0, and division by it has another sign than division by 0.0.
        is_whole = all(
            float(number).is_integer() and abs(number) < most and repr(number) != "-0.0"
            for number in (*numbers, end)
        )
        if is_whole and all(number == numbers[0] + by * step for step, number in enumerate(numbers)):
            return self._sequence(dtype, int(numbers[0]), int(by))
        if not all(is_in_range(number, dtype) for number in numbers):
            return None
        return self._list(dtype, tuple(numbers)) if dtype in _EXACT and len(numbers) <= _MOST_LISTED else None

    def _index(self, node: Node, number: Pattern) -> Size | None:
        """Return ``number`` as a size that depends on the loop index, for the key of ``node``, or None."""
        # A negative index counts from the end, so the sign must not change.
        if (
            node.op not in _KEYED
            or not isinstance(number, AffineInteger)
            or (number.at(0) < 0) != (number.at(self.count - 1) < 0)
        ):
            return None
        place = Symbol(self._sequence(_PLACES, 0, 1), 0, self.count - 1, "item")
        found = number.first + number.by * Size.of(place)
        return found if isinstance(found, Size) else None

    def _sequence(self, dtype: str, first: int, by: int) -> Value:
        stop = first + by * self.count
        return self._read(
            "arange", dtype, {"start": first, "stop": stop, "step": by, "dtype": dtype}, (dtype, first, by)
        )

    def _list(self, dtype: str, numbers: tuple[float, ...]) -> Value:
        return self._read("asarray", dtype, {"data": numbers, "dtype": dtype}, (dtype, repr(numbers)))

    def _read(self, op: str, dtype: str, params: dict[str, Any], key: Any) -> Value:
        if key not in self.made:
            numbers = Value("steps", ArraySpec((self.count,), dtype))
            self.made[key] = (
                Node(op, (), params, self.origin, (numbers,)),
                Value("step", ArraySpec((), dtype)),
            )
        return self.made[key][1]
