"""Bound sizes that depend on array elements, for targets whose compilers need static shapes.

``nonzero`` finds at most as many elements as its array has, so as many rows are computed, the last row found
is repeated as padding, and reductions exclude the padding. Blocks are changed if they use the rows one by one
until the rows are reduced or written somewhere, as in a mixture of experts or in a masked loss.
:func:`pad_dynamic_sizes` is the pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import UnsupportedOperation
from ...ir.builder import Builder
from ...ir.graph import Graph, Guard
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import FULL_SLICE, ROWS
from ...ops.dtypes import is_inexact
from ...ops.indexing import gathered_shape
from ...ops.registry import get
from ...ops.rules import normalise_axes
from ...sizes import Size, Symbol, comparison, product, substitute
from ...sizes.bounds import Compared, isolate
from ..driver import Pass, only_with
from ..strong_zero import SINGULAR

# ------------------------------------------------------------------------------------------ operations by row
# Operations that compute each row of their result from the same row of their operands.

Axes = Mapping[Value, int]
_RowRule = Callable[[Node, Axes], bool]


def _always(node: Node, axes: Axes) -> bool:
    return True


def _over_other_axes(node: Node, axes: Axes) -> bool:
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
    return axis is None or axis >= len(items) or items[axis] == FULL_SLICE


def _has_rows_in_indices(node: Node, axes: Axes) -> bool:
    return node.inputs[0] not in axes


ELEMENTWISE = {name for name, row in ROWS.items() if row.carriers == "broadcast"}
BY_ROW: dict[str, _RowRule] = {
    **dict.fromkeys(
        (*ELEMENTWISE, "permute_dims", "broadcast_to", "zeros", "ones", "full", "one_hot"),
        _always,
    ),
    **dict.fromkeys(
        ("softmax", "log_softmax", "sum", "mean", "var", "std", "max", "min", "all", "any", "prod"),
        _over_other_axes,
    ),
    **dict.fromkeys(
        ("argmax", "argmin", "layer_norm", "rms_norm", "normalize", "glu", "split"),
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


# ------------------------------------------------------------------------------------------- guards on counts
_COMPARED = {"eq": "equal", "ne": "not_equal", "ge": "greater_equal", "le": "less_equal"}


def counted_guards(graph: Graph, finders: Container[Node]) -> Graph:
    """Return the graph with guards on ``count_nonzero`` of masks instead of sizes of selections, if possible.

    ``finders`` are nodes that select by the nonzero elements of their last operand, such as ``boolean_mask``.
    """
    counted = graph.derive()
    counted.guards = [_count_guard(guard, counted, finders) for guard in graph.guards]
    return counted if len(counted.nodes) > len(graph.nodes) else graph


def _count_guard(guard: Guard, graph: Graph, finders: Container[Node]) -> Guard:
    compared = comparison(guard.condition) if isinstance(guard.condition, Size) else None
    solved = isolate(compared) if compared is not None else None
    if not isinstance(solved, Compared) or (finder := _maker(solved.size, graph)) not in finders:
        return guard
    build = Builder(graph, guard.origin)
    operands = build.count_nonzero(finder.inputs[-1]), solved.number
    return replace(guard, condition=build.apply(get(_COMPARED[solved.function]), operands, {}))


def _maker(size: Any, graph: Graph) -> Any:
    """Return the node that defines ``size`` as a length along its ``axis`` (0 by default), or None."""
    (atoms, factor), *more = size.terms()
    symbol = atoms[0] if not more and factor == 1 and len(atoms) == 1 else None
    if not isinstance(symbol, Symbol) or symbol.kind != "size":
        return None
    node = graph.maker(symbol.source)
    return node if node is not None and symbol.axis == node.params.get("axis", 0) else None


# ---------------------------------------------------------------------------------------------- bounded sizes
# Operations whose regions run as Python functions, unless something else compiles them.
_PLAIN = frozenset({"call", "custom_derivative"})
# Operations whose output sizes may depend on array elements.
_FIND = frozenset(
    {
        "argwhere",
        "bincount",
        "boolean_mask",
        "nonzero",
        "repeat",
        "unique_all",
        "unique_consecutive",
        "unique_values",
    }
)


class SizesUnknown(UnsupportedOperation):
    """Error for operations with data-dependent output sizes in compiled regions, such as loops."""


@only_with(*_FIND)
def require_known_sizes(graph: Graph, framework: str) -> tuple[Graph, bool]:
    """Return ``(graph, False)``, or raise ``SizesUnknown`` for some operations in compiled regions.

    These are operations such as ``nonzero``, if the number of their results depends on elements.
    """
    problems = [f"{node.op}, for {node.origin}" for node in _unknown(graph.block, False)]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise SizesUnknown(
            f"{framework} compiles loops and branches, so it has to know all sizes in them, and how many "
            f"elements these operations of {graph.name} give depends on elements:\n{lines}\nTake them out "
            "of the loop or branch, or compute with all elements there and leave out by `where` those that "
            "do not count: a sum, mean or write of what a mask finds is translated.",
            problems,
        )
    return graph, False


def _unknown(block: Block, compiled: bool) -> Iterator[Node]:
    for node in block.nodes:
        for region in node.regions:
            yield from _unknown(region.block, compiled or node.op not in _PLAIN)
        if (
            compiled
            and node.op in _FIND
            and any(_is_its_own(dim, node) for value in node.outputs for dim in value.shape)
        ):
            yield node


def _is_its_own(dim: object, node: Node) -> bool:
    return isinstance(dim, Size) and any(symbol.source in node.outputs for symbol in dim.symbols())


# Operations that read rows of other arrays.
_READ = ("boolean_mask", "embedding", "gather_nd", "take")
_INFINITE_SLOPES = (SINGULAR | {"normalize", "std"}) - {"multiply"}
# Dtypes that represent counts of a usual size exactly.
_EXACT = {"float32", "float64", "int32", "int64"}


def _bound_block(block: Block) -> Block:
    found_in: dict[Node, _SelectedRows] = {}
    for mask in dict.fromkeys(node.inputs[-1] for node in block.nodes if _finds(node)):
        found = _SelectedRows(mask)
        # An array with rows of two masks cannot be padded for both.
        if not found.has_bound(block) or not found_in.keys().isdisjoint(found.nodes):
            return block
        found_in.update(dict.fromkeys(found.nodes, found))
    if not found_in:
        return block
    bounder = _SizeBounder(block)
    for node in block.nodes:
        bounder.visit(node, found_in.get(node))
    return bounder.finish()


def _finds(node: Node) -> bool:
    # With ``size``, the number of results is fixed already.
    return node.op in _TAKEN and node.params.get("size") is None


def _gather_masked(build: Builder, arrays: list[Any], places: list[Value], node: Node) -> tuple[Value, ...]:
    axis = node.params["axis"]
    return (build.gather_nd(*arrays, *places, axes=tuple(range(axis, axis + len(places)))),)


_TAKEN: dict[str, Callable[[Builder, list[Any], list[Value], Node], tuple[Value, ...]]] = {
    "nonzero": lambda build, arrays, places, node: tuple(places),
    "argwhere": lambda build, arrays, places, node: (build.stack(*places, axis=1),),
    "boolean_mask": _gather_masked,
}
"""For each operation that selects elements, its results in terms of their indices."""


class _SelectedRows:
    """Rows that a mask selects, and the nodes that compute with them.

    sizes: numbers of selected elements. Each operation that selects elements has a size of its own, but all
        are equal.
    axes: the axis of the rows, for each value that has them.
    nodes: the nodes that select the rows or compute with them, in order.
    """

    def __init__(self, mask: Value) -> None:
        self.mask = mask
        self.sizes: list[Size] = []
        self.axes: dict[Value, int] = {}
        self.nodes: dict[Node, None] = {}

    def has_bound(self, block: Block) -> bool:
        """Return True if it is known that ``block`` can be computed with padded rows.

        If so, ``sizes``, ``axes`` and ``nodes`` are complete.
        """
        # A mask without axes adds an axis to the array.
        if self.mask.ndim == 0:
            return False
        for node in block.nodes:
            if self.is_finder(node):
                axis = node.params.get("axis", 0)
                self.sizes.append(node.outputs[0].shape[axis])
                self.axes.update(dict.fromkeys(node.outputs, axis))
                self.nodes[node] = None
            elif self.touches((node.inputs, node.params)) and not self.add(node):
                return False
        # Users of the outputs need the rows without padding.
        return not self.touches([self.unified(item) for item in block.outputs])

    @functools.cached_property
    def may_have_infinite_slopes(self) -> bool:
        return any(node.op in _INFINITE_SLOPES for node in self.nodes)

    def is_finder(self, node: Node) -> bool:
        return _finds(node) and node.inputs[-1] is self.mask

    def unified(self, condition: Any) -> Any:
        if not isinstance(condition, Size):
            return condition
        return substitute(
            condition, lambda symbol: self.sizes[0] if Size.of(symbol) in self.sizes else Size.of(symbol)
        )

    def touches(self, structure: Any) -> bool:
        return any(value in self.axes for value in values_in(structure))

    def add(self, node: Node) -> bool:
        """Add ``node`` to ``nodes``, and return True if it is known that padded rows can be used in it."""
        self.nodes[node] = None
        if self.is_combination(node):
            return not any(self.is_in(dim) for value in node.outputs for dim in value.shape)
        rule = BY_ROW.get(node.op)
        if (
            rule is None
            or not rule(node, self.axes)
            or self.touches([item for name, item in node.params.items() if name != "shape"])
        ):
            return False
        if any(self.is_in(item) and not self.counts(node, item) for item in node.inputs):
            return False
        has_rows = any(self.rows_of(item) is not None for item in node.inputs)
        return all(self.register_axis(value, has_rows) for value in node.outputs)

    def is_combination(self, node: Node) -> bool:
        return node.op in _COMBINATIONS and _COMBINATIONS[node.op][0](node, self)

    def register_axis(self, value: Value, has_rows: bool) -> bool:
        """Register the axis of the rows in ``value``, if any; return False if its shape is not supported."""
        axes = [axis for axis, dim in enumerate(value.shape) if self.is_in(dim)]
        if len(axes) != 1:
            return not axes and not has_rows
        self.axes[value] = axes[0]
        return any(value.shape[axes[0]] == size for size in self.sizes)

    def is_in(self, dim: Any) -> bool:
        return isinstance(dim, Size) and any(value in self.axes for value in values_in(dim))

    def counts(self, node: Node, size: Size) -> bool:
        dtypes = {item.dtype for item in node.inputs if isinstance(item, Value)}
        return (
            self.times(size) is not None and node.op in ELEMENTWISE and len(dtypes) == 1 and dtypes <= _EXACT
        )

    def times(self, size: Any) -> Any:
        """Return ``k`` for a ``size`` of ``k`` times the number of rows; None if no such ``k`` is found."""
        if not self.is_in(size) or len(terms := [*size.terms()]) > 1:
            return None
        ((atoms, factor),) = terms
        others = [atom for atom in atoms if Size.of(atom) not in self.sizes]
        whole = len(others) == len(atoms) - 1 and not any(self.is_in(Size.of(atom)) for atom in others)
        return product((factor, *map(Size.of, others))) if whole else None

    def rows_of(self, item: Any) -> int | None:
        return self.axes.get(item) if isinstance(item, Value) else None


# --------------------------------------------------------------------------------------- combinations of rows
@dataclass(frozen=True)
class _PaddedRows:
    """Padded rows of one mask in the new graph.

    found: the rows in the old graph, and the nodes that compute with them.
    valid: boolean array that is True for rows that were selected.
    """

    found: _SelectedRows
    valid: Value
    count: Value

    def beside(self, build: Builder, rank: int, axis: int) -> Value:
        made: Value = build.reshape(self.valid, shape=(self.valid.shape[0], *(1,) * (rank - axis - 1)))
        return made

    def counted(self, build: Builder, times: Any, dtype: str | None) -> Any:
        return build.astype(build.multiply(self.count, times), dtype=dtype)

    def kept(self, build: Builder, old: Value, new: Value, neutral: Any) -> Any:
        return build.where(self.beside(build, old.ndim, self.found.axes[old]), new, neutral)


_Rule = Callable[[Node, _SelectedRows], bool]
_Made = Callable[[Builder, Node, tuple[Any, ...], _PaddedRows], Any]


def _sums_rows(node: Node, found: _SelectedRows) -> bool:
    return found.rows_of(node.inputs[0]) in normalise_axes(node.params["axis"], node.inputs[0].ndim)


def _reduction(neutral: Any) -> tuple[_Rule, _Made]:
    def made(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
        return build.apply(get(node.op), (rows.kept(build, node.inputs[0], inputs[0], neutral),), node.params)

    return _sums_rows, made


def _averages_rows(node: Node, found: _SelectedRows) -> bool:
    return _sums_rows(node, found) and node.inputs[0].dtype in _EXACT


def _mean(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
    (old,), (new,) = node.inputs, inputs
    total = build.sum(rows.kept(build, old, new, 0), **node.params)
    others = product(
        new.shape[axis]
        for axis in normalise_axes(node.params["axis"], old.ndim)
        if axis != rows.found.axes[old]
    )
    return build.divide(total, build.astype(build.multiply(rows.count, others), dtype=new.dtype))


def _writes_rows(node: Node, found: _SelectedRows) -> bool:
    x, values, *indices = node.inputs
    shape = gathered_shape(x.spec, tuple(index.spec for index in indices), node.params["axes"])
    # Axes are counted from the end, because values may have fewer axes.
    axes = [axis - len(shape) for axis, dim in enumerate(shape) if found.is_in(dim)]
    if (
        x in found.axes
        or len(axes) != 1
        or node.params["reduce"] not in (None, "sum")
        or not node.params["include_self"]
    ):
        return False
    if not isinstance(values, Value) or values.ndim < -axes[0]:
        return True
    return (
        found.axes[values] - values.ndim == axes[0]
        if values in found.axes
        else bool(values.shape[axes[0]] == 1)
    )


def _writing(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
    # In a sum the padding adds 0. Otherwise it repeats the last row, or, if no row was found, the old
    # contents.
    x, values, *indices = inputs
    if node.params["reduce"] is None:
        values = build.where(
            build.greater(rows.count, 0), values, build.gather_nd(x, *indices, axes=node.params["axes"])
        )
    else:
        shape = gathered_shape(
            node.inputs[0].spec, tuple(index.spec for index in node.inputs[2:]), node.params["axes"]
        )
        axis = next(axis for axis, dim in enumerate(shape) if rows.found.is_in(dim))
        values = build.where(rows.beside(build, len(shape), axis), values, 0)
    return build.scatter_nd(x, values, *indices, **node.params)


def _fills(node: Node, found: _SelectedRows) -> bool:
    x, mask, values = node.inputs
    return found.rows_of(values) == 0 and x not in found.axes and mask not in found.axes


def _unchanged(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
    return build.apply(get(node.op), inputs, node.params)


def _picks(node: Node, found: _SelectedRows) -> bool:
    axis = found.rows_of(node.inputs[0])
    items = [item for item in node.params["key"] if item is not None]
    return (
        axis is not None and axis < len(items) and type(items[axis]) is int and not found.touches(node.params)
    )


def _picked_row(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
    axis, key = rows.found.axes[node.inputs[0]], list(node.params["key"])
    place = [place for place, item in enumerate(key) if item is not None][axis]
    if key[place] >= 0:
        return build.getitem(*inputs, key=tuple(key))
    # A negative index would count from the end of the padding.
    row = build.take(*inputs, build.maximum(build.add(rows.count, key.pop(place)), 0), axis=axis)
    return build.getitem(row, key=tuple(key)) if key else row


def _labels_rows(node: Node, found: _SelectedRows) -> bool:
    logits, target, *weight = node.inputs
    return (
        node.params["reduction"] != "none"
        and logits in found.axes
        and target in found.axes
        and not any(one in found.axes for one in weight if isinstance(one, Value))
    )


def _masked_loss(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
    logits, target, *weight = inputs
    kept = rows.kept(build, node.inputs[1], target, node.params["ignore_index"])
    return build.apply(get(node.op), (logits, kept, *weight), node.params)


def _holds_the_count(node: Node, found: _SelectedRows) -> bool:
    return node.params["dtype"] in _EXACT and found.times(node.params["fill_value"]) is not None


def _padded_count(build: Builder, node: Node, inputs: tuple[Any, ...], rows: _PaddedRows) -> Any:
    number = rows.counted(build, rows.found.times(node.params["fill_value"]), node.params["dtype"])
    return build.broadcast_to(number, shape=node.params["shape"])


_COMBINATIONS: dict[str, tuple[_Rule, _Made]] = {
    "sum": _reduction(0),
    "count_nonzero": _reduction(0),
    "prod": _reduction(1),
    "any": _reduction(False),
    "all": _reduction(True),
    "mean": (_averages_rows, _mean),
    "scatter_nd": (_writes_rows, _writing),
    "masked_scatter": (_fills, _unchanged),
    "getitem": (_picks, _picked_row),
    "full": (_holds_the_count, _padded_count),
    "cross_entropy": (_labels_rows, _masked_loss),
    "nll_loss": (_labels_rows, _masked_loss),
}


# -------------------------------------------------------------------------------------------------- rewriting
class _SizeBounder(Rewriter):
    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.scratch = Graph("scratch", "canonical")
        self.scratch.nodes = self.nodes
        self.rows: dict[_SelectedRows, _PaddedRows] = {}
        self.places: dict[_SelectedRows, list[Value]] = {}

    def visit(self, node: Node, found: _SelectedRows | None) -> None:
        if found is None:
            self.append(self.rewritten(node))
            return
        build, inputs, before = Builder(self.scratch, node.origin), self.mapped(node.inputs), len(self.nodes)
        if found.is_finder(node):
            made: Any = _TAKEN[node.op](build, list(inputs[:-1]), self.places_in(build, found), node)
        elif found.is_combination(node):
            made = _COMBINATIONS[node.op][1](build, node, inputs, self.rows[found])
        else:
            made = build.apply(get(node.op), self.counted(build, found, node), self.mapped(node.params))
        several = made if isinstance(made, tuple) else (made,)
        if node.op in _READ and found.may_have_infinite_slopes:
            several = tuple(self._finite(build, self.rows[found], value) for value in several)
        fresh = {value for node in self.nodes[before:] for value in node.outputs}
        for value, other in zip(node.outputs, several):
            if other in fresh:
                other.name = value.name
        self.replace(node.outputs, several)

    @staticmethod
    def _finite(build: Builder, rows: _PaddedRows, value: Value) -> Value:
        """Return ``value``, or ones if its dtype is floating-point or complex and no row was selected."""
        # The original computes nothing in that case, so an infinite derivative must not meet the zero
        # gradient.
        if not is_inexact(value.dtype):
            return value
        made: Value = build.where(build.greater(rows.count, 0), value, 1.0)
        return made

    def counted(self, build: Builder, found: _SelectedRows, node: Node) -> tuple[Any, ...]:
        dtype = next((item.dtype for item in node.inputs if isinstance(item, Value)), None)

        def operand(item: Any) -> Any:
            times = found.times(item)
            return (
                self.mapped(item)
                if times is None
                else self.rows[found].counted(build, self.mapped(times), dtype)
            )

        return tuple(map(operand, node.inputs))

    def places_in(self, build: Builder, found: _SelectedRows) -> list[Value]:
        """Return the indices of the selected elements, one padded array per axis of the mask.

        They are computed once for each mask, together with its entry in ``rows``.
        """
        if found not in self.places:
            mask = self.value(found.mask)
            # At most all elements are found.
            places = build.argwhere(mask, size=product(mask.shape), fill_value=0)
            count = build.count_nonzero(mask)
            valid = build.less(build.arange(stop=places.shape[0], dtype="int64"), count)
            self.rows[found] = _PaddedRows(found, valid, count)
            columns = [build.getitem(places, key=(FULL_SLICE, axis)) for axis in range(mask.ndim)]
            self.places[found] = [
                build.where(valid, column, _last(build, column, count)) for column in columns
            ]
        return self.places[found]


def _last(build: Builder, column: Value, count: Value) -> Value:
    # The zero in front is read if nothing was found, and makes ``count`` the index of the last element.
    none = build.zeros(shape=(1,), dtype=column.dtype)
    last: Value = build.take(build.concat(none, column, axis=0), count, axis=0)
    return last


_PADDING = Pass("pad_dynamic_sizes", _bound_block, "deep", _TAKEN)


@only_with(*_TAKEN)
def pad_dynamic_sizes(graph: Graph) -> tuple[Graph, bool]:
    made, is_changed = _PADDING(counted_guards(graph, set(filter(_finds, graph.nodes))))
    # If a selection remains, its size is computed anyway, so guards on sizes need no count.
    return (made, True) if is_changed and not any(map(_finds, made.nodes)) else _PADDING(graph)
