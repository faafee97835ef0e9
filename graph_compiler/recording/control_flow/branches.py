"""Recording of both sides of a condition as a ``branch``, and trial runs of blocks."""

from __future__ import annotations

import dis
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import GraphCompilerError, Signal, TracingError
from ...ir.builder import Body
from ...ir.node import Block, CallRecord, Node, Origin, Value
from ...ir.rewrite import Rewriter
from ...ops.registry import ArraySpec
from ..code.ownership import is_users, owner_of
from ..faults import is_fault
from ..reachability.snapshot import ObjectSnapshot
from ..state.contents import iterators_in
from .jumps import PREFIX, RESULT, value_name
from .regions import ArrayKind, Regions
from .variables import UNDEFINED, ClosureCells, VariableContents, VariableLeaf, common_kind, describe_contents


@dataclass(frozen=True)
class OuterCopies:
    """Rewriter of the blocks of a ``branch`` or loop, so that they write to copies instead of outer arrays.

    The copies become further results of the node.

    written: the values of the outer arrays that the blocks write to.
    origin: the line of the user's code.
    copy: name of the call that copies an array.
    record: call record of each copy; its ``result`` is replaced.
    spec_of(value): shape and dtype that ``value`` has inside a block of a loop.
    """

    written: Sequence[Value]
    origin: Origin
    copy: str
    record: CallRecord
    spec_of: Callable[[Value], ArraySpec]

    def node(
        self,
        bodies: Sequence[Body],
        operands: Sequence[Value],
        names: Sequence[str],
        params: Mapping[str, Any],
    ) -> tuple[list[Body], list[Value], list[str], dict[str, Any]]:
        """Return bodies, operands, names of results and parameters of the node with copies."""
        first = params.get("carried", len(names))
        names = [*names[:first], *(value.name for value in self.written), *names[first:]]
        if "carried" not in params:
            return (
                [self._on_copies(body, dict(zip(self.written, self.written))) for body in bodies],
                [*operands],
                names,
                {**params},
            )
        operands = [*operands[:first], *self.written, *operands[first:]]
        return (
            [self._carrying(body, first) for body in bodies],
            operands,
            names,
            {**params, "carried": first + len(self.written)},
        )

    def _carrying(self, body: Body, first: int) -> Body:
        sources = {value: Value(value.name, self.spec_of(value)) for value in self.written}
        changed = self._on_copies(body, sources)
        count = len(body.outputs)
        copies = () if body.name == "condition" else changed.outputs[count:]
        outputs = (
            *changed.outputs[: min(first, count)],
            *copies,
            *changed.outputs[min(first, count) : count],
        )
        return replace(
            changed, inputs=(*body.inputs[:first], *sources.values(), *body.inputs[first:]), outputs=outputs
        )

    def _on_copies(self, body: Body, sources: Mapping[Value, Value]) -> Body:
        """Return ``body`` with writes to copies instead of the outer arrays; the copies are its last outputs.

        ``sources`` maps each outer array to the value that is copied.
        """
        rewriter = Rewriter(Block(tuple(body.inputs), tuple(body.nodes), tuple(body.outputs)))
        copies = []
        for value, source in sources.items():
            made = Value(value.name, ArraySpec(value.spec.hints, value.dtype))
            rewriter.append(
                Node(self.copy, (source,), {}, self.origin, (made,), replace(self.record, result=made))
            )
            rewriter.replace((value,), (made,))
            copies.append(made)
        for node in body.nodes:
            rewriter.append(rewriter.rewritten(node))
        return Body(body.name, body.inputs, rewriter.nodes, (*rewriter.mapped(tuple(body.outputs)), *copies))


class Raised(Signal):
    """Signal that a ``raise`` or ``assert`` of the user's code ended a trial run of a block.

    problem: the exception.
    """

    def __init__(self, problem: Exception) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Trials:
    """Trial runs of the blocks of one statement, before they are recorded.

    place: file and line of the statement.
    what: description of the block for messages.
    cells: the closure cells of the variables that the blocks assign.

    The constructor raises ``TracingError`` if a closure variable of the blocks is found to hold an iterator.
    """

    def __init__(
        self, regions: Regions, place: str, what: str, functions: Sequence[types.FunctionType]
    ) -> None:
        self.regions, self.place, self.what = regions, place, what
        self.functions, self.cells = functions, ClosureCells(*functions)
        for name, item in self.cells.around():
            if any(iterators_in((item,))):
                raise TracingError(
                    f"{place}: {what} may take items from {name}, an iterator, which would be gone once for "
                    "all values. Make a list of its items before"
                )

    def run(self, function: Callable[..., Any], given: Sequence[tuple[Any, ArrayKind]] = ()) -> None:
        """Call ``function`` on arrays like those in ``given``, and undo the changes that it is found to make.

        ``Raised`` reports a ``raise`` or ``assert`` of the user.
        """
        before, world = (
            self.cells.read(),
            ObjectSnapshot([("", root) for function in self.functions for root in _roots(function)]),
        )
        lists = [(each, list(each.parts)) for each in self.regions.lists.values()]
        changed: list[str] = []

        def watched(*arrays: Any) -> Any:
            # Changes are read inside the trial, because a key may be the loop index, which is known only
            # there.
            found = function(*arrays)
            changed.extend(
                change.where.lstrip(".")
                for change in world.changes()
                if not self.cells.holds(change.held.item)
            )
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
                    f"{self.place}: {self.what} calls itself without end, where values say when to stop. "
                    "Write it as a loop"
                ) from None
            raise TracingError(
                f"{self.place}: {self.what} cannot be recorded for all values ({type(problem).__name__}: "
                f"{_first_line(problem)}). What is in it has to compute the same shapes and types whatever "
                "the values are"
            ) from problem
        finally:
            # A failed block is undone too, because the loop may be unrolled instead.
            world.restore()
            self.cells.write(before)
            for each, parts in lists:
                each.parts[:] = parts
        if changed:
            raise TracingError(
                f"{self.place}: {self.what} changes {changed[0] or 'an object'}, which would be changed once "
                "for all values. Give it to the code after it in a variable instead: assign an array, and "
                "change objects outside"
            )


def _roots(function: types.FunctionType) -> list[Any]:
    return [function] if is_users(function) else list(function.__closure__ or ())


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _is_raised(problem: Exception) -> bool:
    last = problem.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or owner_of(last.tb_frame) != "user":
        return False
    # ``assert`` compiles to a raise as well.
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _first_line(problem: Exception) -> str:
    return next(iter(str(problem).splitlines()), "")[:200]


# Runs one side and returns the value of each variable after it.
Side = Callable[[], dict[str, Any]]
VALUE = "the value"


@dataclass(frozen=True)
class _Variable:
    """Result of both branches for one variable.

    like: contents of the variable after one branch, with its form and the leaves that are the same after
        both.
    kinds: kind of each leaf that is a result of the node; None for leaves that are the same.
    """

    like: VariableContents
    kinds: tuple[ArrayKind | None, ...]


class BranchRecorder:
    """Recorder of one condition on values, with both of its branches.

    place: file and line of the statement.
    what: description of a branch for messages.
    functions: the blocks of the branches.
    guarded: variables that may be unassigned after a branch, because nothing reads them then.
    """

    def __init__(
        self,
        regions: Regions,
        place: str,
        what: str,
        functions: Sequence[types.FunctionType],
        guarded: Sequence[str] = (),
    ) -> None:
        self.regions, self.place, self.guarded = regions, place, guarded
        self.trials = Trials(regions, place, what, functions)

    def run(self, truth: Any, then: Side, otherwise: Side) -> dict[str, Any]:
        """Record both branches and return the value of each variable after them.

        Lists that a branch appends to are extended in place. Raise ``Raised`` as :meth:`Trials.run` does.
        """
        # A branch returns what it appends to a list, because appending itself would happen once for all
        # values.
        lists = self.trials.cells.lists()
        then, otherwise = _with_added(then, lists), _with_added(otherwise, lists)
        sides = [self._tried(then), self._tried(otherwise)]
        plan = {name: self._variable(name, sides[0][name], sides[1][name]) for name in sides[0]}
        names = [
            value_name(name) if name.isidentifier() else "branch"
            for name, variable in plan.items()
            for kind in variable.kinds
            if kind is not None
        ]
        blocks = self._block(then, plan), self._block(otherwise, plan)
        arrays = iter(self.regions.branch(truth, *blocks, names))
        found = {name: _rebuilt(variable, arrays) for name, variable in plan.items()}
        for name, items in lists.items():
            items += found.pop(_added_to(name))
        return found

    def _tried(self, side: Side) -> dict[str, VariableContents]:
        found: dict[str, VariableContents] = {}

        def run() -> tuple[()]:
            found.update({name: describe_contents(self.regions, value) for name, value in side().items()})
            return ()

        self.trials.run(run)
        return found

    def _block(self, side: Side, plan: dict[str, _Variable]) -> Callable[[], list[Any]]:
        before = self.trials.cells.read()

        def run() -> list[Any]:
            after = side()
            made = [
                array
                for name, variable in plan.items()
                for array in self._arrays(name, after[name], variable)
            ]
            self.trials.cells.write(before)
            return made

        return run

    def _arrays(self, name: str, value: Any, variable: _Variable) -> list[Any]:
        # This side does not assign the variable, and nothing reads the value then.
        if value is UNDEFINED:
            return [self._blank(kind) for kind in variable.kinds if kind is not None]
        leaves = describe_contents(self.regions, value).leaves
        made = [
            self.regions.converted(leaf.item, kind)
            for leaf, kind in zip(leaves, variable.kinds)
            if kind is not None
        ]
        return made if name != RESULT else list(map(self.regions.returned, made))

    def _blank(self, kind: ArrayKind) -> Any:
        return self.regions.blank(kind, self.trials.cells.arrays(self.regions))

    # ------------------------------------------------------------------------------ results of both branches
    def _variable(self, name: str, then: VariableContents, otherwise: VariableContents) -> _Variable:
        for one, other in ((then, otherwise), (otherwise, then)):
            if one.is_undefined and not other.is_undefined:
                return self._of_one(name, other)
        if then.form != otherwise.form:
            raise self._differs(name, then, otherwise)
        return _Variable(
            then,
            tuple(self._kind(name, then, otherwise, *pair) for pair in zip(then.leaves, otherwise.leaves)),
        )

    def _of_one(self, name: str, given: VariableContents) -> _Variable:
        kinds = tuple(leaf.kind for leaf in given.leaves)
        is_unread = name.startswith(PREFIX) or name in self.guarded
        # Nothing reads the value after that side, so zeros will do.
        if is_unread and all(kind is not None and self._blank(kind) is not None for kind in kinds):
            return _Variable(given, kinds)
        if name == RESULT:
            raise TracingError(
                f"{self.place}: one side returns {given} and the other goes on, or returns something else. "
                "Return arrays of one shape and type on both sides; out of a loop, put the array in the "
                "place of one that a variable holds before it, break, and return the variable behind it"
            )
        raise TracingError(
            f"{self.place}: {name} is assigned on one side of a condition on values, and has no value on the "
            f"other, and the code after it uses it. Assign {name} before, or on both sides"
        )

    def _kind(
        self,
        name: str,
        then: VariableContents,
        otherwise: VariableContents,
        one: VariableLeaf,
        other: VariableLeaf,
    ) -> ArrayKind | None:
        if one.is_same(other):
            return None
        found = common_kind(one, other)
        if found is None:
            raise self._differs(name, then, otherwise)
        return found

    def _differs(self, name: str, then: VariableContents, otherwise: VariableContents) -> TracingError:
        what = "the result" if name == RESULT else name
        return TracingError(
            f"{self.place}: {what} is {then} where the condition is True, and {otherwise} where it is False. "
            "Give both the same shape and type"
        )


def _added_to(name: str) -> str:
    return f"what is appended to {name}"


def _with_added(side: Side, lists: dict[str, list[Any]]) -> Side:
    def run() -> dict[str, Any]:
        lengths = {name: len(items) for name, items in lists.items()}
        after = side()
        for name, items in lists.items():
            after[_added_to(name)] = items[lengths[name] :]
            del items[lengths[name] :]
        return after

    return run


def _rebuilt(variable: _Variable, arrays: Any) -> Any:
    leaves = (
        leaf.item if kind is None else next(arrays)
        for leaf, kind in zip(variable.like.leaves, variable.kinds)
    )
    return variable.like.form.rebuilt(iter(list(leaves)))
