"""Rows that the steps of a loop read and write one after the other are its sequences and its outputs.

``x[i]`` in step ``i`` takes a row of an array that each step captures, and ``y[i] = ...`` writes a row of an
array that is carried. As sequences and outputs of a ``scan``, no step looks them up, none hands the array on,
and a gradient does not add up an array in each step. What the step before has written (``y[i - 1]``) is
carried alone. For targets whose loops count in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Body, Builder
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.array_api.manipulation import keyed_shape
from ...ops.axes import ROWS
from ...ops.axes import WHOLE as WHOLE_AXIS
from ...ops.bounds import length, nonnegative, position
from ...ops.registry import ArraySpec
from ...ops.rules import normalise_axes
from ...sizes import Size, apply
from ..driver import Pass
from .open_loops import WHOLE, History, OpenLoop
from .scalar_replacement import filled
from .store_forwarding import apart, forwarded

Axes = Mapping[Value, int]
Rule = Callable[[Node, Axes], bool]


def _always(node: Node, axes: Axes) -> bool:
    return True


def _over_other_axes(node: Node, axes: Axes) -> bool:
    """Along axes that are not that of the rows."""
    carriers = [item for item in node.inputs if isinstance(item, Value)]
    return all(
        axes.get(item) not in normalise_axes(node.params["axis"], item.ndim)
        for item in carriers
        if item in axes
    )


def _all_of_them(node: Node, axes: Axes) -> bool:
    return all(item in axes for item in node.inputs)


def _product(node: Node, axes: Axes) -> bool:
    first, second = node.inputs
    return not (axes.get(first) == first.ndim - 1 or axes.get(second) == max(second.ndim - 2, 0))


def _linear(node: Node, axes: Axes) -> bool:
    x, *weights = node.inputs
    return bool(axes.get(x) != x.ndim - 1) and not any(
        weight in axes for weight in weights if isinstance(weight, Value)
    )


def _in_place(node: Node, axes: Axes) -> bool:
    (x,), axis = node.inputs, axes.get(node.inputs[0])
    return axis is None or tuple(x.shape[: axis + 1]) == tuple(node.params["shape"][: axis + 1])


def _whole(node: Node, axes: Axes) -> bool:
    axis = axes.get(node.inputs[0])
    items = [item for item in node.params["key"] if item is not None]
    return axis is None or axis >= len(items) or items[axis] == WHOLE_AXIS


def _at_places(node: Node, axes: Axes) -> bool:
    return node.inputs[0] not in axes


ELEMENTWISE = {name for name, row in ROWS.items() if row.carriers == "broadcast"}
BY_ROW: dict[str, Rule] = {
    **dict.fromkeys(
        (*ELEMENTWISE, "expand_dims", "permute_dims", "broadcast_to", "zeros", "ones", "full", "one_hot"),
        _always,
    ),
    **dict.fromkeys(
        ("softmax", "log_softmax", "sum", "mean", "var", "std", "max", "min", "all", "any", "prod"),
        _over_other_axes,
    ),
    **dict.fromkeys(
        ("argmax", "argmin", "layer_norm", "rms_norm", "normalize", "glu", "split", "squeeze"),
        _over_other_axes,
    ),
    **dict.fromkeys(("gather_nd", "embedding", "take"), _at_places),
    "stack": _all_of_them,
    "concat": lambda node, axes: _all_of_them(node, axes) and _over_other_axes(node, axes),
    "matmul": _product,
    "linear": _linear,
    "reshape": _in_place,
    "getitem": _whole,
}


Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A key that names, in step ``i``, the place ``i + offset`` of one axis; ``rest`` are its other items,
    ``position`` of them before that one.
    """

    position: int
    offset: int
    rest: Key

    @classmethod
    def of(cls, node: Node, position: int, number: Value) -> Place | None:
        """The place that a node names, where the item at ``position`` of its key is the number of the step
        and a constant.
        """
        key = node.params["key"]
        offset = _offset(key[position], number) if position < len(key) else None
        if offset is None:
            return None
        sizes = iter(node.inputs[0].shape)
        items = [item if item is None else _shortest(item, next(sizes)) for item in key]
        return cls(position, offset, (*items[:position], *items[position + 1 :], *(WHOLE for _ in sizes)))

    @property
    def axis(self) -> int:
        return sum(item is not None for item in self.rest[: self.position])

    @property
    def is_row(self) -> bool:
        return all(item == WHOLE for item in self.rest)

    def key(self, item: Any) -> Key:
        return (*self.rest[: self.position], item, *self.rest[self.position :])

    def rows(self) -> Place:
        others = sum(item is not None for item in self.rest)
        return Place(self.axis, self.offset, (WHOLE,) * others)

    def sides(self, shape: tuple[Any, ...], offset: int) -> Sides | None:
        """What lies beside the places that are a part of one axis of a row, in the row at ``offset``; None
        where that is not certain.
        """
        parts = [axis for axis, item in enumerate(self.rest) if item != WHOLE]
        if len(parts) != 1 or not isinstance(self.rest[parts[0]], tuple):
            return None
        (axis,) = parts
        (start, stop, step), size = self.rest[axis], (*shape[: self.axis], *shape[self.axis + 1 :])[axis]
        start, stop = position(start, size, 0), position(stop, size, size)
        if step != 1 or not all(map(nonnegative, (start, size - stop))):
            return None
        before, behind = (
            Place(self.position, offset, (*self.rest[:axis], (*ends, 1), *self.rest[axis + 1 :]))
            if ends[0] != ends[1]
            else None
            for ends in ((0, start), (stop, size))
        )
        return Sides(axis, before, behind)

    # ------------------------------------------------------------------------------ several places at once
    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        """What is at ``length`` places from ``first`` on, along a first axis."""
        places = span(array.shape[self.axis], first, length)
        if self.is_row and (turned := turned_rows(build, array, self.axis)) is not None:
            rows_first: Value = build.getitem(turned, key=(places,))
            return rows_first
        found, axis = build.getitem(array, key=self.key(places)), self._selected
        rows: Value = build.permute_dims(found, axes=(axis, *range(axis), *range(axis + 1, found.ndim)))
        return rows

    def put(self, build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
        """The array with ``rows`` in the place of what :meth:`stacked` gives."""
        axis, places = self._selected, span(array.shape[self.axis], first, length)
        key, axes = self.key(places), (*range(1, axis + 1), 0, *range(axis + 1, rows.ndim))
        if self.is_row and (turned := turned_rows(build, array, self.axis)) is not None:
            whole: Value = build.permute_dims(_with_rows(build, turned, rows, first, length), axes=axes)
            return whole
        value = build.permute_dims(rows, axes=axes)
        written: Value = value if all(item == WHOLE for item in key) else build.setitem(array, value, key=key)
        return written

    @property
    def _selected(self) -> int:
        return sum(not is_single(item) for item in self.rest[: self.position])


@dataclass(frozen=True, slots=True)
class Diagonal:
    """Places along two axes at once: ``x[i, i + 1]``, of which ``along`` is the one along the first axis. The
    other one is ``shift`` further on, ``rest`` are the other items of the key, with None for both in their
    ``positions``.
    """

    along: Place
    positions: tuple[int, int]
    shift: int
    rest: Key

    @classmethod
    def of(cls, places: Sequence[Place], key: Key, ndim: int) -> Diagonal | None:
        """What two places along different axes say together; None where the key says more than that."""
        if len(places) != 2 or None in key:
            return None
        one, other = places
        rest = [*key, *(WHOLE,) * (ndim - len(key))]
        rest[one.position] = rest[other.position] = None
        return cls(one, (one.position, other.position), other.offset - one.offset, tuple(rest))

    @property
    def offset(self) -> int:
        return self.along.offset

    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        """What is at ``length`` places from ``first`` on, along a first axis."""
        key = list(self.rest)
        for axis, start in zip(self.positions, (first, first + self.shift)):
            key[axis] = span(array.shape[axis], start, length)
        found = build.getitem(array, key=tuple(key))
        axis1, axis2 = (sum(not is_single(item) for item in key[:axis]) for axis in self.positions)
        numbers = build.diagonal(found, offset=0, axis1=axis1, axis2=axis2)
        rows: Value = build.permute_dims(numbers, axes=(numbers.ndim - 1, *range(numbers.ndim - 1)))
        return rows


@dataclass(frozen=True, slots=True)
class Sides:
    """The places before and behind a part of a row, along one of its axes."""

    axis: int
    before: Place | None
    behind: Place | None

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(place for place in (self.before, self.behind) if place is not None)

    def row(self, build: Builder, part: Value, find: Callable[[Place], Value]) -> Value:
        before, behind = ([find(place)] if place is not None else [] for place in (self.before, self.behind))
        row: Value = build.concat(*before, part, *behind, axis=self.axis) if self.places else part
        return row


def turned_rows(build: Builder, array: Value, axis: int) -> Value | None:
    """An array with another axis in front, where it was made of one that has, or is a constant with such rows
    in it; None of others, which would be copied.
    """
    node = build.maker(array) if axis else None
    if node is None:
        return None
    if node.op == "permute_dims":
        return node.inputs[0] if is_turned(node, axis) else None
    if node.op in ("zeros", "full"):
        shape = (array.shape[axis], *array.shape[:axis], *array.shape[axis + 1 :])
        constant: Value = getattr(build, node.op)(**{**node.params, "shape": shape})
        return constant
    key = node.params["key"] if node.op == "setitem" and len(node.params["key"]) == array.ndim else (None,)
    if (
        None in key
        or not is_single(key[axis])
        or (before := turned_rows(build, node.inputs[0], axis)) is None
    ):
        return None
    written: Value = build.setitem(before, node.inputs[1], key=(key[axis], *key[:axis], *key[axis + 1 :]))
    return written


def _with_rows(build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
    """An array with other rows from ``first`` on, between those that stay: so nothing is written twice."""
    size, behind = array.shape[0], first + length
    if span(size, first, length) == WHOLE:
        return rows
    before = [build.getitem(array, key=((0, first, 1),))] if first != 0 else []
    after = [build.getitem(array, key=((behind, size, 1),))] if behind != size else []
    whole: Value = build.concat(*before, rows, *after, axis=0)
    return whole if whole.shape == array.shape else build.setitem(array, rows, key=((first, behind, 1),))


def is_turned(node: Node | None, axis: int) -> bool:
    """Whether an array was made by putting the first axis of another one here."""
    return (
        node is not None
        and node.op == "permute_dims"
        and node.params["axes"] == (*range(1, axis + 1), 0, *range(axis + 1, node.outputs[0].ndim))
    )


def positions(node: Node, number: Value) -> Iterator[int]:
    """Where the key of a node has the number of a step and a constant."""
    if node.op in ("getitem", "setitem"):
        yield from (
            position for position, item in enumerate(node.params["key"]) if _offset(item, number) is not None
        )


def _shortest(item: Any, size: Any) -> Any:
    """An item of a key; the whole axis where it selects that."""
    if is_single(item) or item[2] != 1:
        return item
    first = position(item[0], size, 0)
    return WHOLE if span(size, first, position(item[1], size, size) - first) == WHOLE else item


def is_single(item: Any) -> bool:
    return item is not None and not isinstance(item, tuple)


def span(size: Any, first: Any, length: Any) -> tuple[Any, Any, int]:
    return WHOLE if first == 0 and length in (size, apply("max", size, 0)) else (first, first + length, 1)


def _offset(item: Any, number: Value) -> int | None:
    read = [symbol for symbol in item.symbols() if symbol.source is number] if isinstance(item, Size) else []
    offset = item - Size.of(read[0]) if len(read) == 1 else None
    return offset if type(offset) is int else None


DEEPEST = 4
"""How many steps back a loop carries what was written."""


@dataclass(frozen=True, slots=True)
class Read:
    """Where a step finds what a node reads: in the row of a sequence (an array and its places), or in what
    was written so many steps back, with what lies at its ``sides``; ``rest`` is what is selected of it.
    """

    source: tuple[Value, Place | Diagonal] | int
    rest: Key = ()
    sides: Sides | None = None

    def of_row(self, ndim: int, sequences: Container[Any]) -> Read:
        """The same part of a row, taken of the row where that is a sequence as well; numbers at one place of
        all rows stay, which may be computed for all rows.
        """
        if isinstance(self.source, int):
            return self
        array, place = self.source
        along = place.along if isinstance(place, Diagonal) else place
        if along.is_row or (along is place and not ndim) or (array, along.rows()) not in sequences:
            return self
        return Read((array, along.rows()), along.rest)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells that the steps write: all of ``target``, of which each step makes the next one.

    A cell is written as a whole. Of rows that are written part by part XLA writes one part in place while it
    computes another from what was there (jaxlib 0.10, on CPUs).
    """

    history: History
    target: Place
    reads: dict[Node, Read]

    @property
    def depth(self) -> int:
        return max((read.source for read in self.reads.values() if isinstance(read.source, int)), default=0)


@dataclass(frozen=True, slots=True)
class LastCell:
    """The cell at ``index`` of what a loop leaves of an array, which the loop carries: what is read there
    needs no other cell.
    """

    target: Place
    given: Value
    cell: Value
    index: Any

    def read(self, build: Builder, node: Node) -> Value | None:
        """What a node reads behind the loop; None where that is not certain to be in the row of this cell."""
        key, axis, shape = node.params["key"], self.target.axis, self.given.shape
        if (
            None in key
            or axis >= len(key)
            or not is_single(key[axis])
            or position(key[axis], shape[axis], 0) != self.index
        ):
            return None
        sides = self.target.sides(shape, self.target.offset)
        if not (self.target.is_row or sides) or not all(
            map(nonnegative, (self.index, shape[axis] - 1 - self.index))
        ):
            return None
        row = (
            sides.row(build, self.cell, lambda place: build.getitem(self.given, key=place.key(self.index)))
            if sides
            else self.cell
        )
        rest = (*key[:axis], *key[axis + 1 :])
        found: Value = build.getitem(row, key=rest) if any(item != WHOLE for item in rest) else row
        return found


def cells_of(
    history: History, given: Value, places: dict[Node, Place], is_down: bool, is_still: Callable[[Any], bool]
) -> Cells | None:
    """The cells of a carried array whose reads and writes are at these places, all along one axis; None where
    a step reads what is neither as it was before the loop nor a cell of this step or one shortly before it.
    """
    (target, *others) = dict.fromkeys(places[node] for node in history.writes)
    if others or not is_still(target.rest):
        return None
    finding = _Finding(history, given, target, is_down, is_still)
    reads = {node: read for node in history.reads if (read := finding.read(node, places[node])) is not None}
    return Cells(history, target, reads) if len(reads) == len(history.reads) else None


@dataclass(frozen=True, slots=True)
class _Finding:
    history: History
    given: Value
    target: Place
    is_down: bool
    is_still: Callable[[Any], bool]

    def read(self, node: Node, place: Place) -> Read | None:
        ahead = (place.offset - self.target.offset) * (-1 if self.is_down else 1)
        if ahead > 0 or (ahead == 0 and node.inputs[0] is self.history.array) or self._is_beside(place):
            return row(self.given, place, self.is_still)
        if -ahead > DEEPEST:
            return None
        if self.target.is_row:
            return Read(-ahead, () if place.is_row else place.rest)
        if place.rest == self.target.rest:
            return Read(-ahead)
        sides = self.target.sides(self.given.shape, place.offset)
        return Read(-ahead, place.rest, sides) if sides is not None else None

    def _is_beside(self, place: Place) -> bool:
        shape, axis = self.given.shape, place.axis
        return apart(place.rest, self.target.rest, (*shape[:axis], *shape[axis + 1 :]))


def row(array: Value, place: Place, is_still: Callable[[Any], bool]) -> Read:
    """The row of a sequence that a place is: of the places alone where they are narrow and the same in all
    steps, else of whole rows.
    """
    others = iter((*array.shape[: place.axis], *array.shape[place.axis + 1 :]))
    is_narrow = any(_is_narrow(item, next(others)) for item in place.rest if item is not None) and is_still(
        place.rest
    )
    if is_narrow or place.is_row:
        return Read((array, place))
    return Read((array, place.rows()), place.rest)


def _is_narrow(item: Any, size: Any) -> bool:
    """Whether an item of a key takes as many elements at all sizes, of an axis that has another one."""
    if is_single(item):
        return True
    start, stop, step = item
    count = length(start, stop, step, size)
    return type(count) is int and count != size


_Sequence = tuple[Value, "Place | Diagonal"]
"""An array, and the places of it that a loop reads."""


def _with_row_operands(block: Block) -> Block:
    rewriter = Rewriter(block)
    lasts: dict[Value, LastCell] = {}
    for node in map(rewriter.rewritten, block.nodes):
        loop = _Loop.of(node, rewriter) if node.op == "scan" and not node.params["reverse"] else None
        if loop is not None and loop.finds():
            rewriter.replace(node.outputs, loop.written(Builder.into(rewriter, node.origin)))
            lasts.update(loop.lasts)
            continue
        last = lasts.get(node.inputs[0]) if node.op == "getitem" else None
        found = None if last is None else last.read(Builder.into(rewriter, node.origin), node)
        if found is None:
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, (found,))
    return forwarded(rewriter.finish())


loop_rows = Pass("loop_rows", _with_row_operands, "deep", ("scan",))
"""The graph with such rows as sequences and outputs of its loops."""


@dataclass
class _Counter:
    """The numbers of the steps, ``low`` and up, or down to it: where they stand among the sequences."""

    place: int
    low: Any
    is_down: bool

    def turned(self, build: Builder, numbers: Value, length: Any) -> Value:
        """The numbers of a sequence from the last step to the first, where the loop is turned."""
        if not self.is_down:
            return numbers
        low = _made_by(build.maker, numbers).params["stop"] + 1
        upward: Value = build.arange(start=low, stop=low + length, dtype=numbers.dtype)
        return upward


def _counter(node: Node, rewriter: Rewriter) -> _Counter | None:
    """What counts the steps of a loop.

    Of one that counts down, the order is turned, so that nothing but such numbers may go in.
    """
    carried, count = node.params["carried"], node.params["sequences"]
    made = [rewriter.maker(value) for value in node.inputs[carried : carried + count]]
    steps = [each.params["step"] if each is not None and each.op == "arange" else None for each in made]
    is_down = -1 in steps and all(step == -1 for step in steps) and len(node.outputs) == carried
    wanted = -1 if is_down else 1
    if wanted not in steps:
        return None
    place = steps.index(wanted)
    numbers = _made_by(rewriter.maker, node.inputs[carried + place])
    return _Counter(place, numbers.params["stop"] + 1 if is_down else numbers.params["start"], is_down)


def _made_by(maker: Callable[[Value], Node | None], value: Value) -> Node:
    node = maker(value)
    assert node is not None
    return node


class _Loop(OpenLoop):
    def __init__(self, node: Node, counter: _Counter, maker: Callable[[Value], Node | None]) -> None:
        super().__init__(node)
        self.counter, self.maker = counter, maker
        self.cells = {
            place: found for place in range(self.carried) if (found := self._cells(place)) is not None
        }
        self.reads = {node: read for cells in self.cells.values() for node, read in cells.reads.items()}
        self.lasts: dict[Value, LastCell] = {}
        """What is carried of the results, once the loop is written."""
        self.reads.update(
            {
                node: read
                for node in self.nodes
                if node not in self.reads and (read := self._outside(node)) is not None
            }
        )
        whole = {read.source for read in self.reads.values()}
        self.reads = {node: read.of_row(node.outputs[0].ndim, whole) for node, read in self.reads.items()}

    @classmethod
    def of(cls, node: Node, rewriter: Rewriter) -> _Loop | None:
        """The loop that a node is, where it counts its steps one by one and indexes with their numbers."""
        counter = _counter(node, rewriter)
        if counter is None:
            return None
        number = node.regions[0].block.inputs[node.params["carried"] + counter.place]
        return (
            cls(node, counter, rewriter.maker)
            if any([*positions(each, number)] for each in node.regions[0].block.nodes)
            else None
        )

    def finds(self) -> bool:
        return bool(self.cells or self.reads)

    # ------------------------------------------------------------------------------ what is there
    @property
    def number(self) -> Value:
        return self.rows[self.counter.place]

    def _cells(self, index: int) -> Cells | None:
        """What the steps write of a carried array, where they leave it in the loop."""
        history = self.history(index)
        if history is None:
            return None
        nodes = (*history.writes, *history.reads)
        for written in positions(history.writes[0], self.number):
            places = {node: place for node in nodes if (place := self._place(node, written)) is not None}
            if len(places) == len(nodes) and len({place.axis for place in places.values()}) == 1:
                found = cells_of(history, self.given[index], places, self.counter.is_down, self.is_still)
                if found is not None:
                    return found
        return None

    def _place(self, node: Node, position: int) -> Place | None:
        place = Place.of(node, position, self.number)
        return place if place is not None and nonnegative(self.counter.low + place.offset) else None

    def _outside(self, node: Node) -> Read | None:
        """Where a step finds a row of an array of the outside."""
        if node.op != "getitem" or node.inputs[0] in self.made:
            return None
        found = [self._place(node, position) for position in positions(node, self.number)]
        places = [place for place in found if place is not None]
        diagonal = Diagonal.of(places, node.params["key"], node.inputs[0].ndim)
        if diagonal is not None and self.is_still(diagonal.rest):
            return Read((node.inputs[0], diagonal))
        return next(
            (
                row(node.inputs[0], place, self.is_still)
                for place in places
                if self._is_near(node.inputs[0], place)
            ),
            None,
        )

    def _is_near(self, array: Value, place: Place) -> bool:
        is_element = all(map(is_single, place.rest)) and self.is_still(place.rest)
        return place.axis == 0 or is_element or (place.is_row and is_turned(self.maker(array), place.axis))

    # ------------------------------------------------------------------------------ what is made
    def written(self, build: Builder) -> tuple[Value, ...]:
        """The results of the loop with sequences and outputs, whose nodes ``build`` makes."""
        wanted = dict.fromkeys(
            read.source for read in self.reads.values() if not isinstance(read.source, int)
        )
        wanted.update(
            dict.fromkeys(
                beside for index, cells in self.cells.items() for beside in self._beside(index, cells)
            )
        )
        sequences = {
            read: read[1].stacked(build, read[0], self._first(read[1]), self.length) for read in wanted
        }
        rows = {
            read: Value(read[0].name, ArraySpec(made.shape[1:], made.dtype))
            for read, made in sequences.items()
        }
        before = {
            index: [self._before(build, index, steps + 1) for steps in range(cells.depth)]
            for index, cells in self.cells.items()
        }
        held = {
            index: [Value(self.state[index].name, item.spec) for item in items]
            for index, items in before.items()
        }
        nodes, outputs = _Step(self, rows, held).written()
        kept = [index for index in range(self.carried) if index not in self.cells]
        numbers = self._numbers(nodes, outputs, build)
        inputs = [*(self.state[index] for index in kept), *_flat(held), *numbers, *rows.values()]
        operands = [
            *(self.given[index] for index in kept),
            *_flat(before),
            *numbers.values(),
            *sequences.values(),
        ]
        params = {
            "carried": len(kept) + len(_flat(held)),
            "sequences": len(numbers) + len(rows),
            "reverse": self.counter.is_down,
        }
        body = Body(self.node.regions[0].name, inputs, nodes, outputs)
        results = build.run("scan", operands, [body], **{**self.node.params, **params})
        finals = self._finals(build, dict(zip(kept, results)), results[params["carried"] :])
        held_on = iter(results[len(kept) : params["carried"]])
        for index, items in before.items():
            cells = [next(held_on) for _ in items]
            if cells:
                self.lasts[finals[index]] = LastCell(
                    self.cells[index].target, self.given[index], cells[0], self._last(index)
                )
        return finals

    def _last(self, index: int) -> Any:
        first = self._first(self.cells[index].target)
        return first if self.counter.is_down else first + self.length - 1

    def _beside(self, index: int, cells: Cells) -> Iterator[_Sequence]:
        for read in cells.reads.values():
            if read.sides is not None:
                yield from ((self.given[index], place) for place in read.sides.places)

    def _first(self, place: Place | Diagonal) -> Any:
        return self.counter.low + place.offset

    def _before(self, build: Builder, index: int, steps: int) -> Value:
        """The cell so many steps before the first one. It may not be there where the loop has no step."""
        target, array = self.cells[index].target, self.given[index]
        first = self._first(target)
        place = first + self.length - 1 + steps if self.counter.is_down else first - steps
        if nonnegative(self.length - 1):
            found: Value = build.getitem(array, key=target.key(place))
            return found
        cells = target.stacked(build, array, place, 1)
        zeros = build.zeros(shape=(1, *cells.shape[1:]), dtype=array.dtype)
        cell: Value = build.getitem(build.concat(cells, zeros, axis=0), key=(0,))
        return cell

    def _numbers(self, nodes: Sequence[Node], outputs: Sequence[Any], build: Builder) -> dict[Value, Value]:
        """The sequences that the loop had, as far as its steps still read them."""
        read = {value for node in nodes for value in node.uses}.union(values_in(outputs))
        given = self.node.inputs[self.carried :]
        return {
            row: self.counter.turned(build, value, self.length)
            for row, value in zip(self.rows, given)
            if row in read
        }

    def _finals(
        self, build: Builder, kept: Mapping[int, Value], outputs: Sequence[Value]
    ) -> tuple[Value, ...]:
        """The results of the loop as it was: cells are written to the arrays that they belong to."""
        others = outputs[: len(outputs) - len(self.cells)]
        found = dict(kept)
        for (index, cells), made in zip(self.cells.items(), outputs[len(others) :]):
            made.name = self.node.outputs[index].name
            found[index] = cells.target.put(
                build, self.given[index], made, self._first(cells.target), self.length
            )
        results = (*(found[index] for index in range(self.carried)), *others)
        for made, old in zip(results, self.node.outputs):
            made.name = old.name
        return results


def _flat(items: Mapping[int, Sequence[Value]]) -> list[Value]:
    return [item for several in items.values() for item in several]


class _Step:
    """The body of a loop, whose steps get rows and cells, and give cells."""

    def __init__(
        self, loop: _Loop, rows: Mapping[_Sequence, Value], held: Mapping[int, Sequence[Value]]
    ) -> None:
        self.loop, self.rows, self.held = loop, rows, held
        self.inner = Rewriter(Block((), tuple(loop.nodes), tuple(loop.outputs)))
        self.of = {
            node: index
            for index, cells in loop.cells.items()
            for node in (*cells.history.writes, *cells.history.reads)
        }
        self.versions: dict[Value, Value] = {}

    def written(self) -> tuple[Sequence[Node], Sequence[Any]]:
        """The nodes and the outputs."""
        for node in self.loop.nodes:
            if node in self.loop.reads:
                self.inner.replace(node.outputs, (self._read(Builder.into(self.inner, node.origin), node),))
            elif node in self.of:
                value = self.inner.mapped(node.inputs[1])
                spec = _spec(self.loop.cells[self.of[node]])
                self.versions[node.outputs[0]] = filled(Builder.into(self.inner, node.origin), value, spec)
            else:
                self.inner.append(self.inner.rewritten(node))
        outputs = list(
            map(
                self.inner.mapped,
                (item for index, item in enumerate(self.loop.outputs) if index not in self.loop.cells),
            )
        )
        made = {index: self.versions[self.loop.outputs[index]] for index in self.loop.cells}
        held = {index: [made[index], *items][: len(items)] for index, items in self.held.items()}
        kept = self.loop.carried - len(made)
        return self.inner.nodes, [*outputs[:kept], *_flat(held), *outputs[kept:], *made.values()]

    def _read(self, build: Builder, node: Node) -> Value:
        read = self.loop.reads[node]
        rest = self.inner.mapped(read.rest)
        if not isinstance(read.source, int):
            source = self.rows[read.source]
        elif read.source:
            source = self.held[self.of[node]][read.source - 1]
        else:
            source = self.versions[node.inputs[0]]
        if read.sides is not None:
            given = self.loop.given[self.of[node]]
            source = read.sides.row(build, source, lambda place: self.rows[given, place])
        found: Value = build.getitem(source, key=rest) if any(item != WHOLE for item in rest) else source
        return found


def _spec(cells: Cells) -> ArraySpec:
    array = cells.history.array
    return ArraySpec(keyed_shape(array.shape, cells.target.key(0)), array.dtype)
