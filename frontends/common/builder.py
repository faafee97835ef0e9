"""The builder that lifting rows write with: canonical operations, and what a recording may assume of sizes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ...assumptions import IndexBounds
from ...ir import Builder, Graph, Guard, Value
from ...ir.node import Node, values_in
from ...ops.dtypes import INTEGERS, ITEMSIZE
from ...ops.registry import ArraySpec, Op, Unknown
from ...sizes import Size, Symbol, apply, hint_of, substitute
from .read_numbers import as_read, fixed, is_read, number_of


def bits_of(b: Any, x: Any) -> Any:
    """The bits along a last axis, the lowest first, as 0 and 1 in the type of ``x``."""
    places = b.arange(start=0, stop=8 * ITEMSIZE[x.dtype], step=1, dtype=x.dtype)
    return b.bitwise_and(
        b.bitwise_right_shift(b.reshape(x, shape=(*x.shape, 1)), places), b.array(1, x.dtype)
    )


def from_bits(b: Any, bits: Any) -> Any:
    places = b.arange(start=0, stop=8 * ITEMSIZE[bits.dtype], step=1, dtype=bits.dtype)
    return b.sum(b.bitwise_left_shift(bits, places), axis=bits.ndim - 1, dtype=bits.dtype)


def reduced_bits(b: Any, x: Any, how: str, axis: Any, keepdims: bool = False) -> Any:
    """``and``, ``or`` or ``xor`` of integers over axes, which are counted from the front."""
    bits = bits_of(b, x)
    if how == "xor":
        odd = b.bitwise_and(b.sum(bits, axis=axis, dtype=x.dtype, keepdims=keepdims), b.array(1, x.dtype))
        return from_bits(b, odd)
    found = (b.any if how == "or" else b.all)(b.not_equal(bits, 0), axis=axis, keepdims=keepdims)
    return from_bits(b, b.astype(found, dtype=x.dtype))


log = logging.getLogger("graph_compiler")
_HEAVIEST = (
    64  # of an array's sizes: what is computed from sizes again and again, layer by layer, doubles in each
)


class RaisingBuilder(Builder):
    """A builder of one source framework, whose own class says how the framework chooses types
    (``result_type``).

    ``recorded`` holds the specs (as seen, sizes as ints) of the arrays that the call returned while
    recording: for rows whose result type follows no simpler rule, and for sizes that depend on data.
    """

    recorded: tuple[ArraySpec, ...] = ()
    masks: tuple[str, ...] = ("bool",)  # dtypes of index arrays that are masks
    lists_are_tuples = False  # whether a list of slices and the like is an index for several axes

    generator: Any = None  # that the call draws from, where it is one that the graph seeds

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.reads_numbers = False  # whether the function reads numbers from arrays
        self.fixed: set[Size] = set()  # those that are what they were while recording
        self.last_key = -1  # number of the last key that was derived from that of the graph
        self.steps: list[
            Value
        ] = []  # numbers of the steps of the loops that are being written, outermost first
        self.streams: dict[
            Any, tuple[Value, int]
        ] = {}  # generator -> its key, and how many were derived from it
        self._axes: dict[str, Value] = {}  # of devices: the numbers of these
        self._outermost = graph.nodes
        self._selections: dict[
            Value, tuple[Value, int]
        ] = {}  # mask -> the first array that it selects of, and the axis

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.reads_numbers:
            inputs, params = fixed(self, inputs), fixed(self, params)
        return super().apply(op, inputs, params)

    def result_type(self, *operands: Any) -> str:
        raise NotImplementedError

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """``x`` as an array: a value as it is, a number or a size as a 0-d array of ``dtype``."""
        if isinstance(x, Value):
            return x if dtype is None else self.cast(x, dtype)
        dtype = dtype or self.result_type(x)
        if is_read(x):
            return self.cast(as_read(self, number_of(self, x), dtype), dtype)
        return self.full(shape=(), fill_value=number_as(x, dtype), dtype=dtype)

    def cast(self, x: Any, dtype: Any) -> Any:
        return self.astype(x, dtype=dtype) if isinstance(x, Value) else x

    def operand(self, x: Any, dtype: str) -> Any:
        """``x`` beside arrays of ``dtype``, or written into one: arrays are cast, numbers become numbers of
        that kind (2.5 is 2 among integers).
        """
        return self.array(x, dtype) if isinstance(x, Value) or is_read(x) else number_as(x, dtype)

    def settled(self, spec: ArraySpec) -> ArraySpec:
        """Sizes that were broadcast against each other while they were equal are assumed to be equal; what is
        too long to say is read from the array.
        """
        return ArraySpec(tuple(map(self._settled, spec.shape)), spec.dtype)

    def _settled(self, dim: Any) -> Any:
        if isinstance(dim, Size) and dim.weight > _HEAVIEST:
            return Unknown(hint_of(dim))
        if not isinstance(dim, Unknown) or not dim.if_equal:
            return dim
        for other in dim.if_equal[1:]:
            self.guard(apply("eq", dim.if_equal[0], other))
        return dim.if_equal[0]

    def fix(self, dim: Any) -> int:
        return int(self.fix_number(dim))

    def fix_number(self, number: Any) -> Any:
        self.guard(apply("eq", number, hint_of(number)))
        return hint_of(number)

    def expands(self, x: Value, shape: tuple[Any, ...]) -> None:
        for size, wanted in zip(x.shape[::-1], shape[::-1]):
            self.guard(apply("eq", size, wanted if hint_of(size) == hint_of(wanted) else 1))

    def guard(self, condition: Any) -> None:
        """The graph holds only where ``condition``, a truth value over sizes that is true while recording, is
        true.
        """
        if substitute(condition, self._of_first_selection) is True:
            return
        if isinstance(condition, Size) and not any(
            guard.condition == condition for guard in self.graph.guards
        ):
            self.graph.guards.append(Guard(condition, True, self.origin))

    def _of_first_selection(self, symbol: Symbol) -> Size:
        """A size; that of what a mask selects, as the size of the first selection by the mask."""
        made = self.maker(symbol.source)
        if made is None or made.op != "boolean_mask" or made.params["axis"] != symbol.axis:
            return Size.of(symbol)
        first, axis = self._selections.setdefault(made.inputs[1], (symbol.source, symbol.axis))
        return Size.of(Symbol(first, axis, symbol.hint, symbol.kind))

    def bound(self, given: Value, low: Any, high: Any, besides: int | None = None) -> None:
        """The graph holds only where the elements of an input lie in ``[low, high)`` or are ``besides``; not
        looked at while a target traces the function.
        """
        inputs = self.graph.inputs
        if all(source in inputs for source in values_in((low, high))):
            self.graph.assume(IndexBounds(inputs.index(given), low, high, besides))

    def expect(self, condition: Value, expected: bool) -> None:
        self.graph.guards.append(Guard(condition, expected, self.origin))

    def enter(self, node: Node, operands: Sequence[Any], inputs: Sequence[Value]) -> None:
        """Note what is known of the ``inputs`` of a region of a recorded ``node`` that are given these
        ``operands``.
        """

    def refuse_outside(self, index: Value, size: Any) -> None:
        """What a framework demands of a single index that was computed, beyond what targets do: nothing, or
        that it lies inside of its axis.
        """

    def left(self, index: Any, size: Any) -> None:
        """What becomes of a single index that is known to lie outside of its axis: targets refuse it, unless
        the framework knows better.
        """

    def indices_of_axis(self, axis_name: str) -> Value:
        """The numbers of the devices of an axis, one array for the whole graph: so what is gathered twice has
        equal sizes.
        """
        if axis_name not in self._axes:
            with self.block() as nodes:
                self._axes[axis_name] = self.axis_indices(axis_name=axis_name)
            self._outermost[:0] = nodes
        return self._axes[axis_name]

    @contextmanager
    def step(self, number: Value) -> Iterator[None]:
        """Inside of the block nodes are those of a step of a loop, which draws by keys of its own: ``number``
        tells which step it is.
        """
        self.steps.append(number)
        try:
            yield
        finally:
            self.steps.pop()

    def next_key(self) -> Any:
        """A new key for random numbers: of the generator that the call names, by default of the one input
        ``key`` of the graph.
        """
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
            self.graph.randomness = replace(self.graph.randomness, key=key)
            self.graph.inputs.append(key)
        return key

    def stream(self, generator: Any) -> tuple[Value, int]:
        return self.streams.get(generator) or (self._input_key(), self.last_key + 1)

    def seed(self, generator: Any, seed: int) -> None:
        """Seeds a generator (None: the default one), and logs that the numbers differ from those of the
        source framework.
        """
        if not self.streams:
            log.warning(
                "%s seeds a generator of random numbers: each framework draws others from a seed, of the same distribution and the same "
                "at every call",
                self.graph.name,
            )
        self.streams[generator] = (self.random_key(seed=seed % 2**32), 0)


def number_as(item: Any, dtype: str) -> Any:
    """A number as an element of this type: 2 is 2.0 among floats, 1.5 is 1 among integers, and -1 is 255 in
    ``uint8``.
    """
    if isinstance(item, Size):
        return apply("ne", item, 0) if dtype == "bool" and item.type is not bool else item
    if dtype == "bool":
        return bool(item)
    if isinstance(item, complex):
        return item
    if dtype in INTEGERS:
        return wrapped(int(item), dtype)
    return float(item) if "float" in dtype or isinstance(item, bool) else item


def wrapped(number: int, dtype: str) -> int:
    """A number among integers of this type: what the type does not hold wraps around.

    >>> wrapped(-2, "uint8"), wrapped(200, "int8"), wrapped(7, "int32")
    (254, -56, 7)
    """
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    return (number - low) % 2**bits + low
