"""One block of a statement, run to see what it gives: nothing that it does may stay."""

from __future__ import annotations

import dis
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import GraphCompilerError, Signal, TracingError
from ..faults import is_fault
from ..reach.origin import is_users, owner_of
from ..reach.world import World
from ..state.iterators import iterators_in
from .regions import Kind, Regions
from .state import Cells


class Raised(Signal):
    """A block has raised an exception of the user's, the ``problem``: what leads to it is a condition of the recording."""

    def __init__(self, problem: Exception) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Trials:
    """Runs the blocks of one statement at a ``place`` in the user's file. ``functions`` are those that it runs."""

    def __init__(self, regions: Regions, place: str, what: str, functions: Sequence[types.FunctionType]) -> None:
        self.regions, self.place, self.what = regions, place, what
        self.functions, self.cells = functions, Cells(*functions)
        for name, item in self.cells.around():
            if any(iterators_in((item,))):
                raise TracingError(
                    f"{place}: {what} may take items from {name}, an iterator, which would be gone once for all values. Make a list of its "
                    "items before"
                )

    def run(self, function: Callable[..., Any], given: Sequence[tuple[Any, Kind]] = ()) -> None:
        """Calls it on arrays like those that are given. ``TracingError`` with the line where it cannot be a block."""
        before, world = self.cells.read(), World([("", root) for function in self.functions for root in _roots(function)])
        lists = [(each, list(each.parts)) for each in self.regions.lists.values()]
        changed: list[str] = []

        def watched(*arrays: Any) -> Any:
            found = function(*arrays)  # a changed dict may have the number of the step for a key, which is asked for inside alone
            changed.extend(change.where.lstrip(".") for change in world.changes() if not self.cells.holds(change.held.item))
            changed.extend("a list" for each, parts in lists if not _are_same(each.parts, parts))
            return found

        try:
            self.regions.trial(watched, given)
        except GraphCompilerError:
            raise
        # The user's code runs in the block, and may raise anything.
        except Exception as problem:
            if is_fault(problem):
                raise
            if _is_raised(problem):
                raise Raised(problem) from problem
            if isinstance(problem, RecursionError):
                raise TracingError(
                    f"{self.place}: {self.what} calls itself without end, where values say when to stop. Write it as a loop"
                ) from None
            raise TracingError(
                f"{self.place}: {self.what} cannot be recorded for all values ({type(problem).__name__}: {_first_line(problem)}). "
                "What is in it has to compute the same shapes and types whatever the values are"
            ) from problem
        finally:
            world.restore()  # of a block that fails as well: the loop may be written out instead
            self.cells.write(before)
            for each, parts in lists:
                each.parts[:] = parts
        if changed:
            raise TracingError(
                f"{self.place}: {self.what} changes {changed[0] or 'an object'}, which would be changed once for all "
                "values. Give it to the code after it in a variable instead: assign an array, and change objects outside"
            )


def _roots(function: types.FunctionType) -> list[Any]:
    """Where what a block can change is looked for: in the user's code, and in what blocks of ours hold of it."""
    return [function] if is_users(function) else list(function.__closure__ or ())


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _is_raised(problem: Exception) -> bool:
    """Whether an exception comes from a ``raise``, or an ``assert``, of the user's code."""
    last = problem.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or owner_of(last.tb_frame) != "user":
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _first_line(problem: Exception) -> str:
    return next(iter(str(problem).splitlines()), "")[:200]
