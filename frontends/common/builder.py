"""Builder that lifting rows use: emits canonical operations and guards on sizes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ...assumptions import IndexBounds
from ...ir import Builder, Graph, Guard, Value
from ...ir.node import Node, values_in
from ...ops.dtypes import INTEGERS, ITEMSIZE
from ...ops.registry import ArraySpec, Op, Unknown
from ...sizes import Size, Symbol, apply, hint_of, substitute
from .read_numbers import element_before_cast, fix_numbers, is_read, number_of


def bits_of(b: Any, x: Any) -> Any:
    """Return the bits of the integers ``x`` along a new last axis, lowest first."""
    places = b.arange(start=0, stop=8 * ITEMSIZE[x.dtype], step=1, dtype=x.dtype)
    return b.bitwise_and(
        b.bitwise_right_shift(b.reshape(x, shape=(*x.shape, 1)), places), b.array(1, x.dtype)
    )


def from_bits(b: Any, bits: Any) -> Any:
    places = b.arange(start=0, stop=8 * ITEMSIZE[bits.dtype], step=1, dtype=bits.dtype)
    return b.sum(b.bitwise_left_shift(bits, places), axis=bits.ndim - 1, dtype=bits.dtype)


def reduce_bits(b: Any, x: Any, how: str, axis: Any, keepdims: bool = False) -> Any:
    """Reduce the integers ``x`` over the nonnegative axes ``axis`` by bitwise "and", "or" or "xor"."""
    bits = bits_of(b, x)
    if how == "xor":
        odd = b.bitwise_and(b.sum(bits, axis=axis, dtype=x.dtype, keepdims=keepdims), b.array(1, x.dtype))
        return from_bits(b, odd)
    found = (b.any if how == "or" else b.all)(b.not_equal(bits, 0), axis=axis, keepdims=keepdims)
    return from_bits(b, b.astype(found, dtype=x.dtype))


log = logging.getLogger("graph_compiler")
# A lower and an upper bound of all elements of an array, ints or sizes.
Interval = tuple[Any, Any]
# A longer size expression is read from the array instead: sizes that are computed from sizes layer by layer
# double their length in each layer.
HEAVIEST = 64


class LiftingBuilder(Builder):
    """Builder that the lifting rows of one framework use. Subclasses define ``result_type``, type promotion.

    recorded: specs of the arrays that the current call returned while recording.
    masks: dtypes of index arrays that are boolean masks.
    lists_are_tuples: True if some lists index several axes, as tuples do.
    generator: the random generator that the current call names; None for the default one.
    reads_numbers: True once the graph has a number that Python has read from an array.
    fixed: size expressions over numbers read from arrays that are guarded to equal their recorded values.
    last_key: index of the last key derived from the key of the graph; -1 if there is none.
    steps: indices of the current iterations and calls of the enclosing regions that draw random numbers,
        outermost first.
    streams: for each seeded generator, its key and the number of keys derived from it.
    intervals: cache of lower and upper bounds of arrays of indices; None if unknown.
    """

    recorded: tuple[ArraySpec, ...] = ()
    masks: tuple[str, ...] = ("bool",)
    lists_are_tuples = False

    generator: Any = None

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.reads_numbers = False
        self.fixed: set[Size] = set()
        self.last_key = -1
        self.steps: list[Value] = []
        self.streams: dict[Any, tuple[Value, int]] = {}
        self.intervals: dict[Value, Interval | None] = {}
        # Indices of the devices along each mesh axis.
        self._axes: dict[str, Value] = {}
        self._outermost = graph.nodes
        # For each mask, the result of the first selection by it, and the axis of its size.
        self._selections: dict[Value, tuple[Value, int]] = {}

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        # Most functions read no numbers, and searching all operands and parameters for them takes time.
        if self.reads_numbers:
            inputs, params = fix_numbers(self, inputs), fix_numbers(self, params)
        return super().apply(op, inputs, params)

    def result_type(self, *operands: Any) -> str:
        raise NotImplementedError

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """Convert ``x``, a value, number or size, to a value, of ``dtype`` if that is given."""
        if isinstance(x, Value):
            return x if dtype is None else self.cast(x, dtype)
        dtype = dtype or self.result_type(x)
        if is_read(x):
            return self.cast(element_before_cast(self, number_of(self, x), dtype), dtype)
        return self.full(shape=(), fill_value=convert_number(x, dtype), dtype=dtype)

    def cast(self, x: Any, dtype: Any) -> Any:
        return self.astype(x, dtype=dtype) if isinstance(x, Value) else x

    def operand(self, x: Any, dtype: str) -> Any:
        return self.array(x, dtype) if isinstance(x, Value) or is_read(x) else convert_number(x, dtype)

    def settled(self, spec: ArraySpec) -> ArraySpec:
        """Return ``spec`` without size expressions heavier than ``HEAVIEST``, which become unknown.

        An unknown size that is known if others are equal may become known, under guards.
        """
        return ArraySpec(tuple(map(self._settled, spec.shape)), spec.dtype)

    def _settled(self, dim: Any) -> Any:
        if isinstance(dim, Size) and dim.weight > HEAVIEST:
            return Unknown(hint_of(dim))
        if not isinstance(dim, Unknown) or not dim.if_equal:
            return dim
        conditions = [apply("eq", dim.if_equal[0], other) for other in dim.if_equal[1:]]
        # Another call may broadcast a size of 1.
        if dim.hint <= 1 and not all(map(self._always_holds, conditions)):
            return dim
        for condition in conditions:
            self.guard(condition)
        return dim.if_equal[0]

    def fix(self, dim: Any) -> int:
        return int(self.fix_number(dim))

    def fix_number(self, number: Any) -> Any:
        self.guard(apply("eq", number, hint_of(number)))
        return hint_of(number)

    def fix_negative(self, sizes: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(self.fix(size) if hint_of(size) < 0 else size for size in sizes)

    def guard_expansion(self, x: Value, shape: tuple[Any, ...]) -> None:
        for size, wanted in zip(x.shape[::-1], shape[::-1]):
            self.guard(apply("eq", size, wanted if hint_of(size) == hint_of(wanted) else 1))

    def guard(self, condition: Any) -> None:
        """Guard that ``condition`` on sizes holds; do nothing if it is a bool or known to hold."""
        if self._always_holds(condition):
            return
        if isinstance(condition, Size) and not any(
            guard.condition == condition for guard in self.graph.guards
        ):
            self.graph.guards.append(Guard(condition, True, self.origin))

    def _always_holds(self, condition: Any) -> bool:
        return substitute(condition, self._of_first_selection) is True

    def _of_first_selection(self, symbol: Symbol) -> Size:
        made = self.maker(symbol.source)
        if made is None or made.op != "boolean_mask" or made.params["axis"] != symbol.axis:
            return Size.of(symbol)
        # All arrays that one mask selects have the same size.
        first, axis = self._selections.setdefault(made.inputs[1], (symbol.source, symbol.axis))
        return Size.of(Symbol(first, axis, symbol.hint, symbol.kind))

    def bound(self, given: Value, low: Any, high: Any, besides: int | None = None) -> None:
        """Assume that each element of the graph input ``given`` is in ``[low, high)`` or equals ``besides``.

        Do nothing if ``low`` or ``high`` depends on arrays that are not inputs.
        """
        inputs = self.graph.inputs
        if all(source in inputs for source in values_in((low, high))):
            self.graph.assume(IndexBounds(inputs.index(given), low, high, besides))

    def expect(self, condition: Value, expected: bool) -> None:
        self.graph.guards.append(Guard(condition, expected, self.origin))

    def enter(self, node: Node, operands: Sequence[Any], inputs: Sequence[Value]) -> None:
        """Store what ``operands`` imply for the ``inputs`` of a region of ``node``, by default nothing."""

    def refuse_outside(self, index: Value, size: Any) -> None:
        """Guard that the integers ``index`` are in bounds, if the framework raises otherwise.

        The default adds no guard.
        """

    def index_out_of_bounds(self, index: Any, size: Any) -> None:
        """Handle a scalar index that was out of bounds while recording; the default does nothing."""

    def indices_of_axis(self, axis_name: str) -> Value:
        """Return the indices of the devices along ``axis_name``, the same array in each call."""
        if axis_name not in self._axes:
            with self.block() as nodes:
                self._axes[axis_name] = self.axis_indices(axis_name=axis_name)
            # The first use may be in a region, and later uses outside of it.
            self._outermost[:0] = nodes
        return self._axes[axis_name]

    @contextmanager
    def step(self, number: Value) -> Iterator[None]:
        """Let random keys of this context depend on ``number``, the index of an iteration or call."""
        self.steps.append(number)
        try:
            yield
        finally:
            self.steps.pop()

    def next_key(self) -> Any:
        key, index = self.stream(self.generator)
        if key is self.graph.randomness.key:
            self.last_key = index
        else:
            self.streams[self.generator] = (key, index + 1)
        return functools.reduce(self.random_fold_in, (key, index, *self.steps))

    def _input_key(self) -> Value:
        key = self.graph.randomness.key
        if key is None:
            key = Value("key", ArraySpec((2,), "uint32"))
            # The key is an input, so that each call of the compiled function may draw other numbers.
            self.graph.randomness = replace(self.graph.randomness, key=key)
            self.graph.inputs.append(key)
        return key

    def stream(self, generator: Any) -> tuple[Value, int]:
        return self.streams.get(generator) or (self._input_key(), self.last_key + 1)

    def seed(self, generator: Any, seed: int) -> None:
        """Start a new stream of random keys for ``generator``, derived from ``seed``.

        None is the default generator.
        """
        if not self.streams:
            log.warning(
                "%s seeds a generator of random numbers: each framework draws others from a seed, of the "
                "same "
                "distribution and the same at every call",
                self.graph.name,
            )
        self.streams[generator] = (self.random_key(seed=seed % 2**32), 0)


def convert_number(item: Any, dtype: str) -> Any:
    if isinstance(item, Size):
        return apply("ne", item, 0) if dtype == "bool" and item.type is not bool else item
    if dtype == "bool":
        return bool(item)
    if isinstance(item, complex):
        return item
    if dtype in INTEGERS:
        return wrap_around(int(item), dtype)
    return float(item) if "float" in dtype or isinstance(item, bool) else item


def wrap_around(number: int, dtype: str) -> int:
    """Wrap ``number`` around to the range of the integer type ``dtype``.

    >>> wrap_around(-2, "uint8"), wrap_around(200, "int8"), wrap_around(7, "int32")
    (254, -56, 7)
    """
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    return (number - low) % 2**bits + low
