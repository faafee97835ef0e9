"""What a frontend provides so that Python's own statements are recorded: blocks of a running recording."""

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
Block = Callable[..., Arrays]  # of the arrays that a block is given, those that it gives


@dataclass(frozen=True)
class Kind:
    """What an array is: ``number`` where it is a number of Python's in the user's code."""

    dtype: str
    shape: tuple[int, ...]
    number: bool = False
    name: str = field(default="", compare=False)  # of the variable that holds it
    is_shared: bool = field(
        default=False, compare=False
    )  # whether something else may hold the very array, before a loop

    def __str__(self) -> str:
        return f"a number ({self.dtype})" if self.number else f"{self.dtype}{list(self.shape)}"


Inputs = Sequence[tuple[Any, Kind | None]]  # arrays, and with None arrays of which a block is given one row


class RowsWritten(TracingError):
    """Steps write to an array whose rows they go through: the row of a step has to be looked up in it."""


class Regions(ABC):
    """One open recording: how its framework records functions as the blocks of an operation.

    Functions are called once or several times, on arrays that stand for any; what they read beside these they
    find where they were defined. ``symbolic`` gives a size as the user's code may hold it, ``decided`` the
    number that a size is now, as a guard; ``numbers`` are the inputs that are numbers of Python's.
    """

    module: ModuleType  # of the framework, which has logical_and and logical_not
    arrays: tuple[type, ...]  # the classes of arrays
    may_expect = False  # inside of a block
    lists_grow = True  # in the steps of a scan
    takes_lists = False  # functions that take an array take a list as well

    def __init__(
        self, symbolic: Callable[[Any], Any], decided: Callable[[Any], Any], numbers: Container[Value] = ()
    ) -> None:
        self.symbolic, self.decided, self.numbers, self.depth = symbolic, decided, numbers, 0
        self.escaped = ""  # where an exception of the user's has left a loop, in words
        self.lists: WeakValueDictionary[int, Any] = (
            WeakValueDictionary()
        )  # those that loops make longer, by identity

    def loops(self) -> Any:
        return None

    # ------------------------------------------------------------------------------ what things are
    @abstractmethod
    def is_open(self, item: Any) -> bool:
        """Whether this is an array of the recording whose elements may differ between calls."""

    def is_array(self, item: Any) -> bool:
        return isinstance(item, self.arrays)

    @abstractmethod
    def kind(self, item: Any) -> Kind:
        """Dtype and shape (as it is now) of an array, or of a number of Python's as it is in an array."""

    @property
    def is_inside(self) -> bool:
        return self.depth > 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Inside of the block the framework records a block."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def is_size(self, length: Any) -> bool:
        """Whether a length is a number, or made of sizes of arrays and arguments: known before the graph
        runs.
        """
        is_known = isinstance(length, Size) and all(
            item.kind == "size" or item.source in self.numbers for item in length.symbols()
        )
        return is_known or type(length) is int

    def number_of(self, length: Any) -> Any:
        return self.symbolic(length) if isinstance(length, Size) else length

    # ------------------------------------------------------------------------------ small calls
    @abstractmethod
    def made(self, item: Any, kind: Kind) -> Any:
        """A number, or an array, as an array of this kind."""

    def returned(self, array: Any) -> Any:
        return array

    def given_back(self, result: Any) -> Any:
        return result

    def blank(self, kind: Kind, arrays: Sequence[Any]) -> Any:
        """Zeros of this kind, shaped as one of ``arrays`` is; None where none of them is of this kind."""
        if not kind.shape:
            return self.made(0, kind)
        like = next((array for array in arrays if self.kind(array) == kind), None)
        return None if like is None else self.made(self.module.zeros_like(like), kind)

    @abstractmethod
    def truth(self, item: Any) -> Any:
        """The truth value of an array with one element, as an array."""

    def both(self, one: Any, other: Any) -> Any:
        return self.module.logical_and(one, other)

    def negated(self, item: Any) -> Any:
        return self.module.logical_not(item)

    @abstractmethod
    def where(self, truth: Any, one: Any, other: Any) -> Any:
        """``one if truth else other`` of arrays and numbers."""

    def length(self, array: Any) -> Any:
        return array.shape[0]

    # ------------------------------------------------------------------ rows, of lists that loops make longer
    def may_write(self, kind: Kind) -> bool:
        return False

    def needs_a_row(self, kinds: Sequence[Kind]) -> bool:
        return False

    def element(self, row: Any, kind: Kind) -> Any:
        return self.made(row, kind)

    def as_row(self, array: Any) -> Any:
        return array[None]

    def sliced(self, array: Any, rows: slice) -> Any:
        return array[rows]

    def concatenated(self, arrays: Sequence[Any]) -> Any:
        return self.module.concatenate(arrays)

    def collects(self, name: str, kind: Kind) -> bool:
        return True

    def cast(self, array: Any, dtype: Any) -> Any:
        return array if dtype is None else array.astype(dtype)

    def own(self, array: Any) -> Any:
        return array

    def beside(self, arrays: Sequence[Any]) -> Any:
        return self.module.concatenate(arrays, 1)

    def merged(self, array: Any) -> Any:
        return array.reshape((array.shape[0] * array.shape[1], *array.shape[2:]))

    def no_rows(self, kind: Kind) -> Any:
        return self.module.zeros((0, *kind.shape), dtype=kind.dtype)

    @abstractmethod
    def collective(self, name: str, x: Any, **params: Any) -> Any:
        """What devices exchange (one of ``ops.collectives.COLLECTIVES``), or ``sharding_hint``, as a call of
        the recording: the axis is there when the graph runs over it. ``x`` is an array or a number; None for
        what takes none.
        """

    # ------------------------------------------------------------------------------ conditions
    def decide(self, truth: Any) -> bool:
        return bool(truth)

    def decide_size(self, condition: Any) -> bool:
        return bool(self.decided(condition) if isinstance(condition, Size) else condition)

    @abstractmethod
    def expect(self, truth: Any) -> None:
        """The recording holds only where this is True; inside of a block as a check."""

    # ------------------------------------------------------------------------------ blocks
    @abstractmethod
    def trial(self, function: Block, given: Inputs) -> None:
        """Calls the function on arrays like those that are given; nothing of it stays in the recording."""

    @abstractmethod
    def branch(self, truth: Any, then: Block, otherwise: Block) -> Arrays:
        """The node that runs one of two functions without arguments, which give arrays of the same kinds."""

    @abstractmethod
    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[Kind]) -> Arrays:
        """The node that runs ``body(*carried)`` while ``test(*carried)`` gives one truth value that is True."""

    @abstractmethod
    def scan(
        self, body: Block, carried: Arrays, kinds: Sequence[Kind], rows: Arrays, length: Any, checkpoint: bool
    ) -> Arrays:
        """The node that runs ``body(*carried, *row of each array)`` a number of times that is a size. What
        the body gives behind what is carried has one row for each step in what the node gives.
        """


class Lists(threading.local):
    """Whether steps of loops may make lists longer in the recording that the thread has open, and whether
    some did: where an attempt fails in which some did, their loops are written out in the next one.
    """

    may_grow, did_grow = True, False

    def wanted(self) -> bool:
        self.did_grow = self.may_grow
        return self.may_grow

    def give_up(self) -> bool:
        was_used, self.may_grow, self.did_grow = self.did_grow, self.may_grow and not self.did_grow, False
        return was_used


lists = Lists()


class _Open(threading.local):
    regions: Regions | None = None
    behind: Regions | None = None


_open = _Open()


def regions() -> Regions | None:
    return _open.regions


def opened_by(item: Any) -> Regions | None:
    found = regions()
    return found if found is not None and found.is_open(item) else None


def behind() -> Regions | None:
    return _open.behind


@contextmanager
def unrecorded_in(found: Regions) -> Iterator[None]:
    """Inside of the block statements run as Python's, in a recording. Lists are afterwards what they were."""
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
    """Inside of the block statements on values are recorded there."""
    before, _open.regions = _open.regions, found
    try:
        yield
        if found is not None and found.escaped:
            raise TracingError(
                f"{found.escaped}, and is caught: what the steps before it have done cannot be recorded for all values. Leave the loop by "
                "break or return"
            )
    finally:
        _open.regions = before
