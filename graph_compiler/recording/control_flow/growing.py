"""Lists that iterations of a recorded loop append to.

What each iteration appends is an output of the body.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from ...errors import TracingError
from ...sizes import hint_of
from .grown import GrownList, StackedItems, length_of, stacked_item
from .jumps import PREFIX
from .regions import ArrayKind, Regions
from .variables import (
    AppendableList,
    ContainerForm,
    ContentsDiffer,
    GrowingView,
    describe_contents,
    is_shared,
)


class IterationState(Protocol):
    """Loop that a growing list belongs to, with the state of the current iteration.

    values: form and leaves of each variable before the loop.
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
    """A growing list as seen in an iteration. ``parts`` are what this iteration has appended.

    Only its length, its last item and, if an item is certain, whether it is empty can be read. Anything
    else raises ``TracingError``.
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
        is_known = self.parts or any(
            not isinstance(part, StackedItems)
            for part in (before.parts if isinstance(before, AppendableList) else before)
        )
        return bool(is_known) or self.plain()


@dataclass(frozen=True)
class _AppendedPart:
    """Items that each iteration appends at one point of its body.

    form: form of an item.
    kinds: kinds of its leaves.
    length: number of items.
    is_item: True for a single item, False for ``StackedItems``.
    """

    form: ContainerForm
    kinds: tuple[ArrayKind, ...]
    length: Any
    is_item: bool


class GrowingList:
    """List in one variable that iterations of a loop append to.

    before: the list before the loop.
    inside: what the body sees instead of it.
    plan: what each iteration appends, as far as trial runs have shown.
    is_planned: True if a trial run has shown it.
    """

    def __init__(self, regions: Regions, name: str, before: Any, loop: IterationState) -> None:
        self.regions, self.name, self.before, self.loop = regions, name, before, loop
        self.plan: tuple[_AppendedPart, ...] = ()
        self.is_planned = False
        self.last_name = f"{PREFIX}last of {name}"
        self.inside = ListInIteration(self)
        self._asks_last = False

    # ------------------------------------------------------------------------------ inside of a step
    @property
    def before_step(self) -> Any:
        return self.loop.done * self.regions.number_of(
            sum(part.length for part in self.plan) if self.is_planned else 1
        )

    def last(self) -> Any:
        """Return the last item before this iteration. After the first call, it becomes part of the carry.

        Raise ``ContentsDiffer`` if the list is empty before the loop.
        """
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

    # ------------------------------------------------------------------------------ what a step appends
    def learn(self) -> bool:
        """Update the plan with what a trial iteration appended, and return True if the plan changed.

        The appended items are removed. Also return True if the last item was read and is not carried yet.
        Raise ``TracingError`` if other variables refer to an appended list or dict, or if items have
        different forms or kinds.
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
        """Yield the parts with common kinds: a number becomes an array if another part has one in its place.

        Raise ``TracingError`` if forms, dtypes or shapes differ.
        """
        types = [(part.form, [(kind.dtype, kind.shape) for kind in part.kinds]) for part in parts]
        if any(one != types[0] for one in types):
            raise self._differs()
        # ``number`` is False for arrays, so an array is preferred to a number.
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
            return [regions.made(leaf.item, kind) for leaf, kind in zip(leaves, part.kinds)]
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

    # ------------------------------------------------------------------------------ behind the loop
    def behind(self, arrays: Iterator[Any], length: Any) -> Any:
        """Return the list after ``length`` iterations; ``arrays`` hold what all iterations have appended.

        An ``AppendableList`` is extended in place; a plain list stays, and a ``GrownList`` replaces it. If
        nothing is appended, return the list before the loop.
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
        return self.regions.merged(items[0] if len(items) == 1 else self.regions.beside(items))
