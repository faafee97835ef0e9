"""Small arrays whose elements are known while recording, and trip counts of loops derived from them.

TensorFlow computes shapes with arrays (``Shape``, ``StridedSlice``, ``Pack``, ``Mul``). Such an array is
represented by a NumPy array of dtype object, whose elements are Python numbers and ``Size`` expressions.
NumPy evaluates the operations on integers and bools.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

from ...errors import Signal
from ...ir import Guard, Value
from ...ops.dtypes import is_floating
from ...ops.rules import nonnegative
from ...recording import Recorder
from ...recording.code.names import names_read
from ...recording.patches.builtin_names import builtin_lookups, conversion_replacements, type_replacements
from ...recording.patches.host_math import Symbols
from ...recording.patches.patch import Replacement
from ...sizes import Size, apply, compute_guarded, expression_of, hint_of, is_symbolic, negate
from ..common.read_numbers import Reading, rounding_of
from .names import definition
from .sizes import Sizes, symbolic
from .variables import TensorValue


class NumberTrace(Sizes, Protocol):
    """Protocol of a trace, with the members that symbolic numbers and shims of builtins use."""

    reading: Reading

    def number(self, tensor: Any) -> Any:
        """Return the only element of ``tensor`` as a number or a symbol, or ``tensor`` itself."""

    def length(self, tensor: Any) -> Any:
        """Return the size of the first axis of ``tensor``, or None."""


def symbols_of(trace: NumberTrace) -> Symbols:
    def opened(operands: tuple[Any, ...]) -> tuple[Any, ...] | None:
        expressions = tuple(map(expression_of, operands))
        return expressions if all(isinstance(item, (Size, int, float)) for item in expressions) else None

    def made(function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        return symbolic(trace, compute_guarded(function, operands, trace.decide))

    # AutoGraph rewrites the patched functions that call these, and would convert them too.
    asked = (is_symbolic, opened, made, trace.number, trace.length)
    return Symbols(*map(tf.autograph.experimental.do_not_convert, asked))


def number_shims(symbols: Symbols, functions: list[types.FunctionType]) -> list[Replacement]:
    asked = [(function.__globals__, name) for function in functions for name in names_read(function.__code__)]
    return [
        *conversion_replacements(builtin_lookups(functions), symbols),
        *type_replacements(asked, is_symbolic),
    ]


# Arrays with more elements are treated as data.
_MOST = 64


@dataclass(frozen=True, slots=True)
class RecordedElements:
    """Elements of the operands that a row takes as numbers, as they were while recording.

    held: the elements, by the index of the operand.
    varying: indices of the operands whose elements may differ in other calls.
    """

    held: dict[int, Any] = field(default_factory=dict)
    varying: frozenset[int] = frozenset()

    def mapped(self, function: Callable[[Any], Any]) -> RecordedElements:
        return self


def recorded_elements(
    recorder: Recorder, operands: Sequence[TensorValue], places: Sequence[int]
) -> RecordedElements | None:
    """Return the recorded elements of the operands at ``places`` that may become numbers, or None."""
    if recorder.in_block:
        return None
    found = {
        place: operands[place]
        for place in places
        if isinstance(operands[place], TensorValue) and _is_recorded(recorder, operands[place])
    }
    varying = frozenset(place for place, held in found.items() if recorder.varies(held.item))
    return (
        RecordedElements({place: held.seen.numpy().tolist() for place, held in found.items()}, varying)
        if found
        else None
    )


def _is_recorded(recorder: Recorder, held: TensorValue) -> bool:
    return isinstance(held.item, Value) and np.size(held.seen) <= _MOST and not recorder.is_random(held.item)


def fix_operand(b: Any, elements: RecordedElements, place: int, operand: Value) -> Any:
    """Return the recorded elements of ``operand``, and guard on them if they may vary.

    ``place`` is the index of the operand.
    """
    held = elements.held[place]
    if place in elements.varying:
        b.graph.guards.append(
            Guard(operand, held, b.origin, rounding_of(b, operand) if is_floating(operand.dtype) else 0.0)
        )
    return _nested(held)


def _nested(rows: Any) -> Any:
    return tuple(map(_nested, rows)) if isinstance(rows, list) else rows


# The dtype of these arrays is object.
KnownArray = np.ndarray[Any, Any]
_INTEGERS = frozenset({"int32", "int64"})
# Up to these bounds a float dtype represents every integer exactly.
_EXACT = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float64": 2**53}
# Rules find a function among the attributes under this key, which evaluates a condition on sizes as a guard.
DECIDE = "decide"
_FEW_OF = frozenset({*_INTEGERS, "bool"})


def as_known_array(rows: Any) -> KnownArray:
    """Return numbers and sizes, a scalar or nested sequences, as an array of dtype object.

    >>> as_known_array((2, 3)).tolist(), as_known_array(4).shape
    ([2, 3], ())
    """
    return np.array(rows, dtype=object)


def nested(array: KnownArray) -> Any:
    """Return a known array as a scalar or as nested tuples.

    >>> nested(as_known_array(((1, 2), (3, 4)))), nested(as_known_array(5))
    (((1, 2), (3, 4)), 5)
    """
    return (
        array[()]
        if array.ndim == 0
        else tuple(map(nested, array))
        if array.ndim > 1
        else tuple(array.tolist())
    )


def is_few(dtype: str, count: int, rank: int) -> bool:
    """Return True if a constant of this dtype, number of elements and rank becomes known numbers.

    >>> is_few("float32", 1, 0), is_few("float32", 3, 1), is_few("int32", 3, 1), is_few("int32", 100, 1)
    (True, False, True, False)
    """
    return rank == 0 and dtype != "string" or dtype in _FEW_OF and count <= _MOST


def computed(
    key: str, operands: list[KnownArray], attributes: dict[str, Any], decide: Callable[[Size], Any]
) -> list[KnownArray] | None:
    """Return the results of the operation ``key`` on known arrays, or None if they are unknown or too large.

    The operation and its operands must fit :func:`takes_integers` and :func:`fits`.
    """
    rule = _RULES.get(key)
    if rule is None or not operands:
        return None
    places = _TESTED_OPERANDS.get(key, ())
    operands = [
        _decide_all(array, decide) if place in places else array for place, array in enumerate(operands)
    ]
    try:
        found = rule({**attributes, DECIDE: decide}, *operands)
    except UnknownResult:
        return None
    made = [
        _of_python(as_known_array(item) if not isinstance(item, np.ndarray) else item.astype(object))
        for item in (found if isinstance(found, list) else [found])
    ]
    # Larger arrays are data.
    return made if all(item.size <= _MOST for item in made) else None


def in_range(array: KnownArray, dtype: str) -> KnownArray | None:
    """Return ``array`` with its numbers wrapped around to the range of an int32 or int64 ``dtype``.

    Arrays of another dtype are returned unchanged. Return None if a symbolic size prevents the wrap-around.

    >>> in_range(as_known_array((2**31, -1)), "int32").tolist()
    [-2147483648, -1]
    >>> in_range(as_known_array((2**31, True)), "int64").tolist()
    [2147483648, True]
    """
    if dtype not in _INTEGERS:
        return array
    span, least = 2 ** int(dtype.removeprefix("int")), -(2 ** (int(dtype.removeprefix("int")) - 1))
    if all(least <= hint_of(item) < least + span for item in array.ravel()):
        return array
    return (
        as_known_array(np.frompyfunc(lambda item: (item - least) % span + least, 1, 1)(array))
        if _is_plain(array)
        else None
    )


def _decide_all(array: KnownArray, decide: Callable[[Size], Any]) -> KnownArray:
    found = [decide(item) if isinstance(item, Size) else item for item in array.ravel()]
    return np.array(found, dtype=object).reshape(array.shape)


def _of_python(array: KnownArray) -> KnownArray:
    made: KnownArray = np.array(array, dtype=object)
    for place in np.ndindex(made.shape):
        if isinstance(made[place], np.generic):
            made[place] = made[place].item()
    return made


def takes_integers(key: str, attributes: dict[str, Any]) -> bool:
    """Return True if operation ``key`` can be evaluated on known numbers of the dtypes in ``attributes``."""
    # A size becomes a Python number next to float arrays, so it may be cast to a float.
    if key == "Cast":
        return attributes["SrcT"] in _FEW_OF and attributes["DstT"] in (*_FEW_OF, *_EXACT)
    declared = definition(key)
    types = {name for argument in (*declared.input_arg, *declared.output_arg) if (name := argument.type_attr)}
    return key in _RULES and all(attributes[name] in _FEW_OF for name in types)


# ------------------------------------------------------------------------------------- rules
def _elementwise(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, *operands: np.frompyfunc(compute, len(operands), 1)(*operands)


def _binary(function: str) -> Callable[..., Any]:
    return _elementwise(lambda x, y: apply(function, x, y))


def _product(attributes: dict[str, Any], x: KnownArray, axis: KnownArray) -> Any:
    return np.prod(x, tuple(np.ravel(axis).astype(int).tolist()), keepdims=attributes["keep_dims"])


def strided(
    attributes: dict[str, Any], x: Any, begin: KnownArray, end: KnownArray, strides: KnownArray
) -> Any:
    return x[index_of(attributes, begin, end, strides)]


def index_of(attributes: dict[str, Any], begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """Return the NumPy index that is equivalent to the masks and bounds of a ``StridedSlice``.

    >>> masks = dict(begin_mask=1, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=2)
    >>> index_of(masks, (0, 1), (3, 2), (1, 1))
    (slice(None, 3, 1), 1)
    """

    def one(place: int, first: Any, last: Any, step: Any) -> Any:
        def has(mask: str) -> bool:
            return bool(attributes[mask] >> place & 1)

        if has("ellipsis_mask"):
            return ...
        if has("new_axis_mask"):
            return None
        return (
            first
            if has("shrink_axis_mask")
            else slice(None if has("begin_mask") else first, None if has("end_mask") else last, step)
        )

    return tuple(one(place, *parts) for place, parts in enumerate(zip(begin, end, strides)))


def _broadcast_shape(attributes: dict[str, Any], x: KnownArray, y: KnownArray) -> Any:
    def wider(size: Any, other: Any) -> Any:
        if _holds(attributes, apply("eq", size, other)):
            return size if isinstance(size, int) else other
        return other if _holds(attributes, apply("eq", size, 1)) else size

    rank = max(len(x), len(y))
    one, two = ([1] * (rank - len(shape)) + shape.tolist() for shape in (x, y))
    return as_known_array(tuple(wider(*pair) for pair in zip(one, two))).reshape(rank)


def _cast(attributes: dict[str, Any], x: KnownArray) -> Any:
    if attributes["DstT"] in ("bfloat16", "float16"):
        bound = _EXACT[attributes["DstT"]]
        for item in x.ravel():
            if not all(_holds(attributes, apply("le", part, bound)) for part in (item, -item)):
                # The conversion may round, so the operation is recorded instead.
                raise UnknownResult
    if attributes["SrcT"] == attributes["DstT"] or "bool" not in (attributes["SrcT"], attributes["DstT"]):
        return x
    if attributes["DstT"] == "bool":
        return np.frompyfunc(lambda item: apply("ne", item, 0), 1, 1)(x)
    if not _is_plain(x):
        # A condition on sizes has no integer form, so the operation is recorded instead.
        raise UnknownResult
    return np.frompyfunc(int, 1, 1)(x)


def _holds(attributes: dict[str, Any], condition: Any) -> bool:
    return bool(attributes[DECIDE](condition) if isinstance(condition, Size) else condition)


def _truncating(attributes: dict[str, Any], x: KnownArray, y: KnownArray, function: str) -> Any:
    # For nonnegative numbers, truncation equals floor division.
    if not all(_holds(attributes, apply("ge", item, 0)) for item in (*x.ravel(), *y.ravel())):
        raise UnknownResult
    return np.frompyfunc(lambda one, two: apply(function, one, two), 2, 1)(x, y)


class UnknownResult(Signal):
    """Signal that a rule raises if the result of its operation is unknown while recording."""


def _split(attributes: dict[str, Any], x: KnownArray) -> list[KnownArray]:
    axis = attributes["axis"]
    return [np.take(x, place, axis) for place in range(x.shape[axis])]


def _parts(x: KnownArray, sizes: KnownArray, axis: int) -> list[Any]:
    lengths = [
        x.shape[axis] - sum(size for size in sizes if size >= 0) if size < 0 else size
        for size in map(int, sizes)
    ]
    return np.split(x, np.cumsum(lengths)[:-1].tolist(), axis)


def _is_plain(*arrays: KnownArray) -> bool:
    return not any(isinstance(item, Size) for array in arrays for item in array.ravel())


def _logical(function: str, x: Any, y: Any) -> Any:
    for one, other in ((x, y), (y, x)):
        if not isinstance(one, Size):
            return other if bool(one) == (function == "and") else bool(one)
    return apply(function, x, y)


def _axes(axis: KnownArray) -> tuple[int, ...]:
    return tuple(np.ravel(axis).astype(int).tolist())


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, x, axis: function(x, axis=_axes(axis), keepdims=attributes["keep_dims"])


def _extreme(name: str) -> Callable[..., Any]:
    larger = np.frompyfunc(lambda one, other: apply(name, one, other), 2, 1)

    def rule(attributes: dict[str, Any], x: KnownArray, axis: KnownArray) -> Any:
        axes = tuple({place % x.ndim for place in _axes(axis)})
        if any(x.shape[place] == 0 for place in axes):
            # TensorFlow gives the smallest or largest number of the dtype.
            raise UnknownResult
        for place in axes:
            x = larger.reduce(x, axis=place, keepdims=True)
        return x if attributes["keep_dims"] else np.squeeze(x, axes)

    return rule


def _cumulative(function: Callable[..., Any], start: int) -> Callable[..., Any]:
    def rule(attributes: dict[str, Any], x: KnownArray, axis: KnownArray) -> Any:
        place = int(axis) % max(x.ndim, 1)
        given = np.flip(x, place) if attributes["reverse"] else x
        found = function(given, axis=place)
        if attributes["exclusive"]:
            first = np.full_like(np.take(found, [0], place), start) if x.shape[place] else found
            found = np.concatenate([first, np.delete(found, -1, place)], place) if x.shape[place] else found
        return np.flip(found, place) if attributes["reverse"] else found

    return rule


def _stitch(attributes: dict[str, Any], *operands: KnownArray) -> Any:
    half = len(operands) // 2
    places, parts = operands[:half], operands[half:]
    count = max((int(place.max()) + 1 for place in places if place.size), default=0)
    found = np.zeros((count, *parts[0].shape[places[0].ndim :]), object)
    for place, part in zip(places, parts):
        found[place.astype(int)] = part if part.ndim else part[()]
    return found


def _pad(x: KnownArray, paddings: KnownArray, item: KnownArray) -> KnownArray:
    before = paddings.astype(int)[:, 0]
    found = np.full(x.shape + paddings.astype(int).sum(1), item[()], object)
    found[tuple(slice(start, start + size) for start, size in zip(before, x.shape))] = x
    return found


def _scatter_update(
    attributes: dict[str, Any], x: KnownArray, places: KnownArray, updates: KnownArray
) -> KnownArray:
    found = x.copy()
    found[tuple(np.moveaxis(places.astype(int), -1, 0))] = updates
    return found


def _difference(attributes: dict[str, Any], x: KnownArray, y: KnownArray) -> list[KnownArray]:
    places = [place for place, item in enumerate(x) if item not in y.tolist()]
    return [x[places], as_known_array(places)]


_COMPARED = {
    "Less": "lt",
    "LessEqual": "le",
    "Greater": "gt",
    "GreaterEqual": "ge",
    "Equal": "eq",
    "NotEqual": "ne",
}
_RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("AddV2", "Add"), _elementwise(lambda x, y: x + y)),
    "Sub": _elementwise(lambda x, y: x - y),
    "Mul": _elementwise(lambda x, y: x * y),
    "Neg": _elementwise(lambda x: -x),
    "FloorDiv": _elementwise(lambda x, y: x // y),
    "FloorMod": _elementwise(lambda x, y: x % y),
    **{name: _binary(function) for name, function in _COMPARED.items()},
    "Sign": _elementwise(lambda x: (x > 0) - (x < 0)),
    "TruncateDiv": functools.partial(_truncating, function="floordiv"),
    "TruncateMod": functools.partial(_truncating, function="mod"),
    "Mod": functools.partial(_truncating, function="mod"),
    "Split": lambda attributes, axis, x: np.split(x, attributes["num_split"], int(axis)),
    "SplitV": lambda attributes, x, sizes, axis: _parts(x, sizes, int(axis)),
    "Where": lambda attributes, x: np.argwhere(x.astype(bool)),
    "Maximum": _binary("max"),
    "Minimum": _binary("min"),
    "Cast": _cast,
    "Prod": _product,
    "Sum": _reduction(np.sum),
    "All": _reduction(np.all),
    "Any": _reduction(np.any),
    "Max": _extreme("max"),
    "Min": _extreme("min"),
    "Cumsum": _cumulative(np.cumsum, 0),
    "Cumprod": _cumulative(np.cumprod, 1),
    "LogicalAnd": _elementwise(lambda x, y: _logical("and", x, y)),
    "LogicalOr": _elementwise(lambda x, y: _logical("or", x, y)),
    "LogicalNot": _elementwise(negate),
    "Abs": _elementwise(abs),
    **dict.fromkeys(
        ("Select", "SelectV2"), lambda attributes, chosen, x, y: np.where(chosen.astype(bool), x, y)
    ),
    "BroadcastArgs": _broadcast_shape,
    "BroadcastTo": lambda attributes, x, shape: np.broadcast_to(x, tuple(map(int, shape))),
    "Tile": lambda attributes, x, multiples: np.tile(x, tuple(map(int, multiples))),
    "Pad": lambda attributes, x, paddings: _pad(x, paddings, as_known_array(0)),
    "PadV2": lambda attributes, x, paddings, item: _pad(x, paddings, item),
    "TensorScatterUpdate": _scatter_update,
    "Transpose": lambda attributes, x, perm: np.transpose(x, tuple(map(int, perm))),
    "InvertPermutation": lambda attributes, x: np.argsort(x.astype(int)),
    "ListDiff": _difference,
    "DynamicStitch": _stitch,
    "ZerosLike": lambda attributes, x: np.zeros(x.shape, object),
    "OnesLike": lambda attributes, x: np.ones(x.shape, object),
    "Pack": lambda attributes, *parts: np.stack(parts, attributes["axis"]),
    "Unpack": _split,
    "ConcatV2": lambda attributes, *parts: np.concatenate(parts[:-1], int(parts[-1])),
    "StridedSlice": lambda attributes, x, *bounds: strided(
        attributes, x, *(bound.astype(int) for bound in bounds)
    ),
    "Slice": lambda attributes, x, begin, size: x[
        tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size))
    ],
    "GatherV2": lambda attributes, x, indices, axis: np.take(x, indices.astype(int), int(axis)),
    "ExpandDims": lambda attributes, x, axis: np.expand_dims(x, int(axis)),
    "Squeeze": lambda attributes, x: np.squeeze(x, tuple(attributes["squeeze_dims"]) or None),
    "Reshape": lambda attributes, x, shape: x.reshape(tuple(map(int, shape))),
    "Range": lambda attributes, first, last, step: np.arange(int(first), int(last), int(step)),
    "Fill": lambda attributes, shape, item: np.full(tuple(map(int, shape)), item[()], object),
    "ReverseV2": lambda attributes, x, axis: np.flip(x, tuple(map(int, axis))),
}
_NEED_NUMBERS = {
    "Range": (0, 1, 2), "Fill": (0,), "Reshape": (1,), "StridedSlice": (1, 2, 3), "Slice": (1, 2),
    "GatherV2": (1, 2), "BroadcastTo": (1,), "Tile": (1,), "InvertPermutation": (0,), "Transpose": (1,),
    "SplitV": (1, 2), "Split": (0,), "Pad": (1,), "PadV2": (1,), "Cumsum": (1,), "Cumprod": (1,), "Sum": (1,),
    "Max": (1,), "Min": (1,), "TensorScatterUpdate": (1,),
}  # fmt: skip


# Operands whose elements NumPy tests or compares, so symbolic ones are replaced by numbers, under guards.
_TESTED_OPERANDS = {
    "SelectV2": (0,),
    "Select": (0,),
    "All": (0,),
    "Any": (0,),
    "Where": (0,),
    "Sign": (0,),
    "ListDiff": (0, 1),
}


def fits(key: str, operands: list[KnownArray]) -> bool:
    if key == "DynamicStitch":
        return _is_plain(*operands[: len(operands) // 2])
    return _is_plain(*(operands[place] for place in _NEED_NUMBERS.get(key, ())))


# --------------------------------------------------------------------------------------------------- counting
# Trip counts of loops, derived from the traced graphs of the condition and the body.

# Bits of the narrowest dtype that holds the numbers of any loop that ends in time.
_BITS_OF_A_COUNTER = 32
_COMPARISONS = {"Less": "lt", "LessEqual": "le", "Greater": "gt", "GreaterEqual": "ge"}


@dataclass(frozen=True)
class Count:
    """Trip count of a loop, and its counters: elements of the state with a constant increment.

    length: the trip count, an int or a ``Size``.
    counters: start value and increment of each counter, by its index in the state.
    number_in: function of a graph of the loop and a tensor of it, which returns the integer or size of the
        tensor, or None if it is unknown or changes between iterations.
    """

    length: Any
    counters: Mapping[int, tuple[Any, int]]
    number_in: Callable[[Any, Any], Any]

    def is_number_of_step(self, place: int | None) -> bool:
        return place is not None and self.counters.get(place) == (0, 1)

    def end(self, place: int) -> Any:
        first, step = self.counters[place]
        return first + step * self.length


def count_of(condition: Any, body: Any, start: Sequence[Any]) -> Count | None:
    """Return the trip count and the counters of a while loop, or None.

    ``condition`` and ``body`` are its graphs, and ``start`` are the initial values of its state.
    """
    counting = _Counting(condition, body, start)
    steps = counting.steps(condition.outputs[0])
    if steps is None or isinstance(steps, bool):
        return None
    pairs = ((place, (counting.first(place), counting.step(place))) for place in range(len(start)))
    return Count(
        # The counter may start beyond its bound, and then there is no iteration.
        steps if nonnegative(steps) else apply("max", steps, 0),
        {place: pair for place, pair in pairs if None not in pair},
        counting.number,
    )


@dataclass(frozen=True)
class _Counting:
    condition: Any
    body: Any
    start: Sequence[Any]

    def steps(self, tensor: Any) -> Any:
        """Return the number of iterations before ``tensor``, a part of the condition, becomes false.

        A bool means that ``tensor`` has this value at each step, None that the number is unknown, and a
        number below 0 that there is no iteration.
        """
        operation = source_of(tensor).op
        if operation.type == "Const":
            return bool(tensor_util.MakeNdarray(operation.get_attr("value")))
        if operation.type in ("LogicalAnd", "LogicalOr"):
            return _combine(operation.type, *map(self.steps, operation.inputs))
        if operation.type not in _COMPARISONS:
            return None
        return self._compared_trip_count(operation.type, *operation.inputs)

    def _compared_trip_count(self, kind: str, left: Any, right: Any) -> Any:
        numbers = [self.number(self.condition, one) for one in (left, right)]
        if None not in numbers:
            found = apply(_COMPARISONS[kind], *numbers)
            return None if isinstance(found, Size) else bool(found)
        place = input_index(self.condition, left)
        first, step, end = self.first(place), self.step(place), numbers[1]
        # A counter that moves away from its bound ends the loop at once or never.
        if None in (first, step, end) or (step > 0) != kind.startswith("Less"):
            return None
        way = end - first if step > 0 else first - end
        return (way + int(kind.endswith("Equal")) + abs(step) - 1) // abs(step)

    def number(self, graph: Any, tensor: Any) -> Any:
        operation = source_of(tensor).op
        if operation.type == "Const":
            found = tensor_util.MakeNdarray(operation.get_attr("value"))
            return found.item() if found.ndim == 0 and found.dtype.kind in "iu" else None
        place = input_index(graph, tensor)
        return self.first(place) if place is not None and is_invariant(self.body, place) else None

    def first(self, place: int | None) -> Any:
        item = None if place is None else self.start[place]
        return (
            nested(item)
            if isinstance(item, np.ndarray) and item.ndim == 0 and type(nested(item)) in (int, Size)
            else None
        )

    def step(self, place: int | None) -> Any:
        operation = None if place is None else source_of(self.body.outputs[place]).op
        if (
            operation is None
            or operation.type not in ("AddV2", "Add", "Sub")
            or input_index(self.body, operation.inputs[0]) != place
        ):
            return None
        added = self.number(self.body, operation.inputs[1])
        return (-added if operation.type == "Sub" else added) if type(added) is int and added != 0 else None


def _combine(kind: str, left: Any, right: Any) -> Any:
    # A constant True decides an ``or``, a constant False an ``and``.
    decides = kind == "LogicalOr"
    if decides in [part for part in (left, right) if isinstance(part, bool)]:
        return decides
    if isinstance(left, bool) or isinstance(right, bool):
        return right if isinstance(left, bool) else left
    return None if kind == "LogicalOr" or left is None or right is None else apply("min", left, right)


def is_invariant(body: Any, place: int) -> bool:
    tensor = body.outputs[place]
    # A cast and its inverse may round.
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor is body.inputs[place]


def source_of(tensor: Any) -> Any:
    while tensor.op.type == "Identity" or _keeps_counter(tensor.op):
        tensor = tensor.op.inputs[0]
    return tensor


def _keeps_counter(operation: Any) -> bool:
    if operation.type != "Cast":
        return False
    before, after = operation.inputs[0].dtype, operation.outputs[0].dtype
    keeps_sign = before.is_unsigned or not after.is_unsigned
    is_wide = before.size < after.size or 8 * after.size >= _BITS_OF_A_COUNTER
    return bool(before.is_integer and keeps_sign and is_wide)


def input_index(graph: Any, tensor: Any) -> int | None:
    found = source_of(tensor)
    return next((place for place, one in enumerate(graph.inputs) if one is found), None)


def consumers_of(tensor: Any) -> Iterator[Any]:
    for operation in tensor.consumers():
        if operation.type == "Identity":
            yield from consumers_of(operation.outputs[0])
        else:
            yield operation
