"""Regions of frontends that record calls one by one.

A block is recorded on proxies of its inputs.
"""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ...errors import TracingError
from ...ir.builder import Body
from ...ir.node import Origin, Value
from ...sizes import hint_of
from ..recorder import Recorder
from .regions import ArrayKind, Arrays, Block, Inputs, Regions, RowsWritten, regions, unrecorded_in
from .variables import flatten_containers


class PossibleAliases:
    """Record of arrays that may or may not share memory, depending on which block ran.

    In Python, a branch or loop may return an array that another variable holds, while its node returns a new
    array. A write to one would not reach the other, so it is an error while both are alive. A frozen array
    must not be written to.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._others: dict[Value, set[Value]] = {}
        self._frozen: set[Value] = set()

    @property
    def are_any(self) -> bool:
        return bool(self._others or self._frozen)

    def is_frozen(self, owner: Value) -> bool:
        return owner in self._frozen

    def is_apart(self, value: Value) -> bool:
        owner = self.recorder.base_of(value)
        return not self._others.get(owner) and owner not in self._frozen

    def freeze(self, value: Value) -> None:
        self._frozen.add(self.recorder.base_of(value))

    def tie(self, values: Iterable[Value]) -> None:
        group = set(map(self.recorder.base_of, values))
        for value in group:
            self._others.setdefault(value, set()).update(group - {value})

    def with_tied(self, owners: Iterable[Value]) -> set[Value]:
        found, left = set(), set(owners)
        while left:
            found |= left
            left = set().union(*(self._others.get(value, ()) for value in left)) - found
        return found

    def refuse(self, base: Value, origin: Origin) -> None:
        others = self.with_tied([base]) - {base}
        # Arrays in reference cycles count as alive until they are collected.
        if (
            base in self._frozen
            or any(map(self._lives, others))
            and (gc.collect(), any(map(self._lives, others)))[1]
        ):
            raise TracingError(
                f"{origin}: an array is written to that a branch or loop on values gives, and that may be "
                "another array of the function, or not. Write to a copy"
            )

    def _lives(self, value: Value) -> bool:
        return self.recorder.array_of(value) is not None


class OpenRecording(Protocol):
    @property
    def recorder(self) -> Recorder: ...

    def here(self) -> Origin: ...


@dataclass(frozen=True)
class MemoryOwner:
    """Owner of the memory of a block's output.

    is_new: True if the block made the memory, and no array from outside may share it.
    is_fixed: True if the frontend treats the output as immutable.
    """

    value: Value
    is_new: bool
    is_fixed: bool


@dataclass(frozen=True)
class RecordedBlock:
    """Recorded block, with the values whose memory its outputs may share.

    body: nodes, inputs and outputs of the block.
    outside: values from outside the block whose memory its non-scalar outputs may share.
    owners: for each output, the owner of its memory.
    """

    body: Body
    outside: list[Value]
    owners: list[MemoryOwner]


B = TypeVar("B", bound=RecordedBlock)


class RecordedRegions(Regions, Generic[B]):
    """Regions of a frontend that records calls one by one.

    recording: the open recording.
    tied: arrays that may share memory.
    copy: the call with which messages advise to copy an array, as text.
    """

    copy: str
    may_expect = True

    def __init__(
        self,
        recording: OpenRecording,
        tied: PossibleAliases,
        symbolic: Callable[[Any], Any],
        decided: Callable[[Any], Any],
    ) -> None:
        super().__init__(symbolic, decided, recording.recorder.numbers)
        self.recording, self.recorder, self.tied = recording, recording.recorder, tied
        # Owners of arrays that a branch has returned.
        self._returned: set[Value] = set()
        # Arrays that lists have copies of. While they are alive, nothing may write to what may be the same
        # array.
        self.kept: list[Any] = []

    @property
    def is_inside(self) -> bool:
        return self.recorder.in_block

    def loops(self) -> Any:
        return self.recorder.loops

    # ------------------------------------------------------------------------------ members of subclasses
    @abstractmethod
    def value_of(self, item: Any) -> Value:
        """Return the value of the array ``item``. If it is new to the recording, add a value for it."""

    @abstractmethod
    def block(self, name: str, function: Block, given: Inputs) -> B:
        """Record ``function`` as a block on proxies of the arrays in ``given``, and return the block."""

    @abstractmethod
    def node(
        self,
        op: str,
        operands: Sequence[Value],
        blocks: Sequence[B],
        steps: Callable[[], Arrays],
        names: Sequence[str],
        **params: Any,
    ) -> Arrays:
        """Add the node that runs ``blocks`` and return its results.

        ``steps()`` computes the elements that the results have while recording. Inside another block, the
        results may have any elements. ``names`` are names for the values of the results.
        """

    @abstractmethod
    def concrete_truth(self, truth: Any) -> bool:
        """Return the truth value that ``truth`` has in this recording, without a guard."""

    def returned(self, array: Any) -> Any:
        # Python runs unrecorded here.
        if regions() is None:
            return array
        owner = self.recorder.base_of(self.value_of(array))
        if not self.kind(array).shape or self.recorder.is_made_here(owner):
            return array
        self._returned.add(owner)
        return self.copied(array)

    def given_back(self, result: Any) -> Any:
        arrays = [
            item
            for item in flatten_containers(result)[1]
            if self.is_open(item) and self.is_array(item) and self.kind(item).shape
        ]
        if arrays and self._returned:
            self.tied.tie((*map(self.value_of, arrays), *self._returned))
        return result

    @abstractmethod
    def copied(self, array: Any) -> Any: ...

    def initial_carry(self, given: Inputs) -> Arrays:
        """Return the carry with which the concrete run of a loop starts."""
        return [item for item, _ in given]

    def entered(self, arrays: Arrays, given: Inputs) -> Arrays:
        return arrays

    # ------------------------------------------------------------------------------ nodes with regions
    def branch(self, truth: Any, then: Block, otherwise: Block, names: Sequence[str]) -> Arrays:
        # Region 0 is the one for False.
        sides = [self.block("otherwise", otherwise, ()), self.block("then", then, ())]

        def chosen() -> Arrays:
            return then() if self.concrete_truth(truth) else otherwise()

        found = self.node("branch", [self.value_of(truth)], sides, chosen, names)
        self._tie(found, (), [value for side in sides for value in side.outside])
        return found

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[ArrayKind]) -> Arrays:
        given = list(zip(carried, kinds))

        def steps(block: RecordedBlock) -> Arrays:
            arrays = self.initial_carry(given)
            while self.concrete_truth(test(*self.entered(arrays, given))[0]):
                arrays = body(*self.entered(arrays, given))
            return arrays

        return self._loop("while_loop", {"condition": test, "body": body}, given, (), steps, most=None)

    def scan(
        self,
        body: Block,
        carried: Arrays,
        kinds: Sequence[ArrayKind],
        rows: Arrays,
        length: Any,
        checkpoint: bool,
    ) -> Arrays:
        given, count = list(zip(carried, kinds)), len(carried)

        def steps(block: RecordedBlock) -> Arrays:
            arrays, outputs = self.initial_carry(given), []
            for place in range(hint_of(length)):
                found = body(*self.entered(arrays, given), *(row[place] for row in rows))
                arrays = found[:count]
                outputs.append(found[count:])
            # Without an iteration there is nothing to stack, but the results have shapes.
            if not outputs:
                return [
                    *arrays,
                    *(
                        self.no_rows(ArrayKind(value.dtype, value.spec.hints))
                        for value in block.body.outputs[count:]
                    ),
                ]
            return [*arrays, *map(self.module.stack, zip(*outputs))]

        params = {"sequences": len(rows), "length": length, "reverse": False, "checkpoint": checkpoint}
        return self._loop("scan", {"body": body}, given, rows, steps, **params)

    def _loop(
        self,
        op: str,
        functions: Mapping[str, Block],
        carried: Inputs,
        rows: Arrays,
        steps: Callable[[B], Arrays],
        **params: Any,
    ) -> Arrays:
        given = [*carried, *((row, None) for row in rows)]
        operands = [self.value_of(item) for item, _ in given]
        self._name_numbers(operands, carried)
        blocks = [self.block(name, function, given) for name, function in functions.items()]
        for block in blocks:
            self._refuse_written(block.body, given, operands)
            self._refuse_rows_written(block.body, operands[len(carried) :])
        last, count = blocks[-1], len(carried)
        self._refuse_kept(last, count)
        names = [value.name for value in last.body.inputs[:count]] + ["items"] * (len(last.owners) - count)
        found = self.node(op, operands, blocks, lambda: steps(last), names, carried=count, **params)
        self._tie(found, operands, last.outside, count)
        self._tie_kept(found, last.owners, count)
        return found

    def _name_numbers(self, operands: Sequence[Value], carried: Inputs) -> None:
        for value, (_, kind) in zip(operands, carried):
            if kind is not None and kind.name and not value.ndim and not self.recorder.varies(value):
                value.name = kind.name
                maker = self.recorder.maker(value)
                # A conversion of the number is left out later.
                for source in maker.uses if maker is not None else ():
                    source.name = kind.name

    # ------------------------------------------------------------------------------ rows of grown lists
    def element(self, row: Any, kind: ArrayKind) -> Any:
        return self.entered([self.converted(row, kind)], [(row, kind)])[0]

    def owners(self, values: Sequence[Value], kinds: Sequence[ArrayKind]) -> list[MemoryOwner]:
        mine = (self.recorder.base_of(value) for value in values)
        return [
            MemoryOwner(owner, self._is_new(owner), not self.may_write(kind))
            for owner, kind in zip(mine, kinds)
        ]

    def _is_new(self, owner: Value) -> bool:
        return not self.tied.is_frozen(owner) and all(
            map(self.recorder.is_made_here, self.tied.with_tied([owner]))
        )

    def joined_beside(self, arrays: Sequence[Any]) -> Any:
        return self.module.concatenate(arrays, 1)

    def joined_on_axis_1(self, arrays: Sequence[Any]) -> Any:
        return self._kept_beside(self.joined_beside(arrays), arrays)

    def _kept_beside(self, found: Any, arrays: Sequence[Any]) -> Any:
        if not all(self.tied.is_apart(self.value_of(array)) for array in arrays):
            self.tied.freeze(self.value_of(found))
            self.kept += arrays
        return found

    def _refuse_kept(self, block: B, count: int) -> None:
        recorder, made = self.recorder, {value for node in block.body.nodes for value in node.outputs}
        written = {recorder.base_of(value) for node in block.body.nodes for value in node.writes} - made
        carried = {owner.value for owner in block.owners[:count]}
        for owner in block.owners[count:] if written else ():
            if not owner.is_fixed and (not owner.is_new or owner.value in carried):
                raise TracingError(
                    f"{self.recording.here()}: an array that a step of a loop appends to a list may be one "
                    f"that other steps write to. Append a copy of it ({self.copy})"
                )

    def _tie_kept(self, arrays: Arrays, owners: Sequence[MemoryOwner], count: int) -> None:
        """Tie or freeze stacked outputs whose rows may share memory with other arrays.

        ``count`` is the number of carried outputs, which come first.
        """
        values = [self.value_of(array) for array in arrays]
        for place in range(count, len(values)):
            owner = owners[place]
            self.tied.tie(value for value, other in zip(values, owners) if other.value is owner.value)
            if not owner.is_new and not owner.is_fixed:
                self.tied.freeze(values[place])

    # ------------------------------------------------------------------------------ shared memory
    def not_made(self, values: Sequence[Value]) -> list[Value]:
        owners = self.tied.with_tied(self.recorder.base_of(value) for value in values if value.ndim)
        return [owner for owner in owners if not self.recorder.is_made_here(owner)]

    def _tie(
        self, arrays: Arrays, operands: Sequence[Value], outside: Sequence[Value], count: int = 0
    ) -> None:
        """Tie results of a node to the outer arrays whose memory they may share."""
        outputs = [self.value_of(array) for array in arrays]
        # A block may return an outer array unchanged, and a loop without an iteration its carry.
        if outside:
            self.tied.tie(value for value in (*outputs, *operands, *outside) if value.ndim)
        for value, operand in zip(outputs[:count], operands):
            if value.ndim:
                self.tied.tie((value, operand))

    def _refuse_written(self, body: Body, given: Inputs, operands: Sequence[Value]) -> None:
        # The first iteration would write to the array from before the loop, and others could see that.
        recorder = self.recorder
        written = {recorder.base_of(value) for node in body.nodes for value in node.writes}
        for value, (item, kind), operand in zip(body.inputs, given, operands):
            if value not in written:
                continue
            base = recorder.base_of(operand)
            is_given = base in recorder.graph.inputs or base in recorder.graph.parameters.values()
            others = (other for array, other in recorder.tracked() if array is not item)
            if (
                kind is None
                or kind.is_shared
                or is_given
                or any(recorder.base_of(other) is base for other in others)
            ):
                raise TracingError(
                    f"{self.recording.here()}: {operand.name} is written to in a step of a loop on values "
                    "that also puts another array in its place, and other variables may hold the same "
                    f"array. Begin with a copy of it ({self.copy})"
                )

    def _refuse_rows_written(self, body: Body, rows: Sequence[Value]) -> None:
        base_of = self.recorder.base_of
        written = self.tied.with_tied({base_of(value) for node in body.nodes for value in node.writes})
        if not written.isdisjoint(map(base_of, rows)):
            raise RowsWritten(
                f"{self.recording.here()}: a step of this loop writes to the array whose rows it goes through"
            )

    @contextmanager
    def as_python(self) -> Iterator[None]:
        """Run the ``with`` block as plain Python, without recording its calls."""
        since = self.recorder.savepoint()
        with unrecorded_in(self), self.recorder.block(()):
            yield
        # Guards that plain Python added are not part of the recording.
        self.recorder.give_up(since)
