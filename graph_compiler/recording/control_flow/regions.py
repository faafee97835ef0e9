"""Interface of a frontend for recording Python statements as regions of operations."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from ...errors import TracingError
from ...ir.node import Value
from ...sizes import Size

Arrays = Sequence[Any]
# Function from the arrays that a block receives to those that it returns.
Block = Callable[..., Arrays]


@dataclass(frozen=True)
class ArrayKind:
    """Dtype and shape of an array or number.

    dtype: dtype of the array, or of the array that a Python number becomes.
    shape: the sizes while recording; -1 for an unknown size.
    number: True for a Python number or a weakly typed array.
    name: the variable that holds it; empty if it is not known.
    is_shared: True for a loop carry whose initial array may have other references.
    """

    dtype: str
    shape: tuple[int, ...]
    number: bool = False
    name: str = field(default="", compare=False)
    is_shared: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"a number ({self.dtype})" if self.number else f"{self.dtype}{list(self.shape)}"


# Arrays with their kinds. The kind None marks an array of which a block receives one row.
Inputs = Sequence[tuple[Any, ArrayKind | None]]


class RowsWritten(TracingError):
    """Error for a loop that writes to the array whose rows it iterates over; rows must be read by index."""


class Regions(ABC):
    """Open recording of a frontend that can record functions as the regions of an operation.

    symbolic(size): the symbolic number of a size for the user's code.
    decided(size): the number that a size has in this recording; a guard on it is added.
    numbers: values of inputs that are Python numbers.
    module: the framework's namespace.
    arrays: classes of arrays.
    may_expect: True if ``expect`` works inside blocks.
    lists_grow: True if iterations of a ``scan`` may append to lists.
    takes_lists: True if the framework's functions of arrays accept lists.
    escaped: description of the loop that an exception of the user has left; empty if there is none.
    lists: lists that loops append to, by id.
    """

    module: ModuleType
    arrays: tuple[type, ...]
    may_expect = False
    lists_grow = True
    takes_lists = False

    def __init__(
        self, symbolic: Callable[[Any], Any], decided: Callable[[Any], Any], numbers: Container[Value] = ()
    ) -> None:
        self.symbolic, self.decided, self.numbers, self.depth = symbolic, decided, numbers, 0
        self.escaped = ""
        self.lists: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def loops(self) -> Any:
        return None

    # ------------------------------------------------------------------------------ arrays and sizes
    @abstractmethod
    def is_open(self, item: Any) -> bool:
        """Return True if ``item`` is an array of the recording whose elements may differ between calls.

        A number that an open block has read from an array may count, too.
        """

    def is_array(self, item: Any) -> bool:
        return isinstance(item, self.arrays)

    @abstractmethod
    def kind(self, item: Any) -> ArrayKind:
        """Return dtype and current shape of an array, or of the array that a Python number becomes."""

    @property
    def is_inside(self) -> bool:
        return self.depth > 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def is_size(self, length: Any) -> bool:
        # Such a length is known before the graph runs. One that depends on elements of arrays is not.
        is_known = isinstance(length, Size) and all(
            item.kind == "size" or item.source in self.numbers for item in length.symbols()
        )
        return is_known or type(length) is int

    def number_of(self, length: Any) -> Any:
        return self.symbolic(length) if isinstance(length, Size) else length

    # ------------------------------------------------------------------------------ elementary operations
    @abstractmethod
    def converted(self, item: Any, kind: ArrayKind) -> Any:
        """Return the number or array ``item`` as an array with the dtype of ``kind``."""

    def returned(self, array: Any) -> Any:
        return array

    def given_back(self, result: Any) -> Any:
        return result

    def blank(self, kind: ArrayKind, arrays: Sequence[Any]) -> Any:
        """Return zeros of ``kind``, or None if it has axes and no array in ``arrays`` has this kind."""
        if not kind.shape:
            return self.converted(0, kind)
        like = next((array for array in arrays if self.kind(array) == kind), None)
        return None if like is None else self.converted(self.module.zeros_like(like), kind)

    @abstractmethod
    def truth(self, item: Any) -> Any:
        """Return the truth value of an array with one element, as an array."""

    def both(self, one: Any, other: Any) -> Any:
        return self.module.logical_and(one, other)

    def negated(self, item: Any) -> Any:
        return self.module.logical_not(item)

    @abstractmethod
    def where(self, truth: Any, one: Any, other: Any) -> Any:
        """Return ``one if truth else other`` for arrays and numbers."""

    def length(self, array: Any) -> Any:
        return array.shape[0]

    # ------------------------------------------------------------------------------ rows of grown lists
    def may_write(self, kind: ArrayKind) -> bool:
        return False

    def needs_a_row(self, kinds: Sequence[ArrayKind]) -> bool:
        return False

    def element(self, row: Any, kind: ArrayKind) -> Any:
        return self.converted(row, kind)

    def as_row(self, array: Any) -> Any:
        return array[None]

    def sliced(self, array: Any, rows: slice) -> Any:
        return array[rows]

    def concatenated(self, arrays: Sequence[Any]) -> Any:
        return self.module.concatenate(arrays)

    def collects(self, name: str, kind: ArrayKind) -> bool:
        return True

    def cast(self, array: Any, dtype: Any) -> Any:
        return array if dtype is None else array.astype(dtype)

    def owned(self, array: Any) -> Any:
        """Return ``array``, or a copy of it if writes to another array could change it."""
        return array

    def joined_on_axis_1(self, arrays: Sequence[Any]) -> Any:
        return self.module.concatenate(arrays, 1)

    def merged(self, array: Any) -> Any:
        return array.reshape((array.shape[0] * array.shape[1], *array.shape[2:]))

    def no_rows(self, kind: ArrayKind) -> Any:
        return self.module.zeros((0, *kind.shape), dtype=kind.dtype)

    @abstractmethod
    def collective(self, name: str, x: Any, **params: Any) -> Any:
        """Return the result of a collective operation or ``sharding_hint``.

        name: ``sharding_hint``, or a name in ``ops.collectives.COLLECTIVES``.
        x: an array, a number or None.
        """

    # ------------------------------------------------------------------------------ conditions
    def decide(self, truth: Any) -> bool:
        return bool(truth)

    def decide_size(self, condition: Any) -> bool:
        return bool(self.decided(condition) if isinstance(condition, Size) else condition)

    @abstractmethod
    def expect(self, truth: Any) -> None:
        """Add a guard that ``truth`` is True. Inside a block, add a check that runs with the block.

        A frontend may raise ``AssertionError`` if ``truth`` is False while recording. A frontend without
        checks raises ``TracingError`` inside a block.
        """

    # ------------------------------------------------------------------------------ blocks
    @abstractmethod
    def trial(self, function: Block, given: Inputs) -> None:
        """Call ``function`` on arrays like those in ``given``, and drop the calls that it records.

        Guards on sizes from outside the block stay.
        """

    @abstractmethod
    def branch(self, truth: Any, then: Block, otherwise: Block, names: Sequence[str]) -> Arrays:
        """Add the node that runs ``then`` or ``otherwise``, and return its results.

        Both functions return arrays of the same kinds. ``names`` are names for the values of the results.
        """

    @abstractmethod
    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[ArrayKind]) -> Arrays:
        """Add the node that runs ``body(*carried)`` while ``test(*carried)[0]``; return the last carry."""

    @abstractmethod
    def scan(
        self,
        body: Block,
        carried: Arrays,
        kinds: Sequence[ArrayKind],
        rows: Arrays,
        length: Any,
        checkpoint: bool,
    ) -> Arrays:
        """Add the node that runs ``body(*carried, *row of each array in rows)`` ``length`` times.

        Return the last carry, and the further results of the body, stacked with one row per iteration.
        ``length`` is an int or a size. ``checkpoint`` asks the backward pass to recompute iterations.
        """


class ListGrowth(threading.local):
    """Permission for the loops that this thread records to append to lists.

    may_grow: True until ``give_up`` is called after a loop has used lists that grow.
    did_grow: True if a loop has asked by ``wanted`` and was allowed, since the last ``give_up``.
    """

    may_grow, did_grow = True, False

    def wanted(self) -> bool:
        self.did_grow = self.may_grow
        return self.may_grow

    def give_up(self) -> bool:
        was_used, self.may_grow, self.did_grow = self.did_grow, self.may_grow and not self.did_grow, False
        return was_used


lists = ListGrowth()


class _OpenRegions(threading.local):
    regions: Regions | None = None
    behind: Regions | None = None


_open = _OpenRegions()


def regions() -> Regions | None:
    return _open.regions


def regions_of(item: Any) -> Regions | None:
    found = regions()
    return found if found is not None and found.is_open(item) else None


def suspended_regions() -> Regions | None:
    return _open.behind


@contextmanager
def unrecorded_in(found: Regions) -> Iterator[None]:
    """Run traced statements inside the ``with`` block as plain Python during the recording ``found``.

    After the block, the parts of lists that loops append to are restored.
    """
    before, lists = _open.behind, [(each, [*each.parts]) for each in found.lists.values()]
    _open.behind = found
    try:
        with open_regions(None):
            yield
    finally:
        _open.behind = before
        for each, parts in lists:
            each.parts[:] = parts


@contextmanager
def open_regions(found: Regions | None) -> Iterator[None]:
    """Let ``found`` record traced statements on values inside the ``with`` block; None records nothing.

    Raise ``TracingError`` at the end if an exception of the user left a recorded loop and was caught.
    """
    before, _open.regions = _open.regions, found
    try:
        yield
        if found is not None and found.escaped:
            raise TracingError(
                f"{found.escaped}, and is caught: what the steps before it have done cannot be recorded for "
                "all values. Leave the loop by break or return"
            )
    finally:
        _open.regions = before
