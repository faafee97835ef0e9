"""Recording of a loop as ``scan`` or ``while_loop`` (``LoopRecorder``), with its carry.

Variables that iterations change are carried as arrays with the same kinds before and after an iteration.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...errors import GraphCompilerError, TracingError
from ...forwarding import forward
from ...ops.rules import nonnegative
from ...sizes import Size, apply, expression_of, hint_of, is_symbolic
from .branches import Raised, Trials
from .jumps import PREFIX, value_name
from .lists import GrowingList, GrownList, StackedItems
from .regions import ArrayKind, Regions, lists
from .variables import (
    UNDEFINED,
    ContainerForm,
    ContentsDiffer,
    VariableContents,
    VariableLeaf,
    common_kind,
    describe_contents,
    flatten_containers,
)

_again: ContextVar[bool] = ContextVar("steps are computed again", default=False)


@contextmanager
def recomputing_iterations(checkpoint: bool) -> Iterator[None]:
    """Set the parameter ``checkpoint`` of torch's ``scan`` and ``map`` recorded in the ``with`` block."""
    before = _again.set(checkpoint)
    try:
        yield
    finally:
        _again.reset(before)


def is_recomputed() -> bool:
    return _again.get()


# ------------------------------------------------------------------------------------------------- loop items
# Iterables of loops whose iterations may be marked: ranges, rows of arrays, and what is made of them.


@dataclass(frozen=True)
class MarkedItems:
    """Iterable of a loop, as ``range(start, stop, step)`` and a function of its numbers.

    item(number): value of the loop variable for a number of the range.
    plain(): the iterable to use if the iterations cannot be marked.
    length: number of items, which may be negative if the range ends before it begins.
    """

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]
    plain: Callable[[], Any]

    @property
    def length(self) -> Any:
        if type(self.step) is int and abs(self.step) == 1:
            return self.stop - self.start if self.step == 1 else self.start - self.stop
        # This division rounds up, by operators that symbolic numbers have.
        return -((self.start - self.stop) // self.step)

    def at(self, place: Any) -> Any:
        return self.item(self.start + place * self.step)


def range_items(start: Any, stop: Any, step: Any) -> MarkedItems:
    return MarkedItems(start, stop, step, lambda number: number, lambda: range(start, stop, step))


def row_items(array: Any, length: Any) -> MarkedItems:
    return MarkedItems(0, length, 1, lambda number: array[number], lambda: array)


def enumerated_items(steps: MarkedItems, first: Any) -> MarkedItems:
    return MarkedItems(
        0,
        steps.length,
        1,
        lambda place: (place + first, steps.at(place)),
        lambda: enumerate(steps.plain(), first),
    )


def reversed_items(steps: MarkedItems) -> MarkedItems:
    length = steps.length
    return MarkedItems(
        0, length, 1, lambda place: steps.at(length - 1 - place), lambda: reversed(steps.plain())
    )


def zipped_items(parts: tuple[MarkedItems, ...]) -> MarkedItems:
    return MarkedItems(
        0,
        parts[0].length,
        1,
        lambda place: tuple(part.at(place) for part in parts),
        lambda: zip(*(part.plain() for part in parts)),
    )


# ---------------------------------------------------------------------------------------------------- sources
class Source(Protocol):
    """Iterable of a recorded loop."""

    def length(self) -> Any:
        """Return the number of items: an int, a size expression or an array. An array may be negative."""

    def arrays(self) -> Sequence[Any]:
        """Return the arrays whose rows make up the items."""

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        """Return the item at index ``place()``; ``rows`` are the rows of :meth:`arrays` at that index."""

    def steps(self, loops: Any) -> MarkedItems | None:
        """Return the items as a range and a function of its numbers; None if they have no such form.

        ``loops`` is the marker of the loops of the recording.
        """


@dataclass(frozen=True)
class RangeSource:
    start: Any
    stop: Any
    step: Any

    def length(self) -> Any:
        parts = (self.start, self.stop, self.step)
        if not all(type(item) is int or is_symbolic(item) for item in parts):
            # This division rounds up, by operators that arrays have.
            return -((self.start - self.stop) // self.step)
        start, stop, step = map(expression_of, parts)
        steps = -((start - stop) // step)
        if not isinstance(steps, Size):
            return max(steps, 0)
        return steps if nonnegative(steps) else apply("max", steps, 0)

    def arrays(self) -> Sequence[Any]:
        return ()

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        ahead = place() if type(self.step) is int and self.step == 1 else place() * self.step
        return ahead if type(self.start) is int and self.start == 0 else self.start + ahead

    def steps(self, loops: Any) -> MarkedItems | None:
        return range_items(self.start, self.stop, self.step)


@dataclass(frozen=True)
class RowsSource:
    regions: Regions
    array: Any

    def length(self) -> Any:
        return expression_of(self.regions.length(self.array))

    def arrays(self) -> Sequence[Any]:
        return (self.array,)

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        return rows[0]

    def steps(self, loops: Any) -> MarkedItems | None:
        found: MarkedItems | None = loops.steps_of(self.array)
        return found


@dataclass(frozen=True)
class StackedSource:
    regions: Regions
    grown: GrownList
    whole: StackedItems

    def length(self) -> Any:
        return self.whole.length

    def arrays(self) -> Sequence[Any]:
        return self.whole.arrays

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        return self.whole.item(self.regions, rows)

    def steps(self, loops: Any) -> MarkedItems | None:
        return None


@dataclass(frozen=True)
class EnumerateSource:
    source: Source
    start: Any = 0

    def length(self) -> Any:
        return self.source.length()

    def arrays(self) -> Sequence[Any]:
        return self.source.arrays()

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        return (
            place() if type(self.start) is int and self.start == 0 else place() + self.start
        ), self.source.item(place, rows)

    def steps(self, loops: Any) -> MarkedItems | None:
        steps = self.source.steps(loops)
        return None if steps is None else enumerated_items(steps, self.start)


@dataclass(frozen=True)
class ZipSource:
    sources: tuple[Source, ...]

    def length(self) -> Any:
        return self.sources[0].length()

    def arrays(self) -> Sequence[Any]:
        return [array for source in self.sources for array in source.arrays()]

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        left, found = list(rows), []
        for source in self.sources:
            count = len(source.arrays())
            found.append(source.item(place, left[:count]))
            left = left[count:]
        return tuple(found)

    def steps(self, loops: Any) -> MarkedItems | None:
        parts = [steps for source in self.sources if (steps := source.steps(loops)) is not None]
        return zipped_items(tuple(parts)) if len(parts) == len(self.sources) else None


def source_of(regions: Regions, item: Any) -> Source | None:
    """Return ``item`` as the iterable of a recorded loop, or None if it cannot be one."""
    if isinstance(item, (RangeSource, RowsSource, StackedSource, EnumerateSource, ZipSource)):
        return item
    if isinstance(item, GrownList):
        found = item.whole(is_kept=True)
        return None if found is None else StackedSource(regions, item, found)
    if type(item) is range:
        return RangeSource(item.start, item.stop, item.step)
    if regions.is_array(item) and regions.kind(item).shape:
        return RowsSource(regions, item)
    return None


def takes(make: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        _signature(make).bind(None, *args, **kwargs)
    except TypeError:
        return False
    return True


_signature = functools.cache(inspect.signature)


def _range(regions: Regions, *args: Any) -> Any:
    if not 1 <= len(args) <= 3:
        return None
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    is_known = all(type(item) is int for item in (start, stop, step))
    return RangeSource(start, stop, step) if not is_known and _is_step(regions, step) else None


def _is_step(regions: Regions, step: Any) -> bool:
    if regions.is_open(step):
        regions.expect(regions.truth(step != 0))
        return True
    return (
        type(step) is int
        and step != 0
        or is_symbolic(step)
        and regions.decide_size(apply("ne", expression_of(step), 0))
    )


def _enumerate(regions: Regions, iterable: Any, start: Any = 0) -> Any:
    # Python's ``enumerate`` refuses other numbers.
    source = source_of(regions, iterable) if hasattr(type(start), "__index__") else None
    return None if source is None else EnumerateSource(source, start)


def _zip(regions: Regions, *items: Any, strict: bool = False) -> Any:
    sources = [source_of(regions, item) for item in items]
    if not sources or any(source is None for source in sources):
        return None
    lengths = [source.length() for source in sources if source is not None]
    if not all(_is_same(regions, length, lengths[0]) for length in lengths):
        return None
    return ZipSource(tuple(filter(None, sources)))


def _is_same(regions: Regions, one: Any, other: Any) -> bool:
    if not all(isinstance(length, (int, Size)) for length in (one, other)):
        return False
    return bool(hint_of(one) == hint_of(other)) and regions.decide_size(apply("eq", one, other))


def _reversed(regions: Regions, items: Any, /) -> Any:
    if isinstance(items, GrownList):
        return source_of(regions, items[::-1])
    if isinstance(source := source_of(regions, items), RowsSource):
        array = source.array
        # torch has no slices with a negative step.
        return RowsSource(regions, array.flip(0) if hasattr(array, "flip") else array[::-1])
    if (
        not isinstance(items, RangeSource)
        or type(items.step) is not int
        or items.step not in (1, -1)
        or type(items.length()) is int
    ):
        return None
    return RangeSource(items.stop - items.step, items.start - items.step, -items.step)


_MADE: dict[Any, Callable[..., Any]] = {
    builtins.range: _range, builtins.enumerate: _enumerate, builtins.zip: _zip, builtins.reversed: _reversed,
}  # fmt: skip


def source_maker(regions: Regions, function: Any) -> Any:
    """Return a form of ``range``, ``enumerate``, ``zip`` or ``reversed`` that accepts arrays and sizes.

    Other functions are returned unchanged.
    """
    # A recording may have a shim under the name of the builtin.
    make = next(
        (
            made
            for known, made in _MADE.items()
            if function is known or getattr(function, "__wrapped__", None) is known
        ),
        None,
    )
    if make is None:
        return function

    def made(*args: Any, **kwargs: Any) -> Any:
        found = make(regions, *args, **kwargs) if takes(make, args, kwargs) else None
        if found is not None:
            return found
        plain = {name: plain_items(item) for name, item in kwargs.items()}
        return forward(function, *map(plain_items, args), **plain)

    return made


def plain_items(item: Any) -> Any:
    return (
        in_python(item)
        if isinstance(item, (RangeSource, RowsSource, StackedSource, EnumerateSource, ZipSource))
        else item
    )


def in_python(source: Any) -> Any:
    if isinstance(source, RangeSource):
        return range(source.start, source.stop, source.step)
    if isinstance(source, EnumerateSource):
        return enumerate(in_python(source.source), source.start)
    if isinstance(source, ZipSource):
        return zip(*map(in_python, source.sources))
    return source.grown.plain() if isinstance(source, StackedSource) else source.array


_MOST_TRIALS = 8
# A variable, and the index of one of its leaves.
CarryKey = tuple[str, int]


# ---------------------------------------------------------------------------------------------- loop recorder
@dataclass
class _Carried:
    """Leaf of a variable that is part of the carry.

    place: variable and index of the leaf.
    first: value of the leaf before the first iteration; zeros if the variable is first assigned in one.
    """

    place: CarryKey
    first: Any
    kind: ArrayKind


class LoopRecorder:
    """Recorder of one loop at ``place`` in the user's file.

    what: description of the loop for messages.
    goes_on(): the condition of the loop.
    guarded: variables that are read after the loop only if an iteration has assigned them.
    surely_runs: True if the loop has at least one iteration.
    before: values of the variables before the loop.
    values: form and initial leaves of each variable.
    carried: the carry, as found by trial iterations.
    growing: lists that iterations append to, by variable.
    is_counted: True if the loop index has been read.
    """

    def __init__(
        self,
        regions: Regions,
        place: str,
        what: str,
        functions: Sequence[types.FunctionType],
        goes_on: Callable[[], Any],
        guarded: Sequence[str],
        surely_runs: bool = False,
    ) -> None:
        self.regions, self.place, self.goes_on, self.guarded = regions, place, goes_on, guarded
        self.surely_runs = surely_runs
        self.trials = Trials(regions, place, what, functions)
        # A recording may hold a reference to the last array that was made, so make another one.
        regions.converted(0, ArrayKind("int64", ()))
        self.shared = self.trials.cells.shared()
        self.before = self.trials.cells.read()
        self.values: dict[str, tuple[ContainerForm, list[Any]]] = {
            name: flatten_containers(value) for name, value in self.before.items()
        }
        self.carried: dict[CarryKey, _Carried] = {}
        self.growing: dict[str, GrowingList] = {}
        self.is_counted = False

    def let_grow(self, outside: Container[int]) -> None:
        found = self.trials.cells.growing(outside)
        for name, before in found.items() if found and self.regions.lists_grow and lists.wanted() else ():
            self.trials.cells.add(name)
            self.growing[name] = grown = GrowingList(self.regions, name, before, self)
            self.before[name], self.values[name] = before, (ContainerForm(), [grown.inside])

    # ------------------------------------------------------------------------------ loop nodes
    def settle(
        self, step: Callable[..., None], rows: Sequence[Any] = (), probe: Callable[[], Any] | None = None
    ) -> None:
        """Find the carry, and what iterations append to lists, by trial iterations.

        ``step`` takes one row of each array in ``rows``; ``probe`` replaces ``goes_on``. Raise
        ``ContentsDiffer`` if the carry does not settle.
        """
        self.probe = probe or self.goes_on
        try:
            self._settle(step, rows)
        except Raised as raised:
            self._leave(raised.problem)
            raise raised.problem from None

    def settles(self, step: Callable[[], None]) -> bool:
        self.probe = self.goes_on
        try:
            self._settle(step, ())
        except (Raised, TracingError):
            return False
        return True

    def while_loop(self, step: Callable[[], None]) -> None:
        """Record iterations of ``step`` while ``goes_on`` returns True.

        Call :meth:`settle` or :meth:`settles` before. The variables are set to their values after the loop.
        """
        carried = list(self.carried.values())

        def test(*arrays: Any) -> Sequence[Any]:
            self._enter(carried, arrays)
            answer = self.goes_on()
            is_open = self.regions.is_array(answer) or self.regions.is_open(answer)
            return [self.regions.truth(answer) if is_open else self.regions.converted(bool(answer), _TRUTH)]

        def body(*arrays: Any) -> Sequence[Any]:
            self._enter(carried, arrays)
            step()
            return self._left(carried)

        kinds = [one.kind for one in carried]
        with self._put_back():
            self._give(carried, self.regions.while_loop(test, body, self._first(carried), kinds))

    def scan(self, step: Callable[..., None], rows: Sequence[Any], length: Any, checkpoint: bool) -> None:
        """Record ``length`` iterations, each with one row of each array in ``rows``.

        The variables are set to their values after the loop.
        """
        self.settle(step, rows)
        # No iteration reads the index, so the carry does not need it.
        if not self.is_counted:
            self.carried.pop((_COUNTER, 0), None)
        carried = list(self.carried.values())

        def body(*arrays: Any) -> Sequence[Any]:
            self._enter(carried, arrays)
            step(*arrays[len(carried) :])
            return [*self._left(carried), *(row for each in self.growing.values() for row in each.rows())]

        kinds = [one.kind for one in carried]
        with self._put_back():
            found = self.regions.scan(body, self._first(carried), kinds, rows, length, checkpoint)
        self._give(carried, found[: len(carried)])
        arrays = iter(found[len(carried) :])
        self.trials.cells.write(
            {name: each.after_loop(arrays, length) for name, each in self.growing.items()}
        )

    @property
    def done(self) -> Any:
        return self._at() - self.start

    def counter(self, start: int) -> Callable[[], Any]:
        self.start = start
        self.values[_COUNTER] = (ContainerForm(), [start])
        kind = replace(self.regions.kind(start), name=value_name(_COUNTER))
        self.carried[_COUNTER, 0] = _Carried((_COUNTER, 0), start, kind)
        return self._at

    def _at(self) -> Any:
        self.is_counted = True
        return self.current[_COUNTER][0]

    @contextmanager
    def _put_back(self) -> Iterator[None]:
        try:
            yield
        except BaseException as problem:
            self.trials.cells.write(self.before)
            self._leave(problem)
            raise

    def _leave(self, problem: BaseException) -> None:
        if not isinstance(problem, GraphCompilerError):
            self.regions.escaped = f"{self.place}: {type(problem).__name__} is raised out of a loop on values"

    # ------------------------------------------------------------------------------ values of variables
    def _enter(self, carried: Sequence[_Carried], arrays: Sequence[Any]) -> None:
        self.current = {name: list(leaves) for name, (_, leaves) in self.values.items()}
        for one, array in zip(carried, arrays):
            self.current[one.place[0]][one.place[1]] = array
        for each in self.growing.values():
            each.inside.parts.clear()
        self.trials.cells.write({
            name: form.rebuilt(iter(self.current[name]))
            for name, (form, _) in self.values.items()
            if name in self.trials.cells.cells
        })  # fmt: skip

    def _after(self) -> dict[str, Any]:
        found = self.trials.cells.read()
        if _COUNTER in self.values:
            found[_COUNTER] = self.current[_COUNTER][0] + 1
        found.update(
            {
                each.last_name: each.inside[-1]
                for each in self.growing.values()
                if each.last_name in self.values
            }
        )
        return found

    def _left(self, carried: Sequence[_Carried]) -> list[Any]:
        after = {name: flatten_containers(value)[1] for name, value in self._after().items()}
        return [self.regions.converted(after[one.place[0]][one.place[1]], one.kind) for one in carried]

    def _first(self, carried: Sequence[_Carried]) -> list[Any]:
        self.trials.cells.write(self.before)
        return [self.regions.converted(one.first, one.kind) for one in carried]

    def _give(self, carried: Sequence[_Carried], arrays: Sequence[Any]) -> None:
        self._enter(carried, arrays)
        kept = {
            name: value
            for name, value in self.before.items()
            if not any(one.place[0] == name for one in carried)
        }
        self.trials.cells.write(kept)

    # ------------------------------------------------------------------------------ carry
    def _settle(self, step: Callable[..., None], rows: Sequence[Any]) -> None:
        for _ in range(_MOST_TRIALS):
            changed: list[GrowingList] = []
            if not self._learn(self._tried(step, rows, changed)) and not changed:
                return
            for each in self.growing.values():
                each.carry_last()
        raise ContentsDiffer(
            f"{self.place}: the types of the variables of a loop change from step to step without end. Give "
            "them one type before"
        )

    def _tried(
        self, step: Callable[..., None], rows: Sequence[Any], changed: list[GrowingList]
    ) -> dict[str, tuple[VariableContents, Sequence[Any]]]:
        carried = list(self.carried.values())
        found: dict[str, tuple[VariableContents, Sequence[Any]]] = {}

        def run(*arrays: Any) -> tuple[()]:
            self._enter(carried, arrays)
            given = {name: list(leaves) for name, leaves in self.current.items()}
            self.probe()
            step(*arrays[len(carried) :])
            found.update(
                {
                    name: (describe_contents(self.regions, value), given.get(name, ()))
                    for name, value in self._after().items()
                }
            )
            changed.extend(each for each in self.growing.values() if each.update_plan())
            return ()

        given_first: list[Any] = [(one.first, one.kind) for one in carried]
        given_first += [(array, None) for array in rows]
        self.trials.run(run, given_first)
        return found

    def _learn(self, found: dict[str, tuple[VariableContents, Sequence[Any]]]) -> bool:
        more = False
        for name, (after, given) in found.items():
            if self._begins(name, after):
                self._begin(name, after)
                more = True
                continue
            form, _ = self.values[name]
            if form != after.form:
                raise self._changes(name, describe_contents(self.regions, self.before[name]), after)
            for index, (leaf, item) in enumerate(zip(after.leaves, given)):
                more |= self._learn_leaf((name, index), leaf, item, after)
        return more

    def _begins(self, name: str, after: VariableContents) -> bool:
        if name not in self.values:
            return True
        before = self.values[name][1]
        return len(before) == 1 and before[0] is UNDEFINED and not after.is_undefined

    def _begin(self, name: str, after: VariableContents) -> None:
        is_unread = self.surely_runs or name == f"{PREFIX}result" or name in self.guarded
        kinds = [leaf.kind for leaf in after.leaves if leaf.kind is not None]
        arrays = self.trials.cells.arrays(self.regions)
        blanks = [self.regions.blank(kind, arrays) for kind in kinds if is_unread]
        if len(blanks) < len(after.leaves) or any(blank is None for blank in blanks):
            raise ContentsDiffer(
                f"{self.place}: {_title(name)} is assigned inside of a loop only, which may take no step, "
                "and the code after it uses it. Give it a value of its shape and type before the loop"
            )
        self.values[name] = (after.form, blanks)
        for index, (kind, blank) in enumerate(zip(kinds, blanks)):
            self.carried[name, index] = _Carried((name, index), blank, kind)

    def _learn_leaf(self, place: CarryKey, leaf: VariableLeaf, given: Any, after: VariableContents) -> bool:
        known = self.carried.get(place)
        if (
            leaf.item is given
            or known is None
            and leaf.is_same(describe_contents(self.regions, given).leaves[0])
        ):
            return False
        first = self.values[place[0]][1][place[1]]
        before = describe_contents(self.regions, first).leaves[0]
        start = before.kind if known is None else known.kind
        kind = common_kind(VariableLeaf(before.item, start), leaf)
        is_number = before.kind is not None and before.kind.number
        # An array keeps its dtype; only a number takes that of the iteration.
        if kind is None or kind != start and not is_number:
            raise self._changes(
                place[0], describe_contents(self.regions, self.before.get(place[0], first)), after
            )
        self.carried[place] = _Carried(
            place,
            first,
            replace(
                kind,
                name=value_name(place[0]),
                is_shared=place in self.shared and self.regions.is_array(first),
            ),
        )
        return known is None or known.kind != kind

    def _changes(self, name: str, before: VariableContents, after: VariableContents) -> ContentsDiffer:
        return ContentsDiffer(
            f"{self.place}: {_title(name)} is {before} before a step of a loop and {after} after it. What "
            "goes from step to step keeps its shape and type: begin with an array of the type that it gets"
        )


_COUNTER = f"{PREFIX}step"
_TRUTH = ArrayKind("bool", ())


def _title(name: str) -> str:
    return "the result" if name == f"{PREFIX}result" else name
