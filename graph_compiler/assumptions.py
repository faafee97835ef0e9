"""Assumptions about the arguments of a call: their classes except ``Guard``, and the table of all kinds.

To add a kind, write a class with the methods of :class:`~graph_compiler.ir.assumption.Assumption`, add it
to ``_ORDER``, and add samples in ``tests/assumptions``. Frontends add assumptions with
``graph.assume(...)`` while recording.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union

import numpy as np

from .errors import InvalidFile, InvalidGraph
from .ir.assumption import (
    Assumption,
    JsonReader,
    JsonWriter,
    MatcherNames,
    MismatchedCall,
    Substitution,
    input_number,
    row,
)
from .ir.graph import Graph, Guard
from .registration import trait
from .sizes import Size, substitute

# ------------------------------------------------------------------------------------------------- same array
# Assumption about which arguments are the same object.

# Index for an input that is no array, or whose identity does not matter.
NO_ARRAY = -1


@dataclass(frozen=True, slots=True)
class SameArray:
    """Assumption about which inputs are the same object.

    firsts: for inputs from the first on, the index of the first input that is the same object; ``NO_ARRAY``
        if its identity does not matter.
    """

    kind: ClassVar[str] = "same_array"
    firsts: tuple[int, ...]

    def apart(self) -> list[int]:
        return [number for number, first in enumerate(self.firsts) if first == number]

    def lines(self, names: MatcherNames) -> list[str]:
        is_one = [
            names.require(f"{names.given(number)} is {names.given(first)}")
            for number, first in enumerate(self.firsts)
            if first not in (number, NO_ARRAY)
        ]
        apart = [names.given(number) for number in self.apart()]
        # For two arrays a comparison costs less than a set, and most calls have few.
        if len(apart) == 2:
            return [*is_one, names.require(f"{apart[0]} is not {apart[1]}")]
        if len(apart) > 2:
            return [
                *is_one,
                names.require(f"len({{{', '.join(f'id({name})' for name in apart)}}}) == {len(apart)}"),
            ]
        return is_one

    def why_broken(self, call: MismatchedCall) -> str | None:
        arrays = [number for number, first in enumerate(self.firsts[: len(call.leaves)]) if first != NO_ARRAY]
        for number, other in itertools.combinations(arrays, 2):
            is_one = call.leaves[number] is call.leaves[other]
            if is_one != (self.firsts[number] == self.firsts[other]):
                now, then = ("one array", "two") if is_one else ("two arrays", "one")
                names = f"{call.inputs[number].name} and {call.inputs[other].name}"
                return f"{names} are {now} and were {then} while recording"
        return None

    def mapped(self, replaced: Substitution) -> SameArray:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return list(self.firsts)

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> SameArray:
        if (
            type(data) is not list
            or len(data) > len(read.inputs)
            or not all(type(first) is int for first in data)
        ):
            raise InvalidFile("same_array has no numbers of inputs")
        if not all(
            first == NO_ARRAY or 0 <= first <= number and data[first] == first
            for number, first in enumerate(data)
        ):
            raise InvalidFile("same_array has numbers of what is no first array")
        return cls(tuple(data))


def first_of_each(graph: Graph) -> list[int]:
    """Return, for each input, the index of the first input that is assumed to be the same object."""
    known = [first for assumption in graph.assumed(SameArray) for first in assumption.firsts]
    return [
        known[number] if number < len(known) and known[number] != NO_ARRAY else number
        for number in range(len(graph.inputs))
    ]


# -------------------------------------------------------------------------------------------- disjoint memory
# Assumption that arrays which are written to share no memory with other arguments.

# Limit of combinations of steps that are tried. The stubs of NumPy know only two special values.
_MOST_WORK: Any = 10_000


def overlap(arrays: Sequence[Any], written: Sequence[int]) -> bool:
    """Return True if a written NumPy array or tensor may overlap another one in ``arrays``, or itself.

    written: indices in ``arrays``.
    """
    # Arrays that own contiguous memory, each passed once, cannot overlap. This is the common case.
    if all(map(_is_apart, arrays)) and len(set(map(id, arrays))) == len(arrays):
        return False
    for unwrapped in trait("unwrapping"):
        arrays = [unwrapped(array) for array in arrays]
    ranges = [_address_range(array) for array in arrays]
    return any(map(may_overlap_itself, (arrays[index] for index in written))) or any(
        a[0] < b[1] and b[0] < a[1] and may_share_memory(arrays[index], arrays[other])
        for index in written
        if (a := ranges[index])
        for other, b in enumerate(ranges)
        if other != index and b
    )


def _is_apart(array: Any) -> bool:
    return type(array) is np.ndarray and (flags := array.flags).owndata and flags.forc


def may_share_memory(one: Any, other: Any) -> bool:
    """Return True if elements of two NumPy arrays or tensors may share memory.

    >>> import numpy as np
    >>> x = np.zeros((3, 4))
    >>> may_share_memory(x[:, ::2], x[:, 1::2]), may_share_memory(x[1:], x[:2])
    (False, True)
    """
    try:
        return np.shares_memory(
            np.asarray(_MemoryLayout(one)), np.asarray(_MemoryLayout(other)), max_work=_MOST_WORK
        )
    except np.exceptions.TooHardError:
        return True


class _MemoryLayout:
    """Adapter through which NumPy can compare the memory of NumPy arrays and tensors."""

    def __init__(self, array: Any) -> None:
        given = getattr(array, "__array_interface__", None) if hasattr(array, "strides") else None
        size = array.itemsize if given else array.element_size()
        steps = array.strides if given else tuple(step * size for step in array.stride())
        start = given["data"][0] if given else array.data_ptr()
        self.__array_interface__ = {
            "version": 3,
            # NumPy refuses the address 0, where tensors on the device meta begin.
            "data": (start + 1, True),
            "shape": tuple(array.shape),
            "strides": steps,
            # Only the number of bytes matters, and NumPy lacks some dtypes, such as bfloat16.
            "typestr": f"|V{size}",
        }


def may_overlap_itself(array: Any) -> bool:
    """Return True if two elements of ``array`` may share memory, as in expanded arrays and sliding windows.

    >>> import numpy as np
    >>> halves = np.lib.stride_tricks.as_strided(np.zeros(4), (3,), (4,))
    >>> may_overlap_itself(halves), may_overlap_itself(np.zeros((4, 3)).T[::2])
    (True, False)
    """
    in_bytes = getattr(array, "strides", None)
    strides = in_bytes or (array.stride() if hasattr(array, "stride") else ())
    # An element of a tensor is a single step long.
    reach = array.itemsize - 1 if in_bytes else 0
    for step, size in sorted((abs(step), size) for step, size in zip(strides, array.shape) if size != 1):
        if step <= reach:
            return 0 not in array.shape
        reach += step * (size - 1)
    return False


def _address_range(array: Any) -> tuple[int, int] | None:
    """Return the byte addresses ``(start, end)`` of an array's elements, or None if none are known."""
    if hasattr(array, "data_ptr"):
        size = array.element_size()
        start, steps = array.data_ptr(), [step * size for step in array.stride()]
        has_address = start != array.storage_offset() * size
    elif hasattr(array, "strides") and hasattr(array, "__array_interface__"):
        start, steps, size = array.__array_interface__["data"][0], array.strides, array.itemsize
        has_address = True
    else:
        return None
    if 0 in array.shape or not has_address:
        return None
    # The address is that of the first element, and elements with a negative stride lie before it.
    reach = [(length - 1) * step for length, step in zip(array.shape, steps)]
    return start + sum(min(0, step) for step in reach), start + sum(max(0, step) for step in reach) + size


@dataclass(frozen=True, slots=True)
class DisjointMemory:
    """Assumption that no written array shares memory with another of ``arrays``, or within itself.

    arrays: indices of inputs.
    written: those of ``arrays`` that are written to.
    """

    kind: ClassVar[str] = "disjoint_memory"
    arrays: tuple[int, ...]
    written: tuple[int, ...]

    def _written(self) -> list[int]:
        return [self.arrays.index(number) for number in self.written]

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(overlap=overlap)
        return [
            names.require(f"not overlap([{', '.join(map(names.given, self.arrays))}], {self._written()})")
        ]

    def why_broken(self, call: MismatchedCall) -> str | None:
        if max(self.arrays) < len(call.leaves) and overlap(
            [call.leaves[number] for number in self.arrays], self._written()
        ):
            return (
                "an array that is written to shares memory with another one, or its elements with each other"
            )
        return None

    def mapped(self, replaced: Substitution) -> DisjointMemory:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return [list(self.arrays), list(self.written)]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> DisjointMemory:
        arrays, written = row(data, 2)
        if type(arrays) is not list or type(written) is not list or not written:
            raise InvalidFile("disjoint_memory names no inputs")
        arrays = tuple(input_number(number, read) for number in arrays)
        if any(type(number) is not int or number not in arrays for number in written):
            raise InvalidFile("disjoint_memory names an array that is written to and none of the arrays")
        return cls(arrays, tuple(written))


# ----------------------------------------------------------------------------------------------- index bounds
# Assumption about the bounds of index arrays, checked if their elements are available on the host.

_UNSIGNED = {np.dtype(f"int{bits}"): np.dtype(f"uint{bits}") for bits in (32, 64)}
# As unsigned 32-bit numbers, negative indices are at least this large, so a bound must not exceed it.
_LARGEST = 2**31


@dataclass(frozen=True, slots=True)
class IndexBounds:
    """Assumption that the elements of an input lie in ``[low, high)``, or equal ``besides``.

    It is not checked if the elements are not available on the host.

    number: index of the input.
    low, high: ints or sizes of inputs.
    besides: another permitted element; None if there is none.
    """

    kind: ClassVar[str] = "index_bounds"
    number: int
    low: Any
    high: Any
    besides: int | None = None

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(lies_within=lies_within)
        texts = [
            item.text(names.size) if isinstance(item, Size) else repr(item)
            for item in (self.low, self.high, self.besides)
        ]
        return [
            names.require(
                f"(elements := {names.on_host(self.number)}) is None or lies_within(elements, "
                f"{', '.join(texts)})"
            )
        ]

    def why_broken(self, call: MismatchedCall) -> str | None:
        low, high = (
            substitute(item, call.size) if isinstance(item, Size) else item for item in (self.low, self.high)
        )
        elements = call.on_host(self.number)
        if elements is None or lies_within(elements, low, high, self.besides):
            return None
        return f"the indices {call.inputs[self.number].name} do not lie in [{low}, {high})"

    def mapped(self, replaced: Substitution) -> IndexBounds:
        return dataclasses.replace(self, low=replaced(self.low), high=replaced(self.high))

    def to_json(self, write: JsonWriter) -> Any:
        return [self.number, write.item(self.low), write.item(self.high), self.besides]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> IndexBounds:
        number, low, high, besides = row(data, 4)
        low, high = read.item(low), read.item(high)
        if not all(type(item) is int or isinstance(item, Size) for item in (low, high)) or type(
            besides
        ) not in (int, type(None)):
            raise InvalidFile("bounds of indices are no sizes")
        symbols = [symbol for item in (low, high) if isinstance(item, Size) for symbol in item.symbols()]
        if not all(symbol.source in read.inputs and symbol.kind == "size" for symbol in symbols):
            raise InvalidFile("bounds of indices are those of no inputs")
        return cls(input_number(number, read), low, high, besides)


def lies_within(elements: Any, low: int, high: int, besides: int | None = None) -> bool:
    """Return True if all elements of a NumPy array lie in ``[low, high)`` or equal ``besides``.

    >>> import numpy
    >>> inside, outside = numpy.array([0, 3]), numpy.array([-1, 3])
    >>> lies_within(inside, 0, 4), lies_within(outside, 0, 4), lies_within(outside, 0, 4, besides=-1)
    (True, False, True)
    """
    if besides is not None:
        elements = elements[elements != besides]
    if elements.size == 0:
        return True
    unsigned = _UNSIGNED.get(elements.dtype)
    # Every call of a small model waits for this. As unsigned numbers, negative ones are the largest, so one
    # search is enough, and ``argmax`` costs a fraction of the ``ufunc`` that ``max`` calls.
    if unsigned is not None and low == 0 <= high <= _LARGEST:
        numbers = elements.view(unsigned)
        return bool(numbers.item(numbers.argmax()) < high)
    smallest, largest = elements.item(elements.argmin()), elements.item(elements.argmax())
    return bool(smallest >= low and largest < high)


# -------------------------------------------------------------------------------------------- input attribute
# Assumption about attributes that the user's code has set on arrays.


@dataclass(frozen=True, slots=True)
class InputAttribute:
    """Assumption about an attribute that the user may have set on an array.

    number: index of the input.
    name: name of the attribute.
    recorded_repr: ``repr`` of the attribute; None if it must not exist.
    """

    kind: ClassVar[str] = "input_attribute"
    number: int
    name: str
    recorded_repr: str | None

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(attribute_of=attribute_of)
        return [
            names.require(
                f"attribute_of({names.given(self.number)}, {self.name!r}) == {self.recorded_repr!r}"
            )
        ]

    def why_broken(self, call: MismatchedCall) -> str | None:
        if (
            self.number >= len(call.leaves)
            or (now := attribute_of(call.leaves[self.number], self.name)) == self.recorded_repr
        ):
            return None
        return (
            f"{call.inputs[self.number].name} has {now or 'no'} .{self.name} and was recorded with "
            f"{self.recorded_repr or 'none'}"
        )

    def mapped(self, replaced: Substitution) -> InputAttribute:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return [self.number, self.name, self.recorded_repr]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> InputAttribute:
        number, name, recorded_repr = row(data, 3)
        if type(name) is not str or type(recorded_repr) not in (str, type(None)):
            raise InvalidFile("input_attribute has no name of an attribute")
        return cls(input_number(number, read), name, recorded_repr)


def attribute_of(array: Any, name: str) -> str | None:
    """Return the ``repr`` of an attribute in an array's ``__dict__``, or None if there is no such attribute.

    >>> class Array:
    ...     pass
    >>> array = Array()
    >>> array.scale = 2
    >>> attribute_of(array, "scale"), attribute_of(array, "shift")
    ('2', None)
    """
    held: dict[str, Any] = getattr(array, "__dict__", {})
    return repr(held[name]) if name in held else None


# ------------------------------------------------------------------------------------------------- input fact
# Assumption about properties of arrays such as `requires_grad` or stride order.

Fact = Union[bool, str, tuple[float, ...]]

# Name of a device or a class.
_NAME = re.compile(r"[\w.<>]*(:[\w.<>]+)?")

# Facts of memory, which arrays of several frameworks have, with the end of a message about an array that
# differs from the recording. All other facts belong to a framework (``Traits.facts``).
_WORDS = {
    "layout": "lies in memory in another order than while recording, by which the function decided",
    "packing": "lies in memory in another order, or with other gaps, than while recording",
}


@dataclass(frozen=True, slots=True)
class InputFact:
    """Assumption about one property of inputs.

    fact: name of the property (see :func:`fact_of`).
    expected: its value for inputs from the first on.
    """

    kind: ClassVar[str] = "input_fact"
    fact: str
    expected: tuple[Fact, ...]

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(**{f"{self.fact}_of": _reader(self.fact)})
        return [
            names.require(
                f"{self.fact}_of({names.given(number)}) {'is' if isinstance(wanted, bool) else '=='} "
                f"{wanted!r}"
            )
            for number, wanted in enumerate(self.expected)
        ]

    def why_broken(self, call: MismatchedCall) -> str | None:
        for value, leaf, wanted in zip(call.inputs, call.leaves, self.expected):
            if fact_of(leaf, self.fact) != wanted:
                return f"{value.name} {_WORDS.get(self.fact) or trait('facts')[self.fact].words}"
        return None

    @property
    def is_of_source(self) -> bool:
        return self.fact not in _WORDS and trait("facts")[self.fact].is_of_source

    def mapped(self, replaced: Substitution) -> InputFact:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return [
            self.fact,
            [list(wanted) if isinstance(wanted, tuple) else wanted for wanted in self.expected],
        ]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> InputFact:
        fact, expected = row(data, 2)
        if (
            type(fact) is not str
            or fact not in {*_WORDS, *trait("facts")}
            or type(expected) is not list
            or len(expected) > len(read.inputs)
        ):
            raise InvalidFile(f"{fact!r:.80} is no fact of inputs")
        return cls(fact, tuple(map(_read_fact, expected)))


def _read_fact(item: Any) -> Fact:
    if type(item) is bool or type(item) is str and _NAME.fullmatch(item):
        return item
    if type(item) is not list or not all(
        type(number) is int or type(number) is float and math.isfinite(number) for number in item
    ):
        raise InvalidFile(f"{item!r:.80} is no fact of an input")
    return tuple(item)


def assume_fact(graph: Graph, fact: str, expected: Sequence[Fact]) -> None:
    """Assume values of a property for the first inputs, unless as many are assumed already."""
    known = next((one for one in graph.assumed(InputFact) if one.fact == fact), None)
    if known is None:
        graph.assume(InputFact(fact, tuple(expected)))
    elif len(expected) > len(known.expected):
        wider = InputFact(fact, tuple(expected))
        graph.assumptions = tuple(wider if one is known else one for one in graph.assumptions)


def fact_of(array: Any, fact: str) -> Fact:
    """Return a property of an array: ``"packing"``, ``"layout"``, or one of ``Traits.facts``."""
    return _reader(fact)(array)


def _reader(fact: str) -> Callable[[Any], Fact]:
    own: dict[str, Callable[[Any], Fact]] = {"layout": _layout, "packing": _packing}
    found: Callable[[Any], Fact] = own[fact] if fact in own else trait("facts")[fact].read
    return found


def _is_contiguous(array: Any) -> bool:
    if hasattr(array, "flags"):
        return bool(array.flags.c_contiguous)
    return bool(array.is_contiguous()) if hasattr(array, "is_contiguous") else True


def _layout(array: Any) -> Fact:
    """Return the memory layout of an array as a comparable value, True if it is C-contiguous.

    >>> import numpy as np
    >>> x = np.zeros((2, 3, 4))
    >>> _layout(x), _layout(x.transpose(0, 2, 1)), _layout(x[..., ::2])
    (True, (0, 2, 1), (0, 1, 2, 12, 4, 2))
    >>> _layout(np.zeros(4, dtype="f8, i4")["f0"])
    (0, 1.5)
    """
    packing = _packing(array)
    if packing is True:
        return True
    steps, order = _steps(array), packing[: len(packing) // 2]
    return order if all(packing[len(order) :]) else (*order, *steps)


def _packing(array: Any) -> Literal[True] | tuple[int, ...]:
    """Return the memory order of an array as a comparable value without strides, True if C-contiguous.

    >>> import numpy as np
    >>> x = np.zeros((2, 3, 4))
    >>> _packing(x), _packing(x.transpose(0, 2, 1)), _packing(x[..., ::2]), _packing(x[:, :2])
    (True, (0, 2, 1, 1, 1, 1), (0, 1, 2, 1, 1, 0), (0, 1, 2, 0, 1, 1))
    >>> _packing(x[::-1]), _packing(x[::-1, ::-1, ::-1])
    ((0, 1, 2, 0, 1, 1), (0, 1, 2, 1, 1, 0))
    """
    if _is_contiguous(array):
        return True
    steps = _steps(array)
    order = sorted(
        (axis for axis, size in enumerate(array.shape) if size != 1), key=lambda axis: -abs(steps[axis])
    )
    reach = [*(steps[axis] * array.shape[axis] for axis in order[1:]), 1]
    return (*order, *(int(steps[axis] == least) for axis, least in zip(order, reach, strict=True)))


def _steps(array: Any) -> tuple[float, ...]:
    if hasattr(array, "stride"):
        return tuple(array.stride())
    # The strides of a field of a structured array need not be multiples of the item size.
    return tuple(
        step / array.itemsize if step % array.itemsize else step // array.itemsize for step in array.strides
    )


# ---------------------------------------------------------------------------------------------- keyword order
# Assumption about the order of keyword arguments.


@dataclass(frozen=True, slots=True)
class KeywordOrder:
    """Assumption that the keywords in ``**kwargs`` of the original come in the order ``keywords``."""

    kind: ClassVar[str] = "keyword_order"
    keywords: tuple[str, ...]

    def lines(self, names: MatcherNames) -> list[str]:
        return [
            names.require(
                f"[name for name in kwargs if name in {self.keywords!r}] == {list(self.keywords)!r}"
            )
        ]

    def why_broken(self, call: MismatchedCall) -> str | None:
        now = [name for name in call.kwargs if name in self.keywords]
        if now == list(self.keywords):
            return None
        return (
            f"the keywords come in the order {', '.join(now)} and were recorded as "
            f"{', '.join(self.keywords)}, which **kwargs of the function shows"
        )

    def mapped(self, replaced: Substitution) -> KeywordOrder:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return list(self.keywords)

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> KeywordOrder:
        if type(data) is not list or not all(type(name) is str for name in data):
            raise InvalidFile("keyword_order has no names")
        return cls(tuple(data))


# --------------------------------------------------------------------------------------------- table of kinds
# The order is that in which a call is checked.
_ORDER: tuple[type[Assumption], ...] = (
    KeywordOrder,
    Guard,
    IndexBounds,
    SameArray,
    InputFact,
    InputAttribute,
    DisjointMemory,
)
KINDS: dict[str, type[Assumption]] = {kind.kind: kind for kind in _ORDER}


def in_order(graph: Graph) -> list[Assumption]:
    return sorted(graph.all_assumptions(), key=_rank)


def _rank(assumption: Assumption) -> int:
    kind = type(assumption)
    if kind not in _ORDER:
        raise InvalidGraph(
            f"{kind.__name__} is not in the table of assumptions: add it to _ORDER in "
            "graph_compiler/assumptions.py, in the place where it should be checked"
        )
    return _ORDER.index(kind)
