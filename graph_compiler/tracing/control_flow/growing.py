"""Lists that grow in the steps of a loop that is an operation of the graph: what each step appends is an output of its body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from ...errors import TracingError
from .appended import Appended, Growing
from .grown import Grown, Stretch, joined, length_of, stretch_of
from .jumps import PREFIX
from .regions import Kind, Regions
from .state import Form, NotEqual, is_shared, noted


class Steps(Protocol):
    """The loop: the variables of the step that runs, and how many were taken before it."""

    values: dict[str, tuple[Form, list[Any]]]
    current: dict[str, list[Any]]
    place: str

    @property
    def done(self) -> Any:
        """How many steps were taken before this one."""


class Inside(Growing):
    """The list as a step finds it: ``parts`` are what this step has appended."""

    def __init__(self, of: GrowingList) -> None:
        super().__init__(of.regions, ())
        self.of = of

    def symbolic_length(self) -> Any:
        before = self.of.before
        own = self.regions.number_of(length_of(self.parts))
        return (before.symbolic_length() if isinstance(before, Appended) else len(before)) + self.of.before_step + own

    @property
    def pieces(self) -> NoReturn:
        self.plain()

    def plain(self) -> NoReturn:
        raise TracingError(
            f"{self.of.loop.place}: a step of this loop appends to {self.of.name}, and reads more of it than its length and its last item"
        )

    def __getitem__(self, index: Any) -> Any:
        if type(index) is not int or index != -1 or self.parts and isinstance(self.parts[-1], Stretch):
            self.plain()
        return self.parts[-1] if self.parts else self.of.last()

    def __bool__(self) -> bool:
        before = self.of.before
        is_known = self.parts or any(not isinstance(part, Stretch) for part in (before.parts if isinstance(before, Appended) else before))
        return bool(is_known) or self.plain()


@dataclass(frozen=True)
class _Plan:
    """What each step appends: items of a form and of kinds, so many (``length``); ``is_item`` where it is one."""

    form: Form
    kinds: tuple[Kind, ...]
    length: Any
    is_item: bool


class GrowingList:
    """The list in one variable: ``before`` the loop, ``inside`` of a step, and :meth:`behind` it."""

    def __init__(self, regions: Regions, name: str, before: Any, loop: Steps) -> None:
        self.regions, self.name, self.before, self.loop = regions, name, before, loop
        self.plan: _Plan | None = None
        self.last_name = f"{PREFIX}last of {name}"
        self.inside = Inside(self)
        self._asks_last = False

    # ------------------------------------------------------------------------------ inside of a step
    @property
    def before_step(self) -> Any:
        """How many items the steps before this one have appended."""
        return self.loop.done * self.regions.number_of(1 if self.plan is None else self.plan.length)

    def last(self) -> Any:
        """The last item before this step, which is carried from now on."""
        if self.last_name not in self.loop.values:
            if not self.before:
                raise NotEqual(f"{self.loop.place}: the last item of {self.name} is read in a step, and there is none before the loop")
            self._asks_last = True
            return self.before[-1]
        return self.loop.current[self.last_name][0]

    def carry_last(self) -> None:
        """Where a trial step has asked for it, the last item goes from step to step."""
        if self._asks_last:
            self.loop.values.setdefault(self.last_name, (Form(), [self.before[-1]]))

    # ------------------------------------------------------------------------------ what a step appends
    def learn(self) -> bool:
        """Takes over what a trial step has appended; whether it was anything new."""
        if is_shared(self.inside.parts):
            raise TracingError(
                f"{self.loop.place}: other variables have the lists or dicts that a step of this loop appends to {self.name}"
            )
        parts, before = [*self.inside.parts], self.plan
        self.inside.parts.clear()
        if not parts:
            self.plan = None
            return before is not None
        is_item = len(parts) == 1 and not isinstance(parts[0], Stretch)
        found = stretch_of(self.regions, noted(self.regions, parts[0])) if is_item else joined(self.regions, parts)
        if found is None:
            raise TracingError(
                f"{self.loop.place}: a step of this loop appends items to {self.name} that are no arrays of one shape and type"
            )
        self.plan = _Plan(found.form, found.kinds, found.length, is_item)
        return self.plan != before or self._asks_last and self.last_name not in self.loop.values

    def rows(self) -> list[Any]:
        """The arrays that hold what this step has appended."""
        parts, plan = [*self.inside.parts], self.plan
        self.inside.parts.clear()
        if plan is None:
            return []
        if plan.is_item:
            leaves = noted(self.regions, parts[0]).leaves
            return [self.regions.made(leaf.item, kind) for leaf, kind in zip(leaves, plan.kinds)]
        if not parts:  # of inner steps there are none now
            return [self.regions.no_rows(kind) for kind in plan.kinds]
        found = [part if isinstance(part, Stretch) else stretch_of(self.regions, noted(self.regions, part), plan.kinds) for part in parts]
        return [self.regions.concatenated(column) for column in zip(*(one.arrays for one in found if one is not None))]

    # ------------------------------------------------------------------------------ behind the loop
    def behind(self, arrays: Iterator[Any], length: Any) -> Any:
        """The list behind so many steps; ``arrays`` hold what all of them have appended."""
        plan = self.plan
        if plan is None:
            return self.before
        rows = tuple(array if plan.is_item else self.regions.merged(array) for _, array in zip(plan.kinds, arrays))
        added = Stretch(plan.form, rows, plan.kinds, length * plan.length)
        if not isinstance(self.before, Appended):
            return Grown(self.regions, [*self.before, added])
        self.before.append(added)
        return self.before
