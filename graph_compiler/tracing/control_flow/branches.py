"""Both sides of a condition as a ``branch`` of the graph."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import TracingError
from .blocks import Trials
from .jumps import PREFIX, RESULT
from .regions import Kind, Regions
from .state import UNDEFINED, Leaf, Noted, common, noted

Side = Callable[[], dict[str, Any]]  # runs one side; what is in each variable afterwards
VALUE = "the value"


@dataclass(frozen=True)
class _Variable:
    """What the branches give for one variable: its form with leaves that are kept, and of the others the kinds."""

    like: Noted
    kinds: tuple[Kind | None, ...]


class Branch:
    """One condition on values. ``functions`` are the blocks of its sides."""

    def __init__(
        self, regions: Regions, place: str, what: str, functions: Sequence[types.FunctionType], guarded: Sequence[str] = ()
    ) -> None:
        self.regions, self.place, self.guarded = regions, place, guarded
        self.trials = Trials(regions, place, what, functions)

    def run(self, truth: Any, then: Side, otherwise: Side) -> dict[str, Any]:
        """What is in each variable behind the branches."""
        lists = self.trials.cells.lists()
        then, otherwise = _with_added(then, lists), _with_added(otherwise, lists)
        sides = [self._tried(then), self._tried(otherwise)]
        plan = {name: self._variable(name, sides[0][name], sides[1][name]) for name in sides[0]}
        arrays = iter(self.regions.branch(truth, self._block(then, plan), self._block(otherwise, plan)))
        found = {name: _rebuilt(variable, arrays) for name, variable in plan.items()}
        for name, items in lists.items():
            items += found.pop(_added_to(name))
        return found

    def _tried(self, side: Side) -> dict[str, Noted]:
        found: dict[str, Noted] = {}

        def run() -> tuple[()]:
            found.update({name: noted(self.regions, value) for name, value in side().items()})
            return ()

        self.trials.run(run)
        return found

    def _block(self, side: Side, plan: dict[str, _Variable]) -> Callable[[], list[Any]]:
        before = self.trials.cells.read()

        def run() -> list[Any]:
            after = side()
            made = [array for name, variable in plan.items() for array in self._arrays(name, after[name], variable)]
            self.trials.cells.write(before)
            return made

        return run

    def _arrays(self, name: str, value: Any, variable: _Variable) -> list[Any]:
        if value is UNDEFINED:
            return [self._blank(kind) for kind in variable.kinds if kind is not None]
        leaves = noted(self.regions, value).leaves
        made = [self.regions.made(leaf.item, kind) for leaf, kind in zip(leaves, variable.kinds) if kind is not None]
        return made if name != RESULT else list(map(self.regions.returned, made))

    def _blank(self, kind: Kind) -> Any:
        return self.regions.blank(kind, self.trials.cells.arrays(self.regions))

    # ------------------------------------------------------------------------------ what both sides give
    def _variable(self, name: str, then: Noted, otherwise: Noted) -> _Variable:
        for one, other in ((then, otherwise), (otherwise, then)):
            if one.is_undefined and not other.is_undefined:
                return self._of_one(name, other)
        if then.form != otherwise.form:
            raise self._differs(name, then, otherwise)
        return _Variable(then, tuple(self._kind(name, then, otherwise, *pair) for pair in zip(then.leaves, otherwise.leaves)))

    def _of_one(self, name: str, given: Noted) -> _Variable:
        """A variable that one side alone assigns. Of a result that has not been returned, nothing is read."""
        kinds = tuple(leaf.kind for leaf in given.leaves)
        is_unread = name.startswith(PREFIX) or name in self.guarded
        if is_unread and all(kind is not None and self._blank(kind) is not None for kind in kinds):
            return _Variable(given, kinds)
        if name == RESULT:
            raise TracingError(
                f"{self.place}: one side returns {given} and the other goes on, or returns something else. Return arrays of one shape and "
                "type on both sides; out of a loop, put the array in the place of one that a variable holds before it, break, and return "
                "the variable behind it"
            )
        raise TracingError(
            f"{self.place}: {name} is assigned on one side of a condition on values, and has no value on the other, and the code after it "
            f"uses it. Assign {name} before, or on both sides"
        )

    def _kind(self, name: str, then: Noted, otherwise: Noted, one: Leaf, other: Leaf) -> Kind | None:
        if one.is_same(other):
            return None
        found = None if one.kind is None or other.kind is None else common(one.kind, other.kind)
        if found is None:
            raise self._differs(name, then, otherwise)
        return found

    def _differs(self, name: str, then: Noted, otherwise: Noted) -> TracingError:
        what = "the result" if name == RESULT else name
        return TracingError(
            f"{self.place}: {what} is {then} where the condition is True, and {otherwise} where it is False. Give both the same shape and "
            "type"
        )


def _added_to(name: str) -> str:
    return f"what is appended to {name}"


def _with_added(side: Side, lists: dict[str, list[Any]]) -> Side:
    """A side that gives what it appends to lists, besides, and leaves them as they were."""

    def run() -> dict[str, Any]:
        lengths = {name: len(items) for name, items in lists.items()}
        after = side()
        for name, items in lists.items():
            after[_added_to(name)] = items[lengths[name] :]
            del items[lengths[name] :]
        return after

    return run


def _rebuilt(variable: _Variable, arrays: Any) -> Any:
    leaves = (leaf.item if kind is None else next(arrays) for leaf, kind in zip(variable.like.leaves, variable.kinds))
    return variable.like.form.rebuilt(iter(list(leaves)))
