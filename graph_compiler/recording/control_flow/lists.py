"""Lists that iterations of a recorded loop append to, whose length is a size after the loop.

Some functions, such as ``len`` and the framework's ``stack``, accept them without a guard on their exact
length.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from ...errors import TracingError
from ...forwarding import forward
from ...ir.quotation import Position
from ...sizes import apply, expression_of, hint_of, is_symbolic
from .conversion import is_converted
from .jumps import PREFIX
from .regions import ArrayKind, Regions, regions
from .variables import (
    AppendableList,
    ContainerForm,
    ContentsDiffer,
    GrowingView,
    VariableContents,
    describe_contents,
    is_shared,
    plain,
)

# ------------------------------------------------------------------------------------------------ grown lists
# A recorded loop returns what its iterations append as arrays with one row per item, and the variable then
# holds such a list. Functions that work for any length use these arrays. Others read the items one by one,
# which adds a guard on their number.


@dataclass(frozen=True, eq=False)
class StackedItems:
    """Consecutive items of a list, stacked: each leaf is an array with one row per item.

    arrays: the array of each leaf of ``form``, the form of an item.
    length: number of items, an int or a size.
    """

    form: ContainerForm
    arrays: tuple[Any, ...]
    kinds: tuple[ArrayKind, ...]
    length: Any

    def item(self, regions: Regions, rows: Sequence[Any]) -> Any:
        return self.form.rebuilt(iter([regions.element(row, kind) for row, kind in zip(rows, self.kinds)]))

    def at(self, regions: Regions, index: Any) -> Any:
        return self.item(regions, [array[index] for array in self.arrays])

    def rows(self, regions: Regions, items: slice) -> StackedItems:
        arrays = tuple(regions.sliced(array, items) for array in self.arrays)
        return replace(self, arrays=arrays, length=expression_of(regions.length(arrays[0])))

    def is_like(self, other: StackedItems) -> bool:
        types, others = ([(kind.dtype, kind.shape) for kind in one.kinds] for one in (self, other))
        return (self.form, types) == (other.form, others)


def join_items(regions: Regions, parts: Sequence[Any]) -> StackedItems | None:
    """Join ``parts``, which are items and ``StackedItems``, or return None if that is impossible."""
    # The arrays themselves are returned, so that writes to items reach the list.
    if len(parts) == 1 and isinstance(parts[0], StackedItems):
        return parts[0]
    found = [
        part if isinstance(part, StackedItems) else stacked_item(regions, describe_contents(regions, part))
        for part in parts
        if _is_there(regions, part)
    ]
    stretches = [one for one in found if one is not None]
    if (
        not stretches
        or len(stretches) < len(found)
        or not all(one.is_like(stretches[0]) for one in stretches)
    ):
        return None
    columns = zip(*(one.arrays for one in stretches))
    kinds = tuple(
        min(column, key=lambda kind: kind.number) for column in zip(*(one.kinds for one in stretches))
    )
    return replace(
        stretches[0], arrays=tuple(map(regions.concatenated, columns)), kinds=kinds, length=length_of(parts)
    )


def _is_there(regions: Regions, part: Any) -> bool:
    is_known = not isinstance(part, StackedItems) or not regions.needs_a_row(part.kinds)
    return is_known or regions.decide_size(apply("ge", part.length, 1))


def stacked_item(
    regions: Regions, item: VariableContents, kinds: Sequence[ArrayKind] | None = None
) -> StackedItems | None:
    """Return ``item`` as ``StackedItems`` of length 1, or None if it cannot be stacked.

    ``kinds`` are the kinds of the arrays that its leaves become; by default, those of the leaves.
    """
    own = [leaf.kind for leaf in item.leaves if leaf.kind is not None]
    if not own or len(own) < len(item.leaves):
        return None
    found = tuple(kinds or own)
    made = (
        regions.converted(leaf.item, replace(kind, number=False)) for leaf, kind in zip(item.leaves, found)
    )
    return StackedItems(item.form, tuple(map(regions.as_row, made)), found, 1)


def length_of(parts: Iterable[Any]) -> Any:
    return sum((part.length if isinstance(part, StackedItems) else 1 for part in parts), 0)


class GrownList(AppendableList):
    """List after a recorded loop that has appended to it.

    An operation that reads the items one by one may add a guard on their number (:meth:`plain`).
    """

    @property
    def pieces(self) -> list[Any]:
        return (
            self.plain()
            if any(isinstance(part, StackedItems) and part.form.may_change for part in self.parts)
            else self.parts
        )

    def symbolic_length(self) -> Any:
        return self.regions.number_of(length_of(self.parts))

    def at_least(self, count: int) -> bool:
        alone = sum(not isinstance(part, StackedItems) for part in self.parts)
        return alone >= count or self.regions.decide_size(apply("ge", length_of(self.parts), count))

    def plain(self) -> list[Any]:
        found: list[Any] = []
        for part in self.parts:
            if isinstance(part, StackedItems):
                count = hint_of(part.length)
                self.regions.decide_size(apply("eq", part.length, count))
                found += [part.at(self.regions, index) for index in range(count)]
            else:
                found.append(part)
        # Later uses see the same items, so that writes to one are kept.
        self.parts[:] = found
        return self.parts

    def whole(self, is_kept: bool = False) -> StackedItems | None:
        """Return all items as one ``StackedItems``, or None if they cannot be stacked.

        If ``is_kept``, also return None if a write to an item of the result might not reach this list.
        """
        is_copy = not (len(self.parts) == 1 and isinstance(self.parts[0], StackedItems))
        found = join_items(self.regions, self.parts)
        if (
            found is None
            or is_kept
            and (found.form.may_change or is_copy and any(map(self.regions.may_write, found.kinds)))
        ):
            return None
        return found

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        if type(index) is int:
            return self._item(index)
        is_open = is_symbolic(index) or self.regions.is_array(index)
        whole = self.whole(is_kept=True) if is_open and self.regions.may_expect else None
        return self.plain()[index] if whole is None else whole.at(self.regions, index)

    def _item(self, index: int) -> Any:
        parts, ahead = (self.pieces, index) if index >= 0 else (self.pieces[::-1], -index - 1)
        for part in parts:
            if isinstance(part, StackedItems):
                if not self.regions.decide_size(apply("ge", part.length, ahead + 1)):
                    break
                return part.at(self.regions, ahead if index >= 0 else -ahead - 1)
            if not ahead:
                return part
            ahead -= 1
        return self.plain()[index]

    def _slice(self, items: slice) -> Any:
        bounds = (items.start, items.stop, items.step)
        if bounds == (None, None, None):
            return GrownList(self.regions, self.pieces)
        if bounds == (None, None, -1):
            parts = [
                part.rows(self.regions, items) if isinstance(part, StackedItems) else part
                for part in reversed(self.pieces)
            ]
            return GrownList(self.regions, parts)
        is_known = items.step in (None, 1) and all(bound is None or type(bound) is int for bound in bounds)
        whole = self.whole(is_kept=True) if is_known else None
        return (
            self.plain()[items]
            if whole is None
            else GrownList(self.regions, [whole.rows(self.regions, items)])
        )

    def __bool__(self) -> bool:
        return self.at_least(1)

    def reverse(self) -> None:
        self.parts[:] = self[::-1].parts

    def copy(self) -> GrownList:
        return GrownList(self.regions, self.pieces)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, GrownList) or type(other) is list:
            return GrownList(
                self.regions, [*self.pieces, *(other.pieces if isinstance(other, GrownList) else other)]
            )
        return self.plain() + other

    def __radd__(self, other: Any) -> Any:
        return (
            GrownList(self.regions, [*other, *self.pieces]) if type(other) is list else other + self.plain()
        )


def finish_lists(result: Any, *given: Any) -> Any:
    return plain((result, given))[0]


# ---------------------------------------------------------------------------------------------- growing lists
# What each iteration appends is an output of the body.


class IterationState(Protocol):
    """Loop whose iterations append to a list, with the state of the current iteration.

    values: form and initial leaves of each variable.
    current: leaves of each variable in the current iteration.
    place: file and line of the loop.
    """

    values: dict[str, tuple[ContainerForm, list[Any]]]
    current: dict[str, list[Any]]
    place: str

    @property
    def done(self) -> Any:
        """Number of iterations before the current one."""


class ListInIteration(GrowingView):
    """View of a growing list that the code of an iteration sees.

    Reads of more than its length, last item and truth value raise ``TracingError``.

    parts: the items that this iteration has appended.
    """

    def __init__(self, of: GrowingList) -> None:
        super().__init__(of.regions, ())
        self.of = of

    def symbolic_length(self) -> Any:
        before = self.of.before
        own = self.regions.number_of(length_of(self.parts))
        return (
            (before.symbolic_length() if isinstance(before, AppendableList) else len(before))
            + self.of.before_step
            + own
        )

    @property
    def pieces(self) -> NoReturn:
        self.plain()

    def plain(self) -> NoReturn:
        raise TracingError(
            f"{self.of.loop.place}: a step of this loop appends to {self.of.name}, and reads more of it than "
            "its length and its last item"
        )

    def __getitem__(self, index: Any) -> Any:
        if type(index) is not int or index != -1 or self.parts and isinstance(self.parts[-1], StackedItems):
            self.plain()
        return self.parts[-1] if self.parts else self.of.last()

    def __bool__(self) -> bool:
        before = self.of.before
        parts = (*self.parts, *(before.parts if isinstance(before, AppendableList) else before))
        # An inner loop without iterations appends nothing.
        return (
            not all(isinstance(part, StackedItems) for part in parts)
            or bool(self.parts)
            and self.regions.decide_size(apply("ge", length_of(self.parts), 1))
            or self.plain()
        )


@dataclass(frozen=True)
class _AppendedPart:
    """Items that each iteration appends at one point of its body.

    is_item: True for a single item, False for ``StackedItems``.
    """

    form: ContainerForm
    kinds: tuple[ArrayKind, ...]
    length: Any
    is_item: bool


class GrowingList:
    """List in one variable that iterations of a loop append to.

    before: the list before the loop.
    inside: the list that the body sees instead.
    plan: the parts that each iteration appends, as found by trial iterations.
    is_planned: True after the first trial iteration.
    """

    def __init__(self, regions: Regions, name: str, before: Any, loop: IterationState) -> None:
        self.regions, self.name, self.before, self.loop = regions, name, before, loop
        self.plan: tuple[_AppendedPart, ...] = ()
        self.is_planned = False
        self.last_name = f"{PREFIX}last of {name}"
        self.inside = ListInIteration(self)
        self._asks_last = False

    # ------------------------------------------------------------------------------ reads in an iteration
    @property
    def before_step(self) -> Any:
        return self.loop.done * self.regions.number_of(
            sum(part.length for part in self.plan) if self.is_planned else 1
        )

    def last(self) -> Any:
        if self.last_name not in self.loop.values:
            if not self.before:
                raise ContentsDiffer(
                    f"{self.loop.place}: the last item of {self.name} is read in a step, and there is none "
                    "before the loop"
                )
            self._asks_last = True
            return self.before[-1]
        return self.loop.current[self.last_name][0]

    def carry_last(self) -> None:
        if self._asks_last:
            self.loop.values.setdefault(self.last_name, (ContainerForm(), [self.before[-1]]))

    # ------------------------------------------------------------------------------ appended items
    def update_plan(self) -> bool:
        """Set the plan to what a trial iteration appended, and return True if another trial is needed.

        The appended items are removed.
        """
        if is_shared(self.inside.parts):
            raise TracingError(
                f"{self.loop.place}: other variables have lists or dicts that a step of this loop appends to "
                f"{self.name}"
            )
        parts, before = [*map(self._part, self.inside.parts)], (self.plan, self.is_planned)
        self.inside.parts.clear()
        self.plan, self.is_planned = tuple(self._alike(parts)), True
        return (self.plan, True) != before or self._asks_last and self.last_name not in self.loop.values

    def _part(self, item: Any) -> _AppendedPart:
        found = (
            item
            if isinstance(item, StackedItems)
            else stacked_item(self.regions, describe_contents(self.regions, item))
        )
        if found is None:
            raise self._differs()
        return _AppendedPart(found.form, found.kinds, found.length, found is not item)

    def _alike(self, parts: Sequence[_AppendedPart]) -> Iterator[_AppendedPart]:
        types = [(part.form, [(kind.dtype, kind.shape) for kind in part.kinds]) for part in parts]
        if any(one != types[0] for one in types):
            raise self._differs()
        # ``number`` is False for arrays, so an array is preferred to a number.
        # Numbers become arrays if another part has an array as the same leaf.
        kinds = tuple(
            min(column, key=lambda kind: kind.number) for column in zip(*(part.kinds for part in parts))
        )
        return (replace(part, kinds=kinds) for part in parts)

    def _differs(self) -> TracingError:
        return TracingError(
            f"{self.loop.place}: what a step of this loop appends to {self.name} are no arrays of one shape "
            "and type"
        )

    def rows(self) -> list[Any]:
        left = deque(self.inside.parts)
        self.inside.parts.clear()
        return [array for part in self.plan for array in self._arrays(part, left)]

    def _arrays(self, part: _AppendedPart, left: deque[Any]) -> Sequence[Any]:
        regions = self.regions
        if part.is_item:
            leaves = describe_contents(regions, left.popleft()).leaves
            return [regions.converted(leaf.item, kind) for leaf, kind in zip(leaves, part.kinds)]
        # An inner loop that was recorded has appended ``StackedItems``.
        if left and isinstance(left[0], StackedItems):
            found: StackedItems = left.popleft()
            return found.arrays
        # Python runs inner loops iteration by iteration, which leaves single items.
        items = [describe_contents(regions, left.popleft()) for _ in range(hint_of(part.length))]
        rows = [
            each.arrays for item in items if (each := stacked_item(regions, item, part.kinds)) is not None
        ]
        return list(map(regions.concatenated, zip(*rows))) if rows else list(map(regions.no_rows, part.kinds))

    # ------------------------------------------------------------------------------ after the loop
    def after_loop(self, arrays: Iterator[Any], length: Any) -> Any:
        """Return the list after ``length`` iterations, which appended the rows of ``arrays``.

        An ``AppendableList`` is extended in place.
        """
        if not self.plan:
            return self.before
        form, kinds = self.plan[0].form, self.plan[0].kinds
        parts = [[next(arrays) for _ in kinds] for _ in self.plan]
        rows = tuple(map(self._rows, zip(*parts)))
        added = StackedItems(form, rows, kinds, length * sum(part.length for part in self.plan))
        if not isinstance(self.before, AppendableList):
            return GrownList(self.regions, [*self.before, added])
        self.before.append(added)
        return self.before

    def _rows(self, parts: Sequence[Any]) -> Any:
        if len(parts) == 1 and self.plan[0].is_item:
            return parts[0]
        items = [array[:, None] if part.is_item else array for array, part in zip(parts, self.plan)]
        return self.regions.merged(items[0] if len(items) == 1 else self.regions.joined_on_axis_1(items))


# ----------------------------------------------------------------------------------------- functions of lists
class LoopStatements(Protocol):
    """Object that runs the loops of rewritten code, for functions that iterate over a list."""

    def for_(self, items: Any, body: Any, exits: Any, guarded: Sequence[str], position: Position) -> None: ...


def with_grown_lists(statements: LoopStatements, found: Regions, function: Any, called: Any) -> Any:
    inner = getattr(called, "__func__", called)
    if (
        isinstance(inner, types.FunctionType)
        and is_converted(inner)
        or isinstance(getattr(function, "__self__", None), AppendableList)
    ):
        return called

    def run(*args: Any, **kwargs: Any) -> Any:
        if not found.lists:
            return forward(called, *args, **kwargs)
        if (
            args
            and isinstance(args[0], AppendableList)
            and not any(isinstance(each, AppendableList) for each in (*args[1:], *kwargs.values()))
        ):
            answer = _answer(statements, found, function, args, kwargs)
            if answer is not NotImplemented:
                return answer
        return forward(called, *map(plain, args), **{name: plain(item) for name, item in kwargs.items()})

    return run


def with_plain_lists(function: Any) -> Any:
    """Return ``function`` in a form that accepts ``GrownList`` objects."""

    def run(*args: Any, **kwargs: Any) -> Any:
        is_alone = len(args) == 1 and not kwargs
        if is_alone and function_of(function) is builtins.len and isinstance(args[0], GrowingView):
            return args[0].count()
        return forward(function, *map(_seen, args), **{name: _seen(item) for name, item in kwargs.items()})

    return function if isinstance(getattr(function, "__self__", None), AppendableList) else run


def _seen(item: Any) -> Any:
    return item if isinstance(item, GrowingView) else plain(item)


def function_of(function: Any) -> Any:
    # A recording may have a shim under the name of the builtin.
    found = getattr(function, "__wrapped__", function)
    return found if isinstance(found, (types.BuiltinFunctionType, type)) else function


def _answer(statements: LoopStatements, found: Regions, function: Any, args: Any, kwargs: Any) -> Any:
    items, *others = args
    original = function_of(function)
    if (
        builtin := _BUILTINS.get(original)
        if isinstance(original, (types.BuiltinFunctionType, type))
        else None
    ) is not None:
        return (
            builtin(statements, found, items, *others, **kwargs)
            if _takes(builtin, 3, others, kwargs)
            else NotImplemented
        )
    use = _USES.get(getattr(function, "__name__", "")) if isinstance(items, GrownList) else None
    if use is None or not _is_public(found, function):
        return NotImplemented
    whole = items.whole()
    if (
        whole is None
        or whole.form.cls is not None
        and use is not _array
        or not _takes(use, 4, others, kwargs)
    ):
        return NotImplemented
    if not all(found.collects(function.__name__, kind) for kind in whole.kinds):
        return NotImplemented
    is_float = (
        found.takes_lists
        and use is _array
        and (whole.form, whole.kinds[0].dtype, whole.kinds[0].shape) == _FLOAT
    )
    if not is_float and not items.at_least(1):
        return NotImplemented
    rows = _rows_of(found, whole.form, map(functools.partial(_strong, found), whole.arrays, whole.kinds))
    return NotImplemented if rows is None else use(found, function, rows, whole, *others, **kwargs)


def _is_public(found: Regions, function: Any) -> bool:
    public = getattr(found.module, function.__name__, None)
    return public is not None and (public is function or public is getattr(function, "__wrapped__", None))


# A list of floats becomes such an array even if it is empty.
_FLOAT = ContainerForm(), "float64", ()


def _strong(found: Regions, array: Any, kind: ArrayKind) -> Any:
    return found.converted(array, replace(found.kind(array), dtype=kind.dtype, number=False))


def _rows_of(found: Regions, form: ContainerForm, arrays: Iterator[Any]) -> Any:
    """Return one array with a row per item, or None if the leaves of an item do not make up an array."""
    if form.cls is None:
        return next(arrays)
    parts = [_rows_of(found, part, arrays) for part in form.parts]
    is_sequence = form.cls in (list, tuple) and parts and all(part is not None for part in parts)
    is_even = is_sequence and len({tuple(found.kind(part).shape) for part in parts}) == 1
    return found.module.stack(parts, 1) if is_even else None


def _takes(use: Callable[..., Any], first: int, others: Any, kwargs: Any) -> bool:
    try:
        inspect.signature(use).bind(*[None] * first, *others, **kwargs)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------------------------- Python builtins
def _length(statements: LoopStatements, found: Regions, items: AppendableList) -> Any:
    return items.symbolic_length()


def _copied(statements: LoopStatements, found: Regions, items: AppendableList) -> Any:
    return items.copy() if isinstance(items, GrownList) else NotImplemented


def _sum(statements: LoopStatements, found: Regions, items: AppendableList, start: Any = 0) -> Any:
    if not isinstance(items, GrownList) or not items.at_least(1):
        return NotImplemented
    total = start

    def body(item: Any) -> None:
        nonlocal total
        total = total + item

    statements.for_(items, body, None, (), NOWHERE)
    return total


def _extreme(symbol: str) -> Callable[..., Any]:
    better = getattr(operator, symbol)

    def extreme(
        statements: LoopStatements, found: Regions, items: AppendableList, *others: Any, **options: Any
    ) -> Any:
        if not isinstance(items, GrownList) or others or options or not items.at_least(1):
            return NotImplemented
        best = items[0]

        def body(item: Any) -> None:
            nonlocal best
            is_better = better(item, best)
            is_open = regions() is not None and found.is_open(is_better)
            best = found.where(is_better, item, best) if is_open else item if is_better else best

        statements.for_(items[1:], body, None, (), NOWHERE)
        return best

    return extreme


NOWHERE = (0, 0, 0, 0)
_BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.len: _length, builtins.list: _copied, builtins.sum: _sum, builtins.max: _extreme("gt"),
    builtins.min: _extreme("lt"),
    builtins.isinstance: lambda statements, found, items, kinds: isinstance([], kinds),
    builtins.bool: lambda statements, found, items: bool(items),
    builtins.type: lambda statements, found, items: list,
}  # fmt: skip


# ------------------------------------------------------------------------------------- framework functions
def _array(found: Regions, function: Any, rows: Any, whole: StackedItems, dtype: Any = None) -> Any:
    return found.cast(found.owned(rows), dtype)


def _stack(
    found: Regions, function: Any, rows: Any, whole: StackedItems, axis: int = 0, *, dim: int | None = None
) -> Any:
    axis = axis if dim is None else dim
    return found.owned(rows if axis == 0 else found.module.moveaxis(rows, 0, axis))


def _concatenate(
    found: Regions, function: Any, rows: Any, whole: StackedItems, axis: Any = 0, *, dim: int | None = None
) -> Any:
    axis = axis if dim is None else dim
    rank = len(whole.kinds[0].shape)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        return NotImplemented
    axis %= rank
    if axis == 0:
        return found.owned(found.merged(rows))
    moved = found.module.moveaxis(rows, 0, axis)
    shape = (*moved.shape[:axis], moved.shape[axis] * moved.shape[axis + 1], *moved.shape[axis + 2 :])
    return found.owned(moved.reshape(shape))


def _vstack(found: Regions, function: Any, rows: Any, whole: StackedItems) -> Any:
    rank = len(whole.kinds[0].shape)
    return (
        _concatenate(found, function, rows, whole)
        if rank > 1
        else found.owned(rows)
        if rank
        else NotImplemented
    )


def _hstack(found: Regions, function: Any, rows: Any, whole: StackedItems) -> Any:
    rank = len(whole.kinds[0].shape)
    return _concatenate(found, function, rows, whole, int(rank > 1)) if rank else NotImplemented


def _of_array(
    found: Regions, function: Any, rows: Any, whole: StackedItems, *args: Any, **kwargs: Any
) -> Any:
    return function(rows, *args, **kwargs) if found.takes_lists else NotImplemented


_OF_ARRAYS = (
    "sum", "mean", "prod", "max", "min", "amax", "amin", "std", "var", "median",
    "argmax", "argmin", "cumsum", "any", "all", "diff",
)  # fmt: skip
_USES: dict[str, Callable[..., Any]] = {
    "array": _array, "asarray": _array, "tensor": _array, "stack": _stack, "concatenate": _concatenate,
    "cat": _concatenate,
    "concat": _concatenate, "vstack": _vstack, "hstack": _hstack, **dict.fromkeys(_OF_ARRAYS, _of_array),
}  # fmt: skip
