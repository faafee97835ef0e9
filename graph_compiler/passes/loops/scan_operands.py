"""Turn rows that iterations read and write in order into sequences and stacked outputs of a ``scan``.

``x[i]`` in iteration ``i`` reads a row of a captured array, and ``y[i] = ...`` writes a row of a carried
array. As sequences and outputs they need no lookup, the array is not carried, and a gradient does not
accumulate a full array in each iteration. Of the rows that earlier iterations wrote, the loop carries only
those that it reads (``y[i - 1]``). The pass is for targets whose loop index is an array.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Body, Builder
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import ROWS
from ...ops.axes import WHOLE as WHOLE_AXIS
from ...ops.manipulation import keyed_shape
from ...ops.registry import ArraySpec
from ...ops.rules import length, nonnegative, normalise_axes, position
from ...sizes import Size, apply
from ..driver import Pass
from .invariant_code_motion import WHOLE, ArrayHistory, InlinedLoop
from .scalar_replacement import are_keys_disjoint, broadcast_value, forward_and_drop

Axes = Mapping[Value, int]
Rule = Callable[[Node, Axes], bool]


def _always(node: Node, axes: Axes) -> bool:
    return True


def _over_other_axes(node: Node, axes: Axes) -> bool:
    """Return True if ``node`` works along no axis of rows. ``axes`` has that axis for operands with rows."""
    carriers = [item for item in node.inputs if isinstance(item, Value)]
    return all(
        axes.get(item) not in normalise_axes(node.params["axis"], item.ndim)
        for item in carriers
        if item in axes
    )


def _all_have_rows(node: Node, axes: Axes) -> bool:
    return all(item in axes for item in node.inputs)


def _contracts_other_axes(node: Node, axes: Axes) -> bool:
    first, second = node.inputs
    return not (axes.get(first) == first.ndim - 1 or axes.get(second) == max(second.ndim - 2, 0))


def _linear(node: Node, axes: Axes) -> bool:
    x, *weights = node.inputs
    return bool(axes.get(x) != x.ndim - 1) and not any(
        weight in axes for weight in weights if isinstance(weight, Value)
    )


def _keeps_leading_axes(node: Node, axes: Axes) -> bool:
    (x,), axis = node.inputs, axes.get(node.inputs[0])
    return axis is None or tuple(x.shape[: axis + 1]) == tuple(node.params["shape"][: axis + 1])


def _keeps_row_axis(node: Node, axes: Axes) -> bool:
    axis = axes.get(node.inputs[0])
    items = [item for item in node.params["key"] if item is not None]
    return axis is None or axis >= len(items) or items[axis] == WHOLE_AXIS


def _has_rows_in_indices(node: Node, axes: Axes) -> bool:
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
    **dict.fromkeys(("gather_nd", "embedding", "take"), _has_rows_in_indices),
    "stack": _all_have_rows,
    "concat": lambda node, axes: _all_have_rows(node, axes) and _over_other_axes(node, axes),
    "matmul": _contracts_other_axes,
    "linear": _linear,
    "reshape": _keeps_leading_axes,
    "getitem": _keeps_row_axis,
}


Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class LoopIndexKey:
    """Key that selects index ``i + offset`` of one axis in iteration ``i``.

    position: index of the item of the key that contains ``i``.
    offset: the constant added to ``i``.
    rest: the other items, one for each other axis.
    """

    position: int
    offset: int
    rest: Key

    @classmethod
    def of(cls, node: Node, position: int, number: Value) -> LoopIndexKey | None:
        """Return the key of ``node`` with the loop index ``number`` at ``position``.

        Return None if the item at ``position`` is not the loop index plus a constant.
        """
        key = node.params["key"]
        offset = _offset(key[position], number) if position < len(key) else None
        if offset is None:
            return None
        sizes = iter(node.inputs[0].shape)
        items = [item if item is None else _simplified_item(item, next(sizes)) for item in key]
        return cls(position, offset, (*items[:position], *items[position + 1 :], *(WHOLE for _ in sizes)))

    @property
    def axis(self) -> int:
        return sum(item is not None for item in self.rest[: self.position])

    @property
    def is_row(self) -> bool:
        return all(item == WHOLE for item in self.rest)

    def key(self, item: Any) -> Key:
        return (*self.rest[: self.position], item, *self.rest[self.position :])

    def rows(self) -> LoopIndexKey:
        others = sum(item is not None for item in self.rest)
        return LoopIndexKey(self.axis, self.offset, (WHOLE,) * others)

    def sides(self, shape: tuple[Any, ...], offset: int) -> RowSides | None:
        """Return the keys of the rest of the row at ``offset``: before and after the slice of this key.

        Return None unless the key selects a slice of step 1 along exactly one axis of the row, which is
        certain to be in bounds. ``shape`` is the shape of the array.
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
            LoopIndexKey(self.position, offset, (*self.rest[:axis], (*ends, 1), *self.rest[axis + 1 :]))
            if ends[0] != ends[1]
            else None
            for ends in ((0, start), (stop, size))
        )
        return RowSides(axis, before, behind)

    # ------------------------------------------------------------------------------ access to many rows
    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        """Return what the key selects at ``length`` indices from ``first`` on, stacked along a first axis."""
        places = span(array.shape[self.axis], first, length)
        if self.is_row and (turned := axis_first(build, array, self.axis)) is not None:
            rows_first: Value = build.getitem(turned, key=(places,))
            return rows_first
        found, axis = build.getitem(array, key=self.key(places)), self._selected
        rows: Value = build.permute_dims(found, axes=(axis, *range(axis), *range(axis + 1, found.ndim)))
        return rows

    def put(self, build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
        """Return ``array`` with ``rows`` written to the elements that :meth:`stacked` reads."""
        axis, places = self._selected, span(array.shape[self.axis], first, length)
        key, axes = self.key(places), (*range(1, axis + 1), 0, *range(axis + 1, rows.ndim))
        if self.is_row and (turned := axis_first(build, array, self.axis)) is not None:
            whole: Value = build.permute_dims(_with_rows(build, turned, rows, first, length), axes=axes)
            return whole
        value = build.permute_dims(rows, axes=axes)
        written: Value = value if all(item == WHOLE for item in key) else build.setitem(array, value, key=key)
        return written

    @property
    def _selected(self) -> int:
        return sum(not is_single(item) for item in self.rest[: self.position])


@dataclass(frozen=True, slots=True)
class DiagonalKey:
    """Key with the loop index along two axes: ``x[i, i + 1]``.

    along: the key along the first of the two axes.
    positions: the two axes.
    shift: offset of the second index relative to the first.
    rest: the items of the key, with None at ``positions``.
    """

    along: LoopIndexKey
    positions: tuple[int, int]
    shift: int
    rest: Key

    @classmethod
    def of(cls, places: Sequence[LoopIndexKey], key: Key, ndim: int) -> DiagonalKey | None:
        """Return the diagonal that ``key`` selects of an array with ``ndim`` axes.

        ``places`` describe the items of ``key`` with the loop index. Return None unless there are two of
        them, or if ``key`` inserts axes.
        """
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
        key = list(self.rest)
        for axis, start in zip(self.positions, (first, first + self.shift)):
            key[axis] = span(array.shape[axis], start, length)
        found = build.getitem(array, key=tuple(key))
        axis1, axis2 = (sum(not is_single(item) for item in key[:axis]) for axis in self.positions)
        numbers = build.diagonal(found, offset=0, axis1=axis1, axis2=axis2)
        rows: Value = build.permute_dims(numbers, axes=(numbers.ndim - 1, *range(numbers.ndim - 1)))
        return rows


@dataclass(frozen=True, slots=True)
class RowSides:
    """Parts of a row before and after a slice along ``axis``.

    axis: an axis of the row.
    before: key of the part before the slice; None if it is empty.
    behind: key of the part after the slice; None if it is empty.
    """

    axis: int
    before: LoopIndexKey | None
    behind: LoopIndexKey | None

    @property
    def places(self) -> tuple[LoopIndexKey, ...]:
        return tuple(place for place in (self.before, self.behind) if place is not None)

    def row(self, build: Builder, part: Value, find: Callable[[LoopIndexKey], Value]) -> Value:
        before, behind = ([find(place)] if place is not None else [] for place in (self.before, self.behind))
        row: Value = build.concat(*before, part, *behind, axis=self.axis) if self.places else part
        return row


def axis_first(build: Builder, array: Value, axis: int) -> Value | None:
    """Return ``array`` with ``axis`` moved to the front, if that copies nothing; None otherwise.

    Nothing is copied if the array was made by the inverse permutation, is filled with one number, or is such
    an array with elements written to it. Also return None if ``axis`` is 0. May append nodes to ``build``.
    """
    node = build.maker(array) if axis else None
    if node is None:
        return None
    if node.op == "permute_dims":
        return node.inputs[0] if is_axis_first(node, axis) else None
    if node.op in ("zeros", "full"):
        shape = (array.shape[axis], *array.shape[:axis], *array.shape[axis + 1 :])
        constant: Value = getattr(build, node.op)(**{**node.params, "shape": shape})
        return constant
    key = node.params["key"] if node.op == "setitem" and len(node.params["key"]) == array.ndim else (None,)
    if None in key or not is_single(key[axis]) or (before := axis_first(build, node.inputs[0], axis)) is None:
        return None
    written: Value = build.setitem(before, node.inputs[1], key=(key[axis], *key[:axis], *key[axis + 1 :]))
    return written


def _with_rows(build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
    """Return ``array`` with ``rows`` written to its first axis at ``length`` indices from ``first`` on.

    If the shapes allow it, the result is a concatenation with the other rows, so that nothing is written
    twice.
    """
    size, behind = array.shape[0], first + length
    if span(size, first, length) == WHOLE:
        return rows
    before = [build.getitem(array, key=((0, first, 1),))] if first != 0 else []
    after = [build.getitem(array, key=((behind, size, 1),))] if behind != size else []
    whole: Value = build.concat(*before, rows, *after, axis=0)
    return whole if whole.shape == array.shape else build.setitem(array, rows, key=((first, behind, 1),))


def is_axis_first(node: Node | None, axis: int) -> bool:
    """Return True if ``node`` moves the first axis of an array to ``axis`` and permutes no other axes."""
    return (
        node is not None
        and node.op == "permute_dims"
        and node.params["axes"] == (*range(1, axis + 1), 0, *range(axis + 1, node.outputs[0].ndim))
    )


def positions(node: Node, number: Value) -> Iterator[int]:
    """Yield the indices of the items in the key of ``node`` that are the loop index plus a constant."""
    if node.op in ("getitem", "setitem"):
        yield from (
            position for position, item in enumerate(node.params["key"]) if _offset(item, number) is not None
        )


def _simplified_item(item: Any, size: Any) -> Any:
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
"""How many iterations back a loop carries what was written."""


@dataclass(frozen=True, slots=True)
class RowRead:
    """Source of what a node reads in an iteration.

    source: a sequence (an array and its key), or the number of iterations since the row was written.
    rest: key that the node applies to the row.
    sides: the parts of the row that were not written, if a slice of it was.
    """

    source: tuple[Value, LoopIndexKey | DiagonalKey] | int
    rest: Key = ()
    sides: RowSides | None = None

    def of_row(self, ndim: int, sequences: Container[Any]) -> RowRead:
        """Return the same read as a part of a full row if ``sequences`` has the full rows; else ``self``.

        A read of a scalar (``ndim`` 0) keeps a sequence of its own, because scalars may be computed for
        all rows at once.
        """
        if isinstance(self.source, int):
            return self
        array, place = self.source
        along = place.along if isinstance(place, DiagonalKey) else place
        if along.is_row or (along is place and not ndim) or (array, along.rows()) not in sequences:
            return self
        return RowRead((array, along.rows()), along.rest)


@dataclass(frozen=True, slots=True)
class CarriedCells:
    """Rows, or equal parts of rows, that the iterations write to a carried array, one per iteration.

    A cell is written in one piece: if rows are written part by part, XLA writes one part in place while it
    computes another from the old contents (jaxlib 0.10, on CPUs).

    history: the reads and writes of the array.
    target: the key of a cell.
    reads: the source of each read.
    """

    history: ArrayHistory
    target: LoopIndexKey
    reads: dict[Node, RowRead]

    @property
    def depth(self) -> int:
        """Largest number of iterations that a read looks back, which is the number of cells in the carry."""
        return max((read.source for read in self.reads.values() if isinstance(read.source, int)), default=0)


@dataclass(frozen=True, slots=True)
class LastCell:
    """Last cell that a loop wrote, as it is in the final carry.

    A read of it after the loop then does not need the array with all cells.

    target: the key of a cell.
    given: the array before the loop.
    cell: the cell.
    index: its index along the axis of the cells.
    """

    target: LoopIndexKey
    given: Value
    cell: Value
    index: Any

    def read(self, build: Builder, node: Node) -> Value | None:
        """Return the result of ``node``, a read after the loop; None if it may read other elements.

        May append nodes to ``build``.
        """
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


def find_cells(
    history: ArrayHistory,
    given: Value,
    places: dict[Node, LoopIndexKey],
    is_down: bool,
    is_still: Callable[[Any], bool],
) -> CarriedCells | None:
    """Return the cells of an array of the carry, whose accesses have the keys ``places``.

    Return None if its writes have different keys, or keys that change between iterations, or if a read
    cannot be satisfied. A read may need the array ``given`` to the loop, or a cell of this or one of the
    previous ``DEEPEST`` iterations. ``is_down`` is True if the loop index descends.
    """
    (target, *others) = dict.fromkeys(places[node] for node in history.writes)
    if others or not is_still(target.rest):
        return None
    finding = _CellReader(history, given, target, is_down, is_still)
    reads = {node: read for node in history.reads if (read := finding.read(node, places[node])) is not None}
    return CarriedCells(history, target, reads) if len(reads) == len(history.reads) else None


@dataclass(frozen=True, slots=True)
class _CellReader:
    history: ArrayHistory
    given: Value
    target: LoopIndexKey
    is_down: bool
    is_still: Callable[[Any], bool]

    def read(self, node: Node, place: LoopIndexKey) -> RowRead | None:
        ahead = (place.offset - self.target.offset) * (-1 if self.is_down else 1)
        # These elements are not written before they are read, so the array from before the loop has them.
        if ahead > 0 or (ahead == 0 and node.inputs[0] is self.history.array) or self._is_beside(place):
            return row(self.given, place, self.is_still)
        if -ahead > DEEPEST:
            return None
        if self.target.is_row:
            return RowRead(-ahead, () if place.is_row else place.rest)
        if place.rest == self.target.rest:
            return RowRead(-ahead)
        sides = self.target.sides(self.given.shape, place.offset)
        return RowRead(-ahead, place.rest, sides) if sides is not None else None

    def _is_beside(self, place: LoopIndexKey) -> bool:
        shape, axis = self.given.shape, place.axis
        return are_keys_disjoint(place.rest, self.target.rest, (*shape[:axis], *shape[axis + 1 :]))


def row(array: Value, place: LoopIndexKey, is_still: Callable[[Any], bool]) -> RowRead:
    """Return a read of ``array`` at ``place`` as a row of a sequence.

    The sequence has only the selected elements if their key is the same in each iteration and selects a
    constant number of elements along some axis, but not all. Otherwise it has full rows.
    """
    others = iter((*array.shape[: place.axis], *array.shape[place.axis + 1 :]))
    is_narrow = any(_is_narrow(item, next(others)) for item in place.rest if item is not None) and is_still(
        place.rest
    )
    if is_narrow or place.is_row:
        return RowRead((array, place))
    return RowRead((array, place.rows()), place.rest)


def _is_narrow(item: Any, size: Any) -> bool:
    """Return True if an item of a key selects a constant number of elements, but not all of the axis."""
    if is_single(item):
        return True
    start, stop, step = item
    count = length(start, stop, step, size)
    return type(count) is int and count != size


_Sequence = tuple[Value, "LoopIndexKey | DiagonalKey"]
"""An array, and the key with which a loop reads it."""


def _use_row_operands(block: Block) -> Block:
    rewriter = Rewriter(block)
    lasts: dict[Value, LastCell] = {}
    for node in map(rewriter.rewritten, block.nodes):
        loop = _RowLoop.of(node, rewriter) if node.op == "scan" and not node.params["reverse"] else None
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
    # The rewritten loops write and read many rows at once, and these writes can often be forwarded.
    return forward_and_drop(rewriter.finish())


loop_rows = Pass("loop_rows", _use_row_operands, "deep", ("scan",))
"""Pass that turns rows that are read and written in order into sequences and outputs of loops."""


@dataclass
class _LoopCounter:
    """Sequence of a ``scan`` that holds the loop index.

    place: position among the sequences.
    low: smallest loop index.
    is_down: True if the loop index descends to ``low``.
    """

    place: int
    low: Any
    is_down: bool

    def turned(self, build: Builder, numbers: Value, length: Any) -> Value:
        """Return ``numbers``; if the loop index descends, a new ``arange`` in ascending order instead."""
        if not self.is_down:
            return numbers
        low = _maker_of(build.maker, numbers).params["stop"] + 1
        upward: Value = build.arange(start=low, stop=low + length, dtype=numbers.dtype)
        return upward


def _counter(node: Node, rewriter: Rewriter) -> _LoopCounter | None:
    """Return the first ``arange`` sequence of a ``scan`` with step 1 or -1; None if there is none.

    A descending loop is rewritten as a reverse scan, so -1 is accepted only if all sequences are ``arange``
    with step -1 and the loop stacks no outputs.
    """
    carried, count = node.params["carried"], node.params["sequences"]
    made = [rewriter.maker(value) for value in node.inputs[carried : carried + count]]
    steps = [each.params["step"] if each is not None and each.op == "arange" else None for each in made]
    # A reversed loop visits all of its sequences backwards, and would stack outputs in the other order.
    is_down = -1 in steps and all(step == -1 for step in steps) and len(node.outputs) == carried
    wanted = -1 if is_down else 1
    if wanted not in steps:
        return None
    place = steps.index(wanted)
    numbers = _maker_of(rewriter.maker, node.inputs[carried + place])
    return _LoopCounter(place, numbers.params["stop"] + 1 if is_down else numbers.params["start"], is_down)


def _maker_of(maker: Callable[[Value], Node | None], value: Value) -> Node:
    node = maker(value)
    assert node is not None
    return node


class _RowLoop(InlinedLoop):
    def __init__(self, node: Node, counter: _LoopCounter, maker: Callable[[Value], Node | None]) -> None:
        super().__init__(node)
        self.counter, self.maker = counter, maker
        self.cells = {
            place: found for place in range(self.carried) if (found := self._cells(place)) is not None
        }
        self.reads = {node: read for cells in self.cells.values() for node, read in cells.reads.items()}
        # The last cell of each result that the loop also carries. Filled by `written`.
        self.lasts: dict[Value, LastCell] = {}
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
    def of(cls, node: Node, rewriter: Rewriter) -> _RowLoop | None:
        """Return the loop; None if it has no counter (:func:`_counter`) or uses it in no key."""
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

    # ------------------------------------------------------------------------------ analysis
    @property
    def number(self) -> Value:
        return self.rows[self.counter.place]

    def _cells(self, index: int) -> CarriedCells | None:
        history = self.history(index)
        if history is None:
            return None
        nodes = (*history.writes, *history.reads)
        for written in positions(history.writes[0], self.number):
            places = {node: place for node in nodes if (place := self._place(node, written)) is not None}
            if len(places) == len(nodes) and len({place.axis for place in places.values()}) == 1:
                found = find_cells(history, self.given[index], places, self.counter.is_down, self.is_still)
                if found is not None:
                    return found
        return None

    def _place(self, node: Node, position: int) -> LoopIndexKey | None:
        place = LoopIndexKey.of(node, position, self.number)
        return place if place is not None and nonnegative(self.counter.low + place.offset) else None

    def _outside(self, node: Node) -> RowRead | None:
        """Return the source of ``node`` if it reads a row, diagonal or element by the loop index.

        Return None otherwise, if the array that it reads is computed in the loop, or if its rows are not
        along the first axis and would have to be copied.
        """
        if node.op != "getitem" or node.inputs[0] in self.made:
            return None
        found = [self._place(node, position) for position in positions(node, self.number)]
        places = [place for place in found if place is not None]
        diagonal = DiagonalKey.of(places, node.params["key"], node.inputs[0].ndim)
        if diagonal is not None and self.is_still(diagonal.rest):
            return RowRead((node.inputs[0], diagonal))
        return next(
            (
                row(node.inputs[0], place, self.is_still)
                for place in places
                if self._is_near(node.inputs[0], place)
            ),
            None,
        )

    def _is_near(self, array: Value, place: LoopIndexKey) -> bool:
        is_element = all(map(is_single, place.rest)) and self.is_still(place.rest)
        return (
            place.axis == 0 or is_element or (place.is_row and is_axis_first(self.maker(array), place.axis))
        )

    # ------------------------------------------------------------------------------ rewriting
    def written(self, build: Builder) -> tuple[Value, ...]:
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
        nodes, outputs = _RowLoopBody(self, rows, held).written()
        kept = [index for index in range(self.carried) if index not in self.cells]
        numbers = self._numbers(nodes, outputs, build)
        inputs = [*(self.state[index] for index in kept), *_flatten(held), *numbers, *rows.values()]
        operands = [
            *(self.given[index] for index in kept),
            *_flatten(before),
            *numbers.values(),
            *sequences.values(),
        ]
        params = {
            "carried": len(kept) + len(_flatten(held)),
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

    def _beside(self, index: int, cells: CarriedCells) -> Iterator[_Sequence]:
        for read in cells.reads.values():
            if read.sides is not None:
                yield from ((self.given[index], place) for place in read.sides.places)

    def _first(self, place: LoopIndexKey | DiagonalKey) -> Any:
        return self.counter.low + place.offset

    def _before(self, build: Builder, index: int, steps: int) -> Value:
        """Return the cell ``steps`` iterations before the first one; zeros if the array has no such cell.

        It has one if the loop has an iteration.
        """
        target, array = self.cells[index].target, self.given[index]
        first = self._first(target)
        place = first + self.length - 1 + steps if self.counter.is_down else first - steps
        # If the loop has an iteration, the row before the first one exists.
        if nonnegative(self.length - 1):
            found: Value = build.getitem(array, key=target.key(place))
            return found
        cells = target.stacked(build, array, place, 1)
        zeros = build.zeros(shape=(1, *cells.shape[1:]), dtype=array.dtype)
        cell: Value = build.getitem(build.concat(cells, zeros, axis=0), key=(0,))
        return cell

    def _numbers(self, nodes: Sequence[Node], outputs: Sequence[Any], build: Builder) -> dict[Value, Value]:
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


def _flatten(items: Mapping[int, Sequence[Value]]) -> list[Value]:
    return [item for several in items.values() for item in several]


class _RowLoopBody:
    """Builder of the body of the rewritten loop, which takes rows and cells and returns cells."""

    def __init__(
        self, loop: _RowLoop, rows: Mapping[_Sequence, Value], held: Mapping[int, Sequence[Value]]
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
        for node in self.loop.nodes:
            if node in self.loop.reads:
                self.inner.replace(node.outputs, (self._read(Builder.into(self.inner, node.origin), node),))
            elif node in self.of:
                value = self.inner.mapped(node.inputs[1])
                spec = _spec(self.loop.cells[self.of[node]])
                self.versions[node.outputs[0]] = broadcast_value(
                    Builder.into(self.inner, node.origin), value, spec
                )
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
        return self.inner.nodes, [*outputs[:kept], *_flatten(held), *outputs[kept:], *made.values()]

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


def _spec(cells: CarriedCells) -> ArraySpec:
    array = cells.history.array
    return ArraySpec(keyed_shape(array.shape, cells.target.key(0)), array.dtype)
