"""Python's own statements as blocks of a torch recording; see :class:`graph_compiler.tracing.control_flow.Regions`.

Blocks are those of torch's own operators that take functions. Numbers of Python that go from step to step are read from arrays, in each
step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from ....errors import TracingError
from ....ir.closing import Body
from ....ir.node import Node, Value, every
from ....sizes import Size
from ....tracing.control_flow import Kind, open_regions
from ....tracing.control_flow.regions import Arrays, Block
from ..basics.tensors import spec_of
from ..compat import without_function_mode
from ..numbers.sizes import expression_of, is_symbolic, symbolic
from .blocks import Blocks, Given, Recorded
from .opened import shape_of
from .running import Running

_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
T = TypeVar("T")


@dataclass(frozen=True)
class _Block:
    """A block, and what it gives and has not made."""

    recorded: Recorded
    outside: list[Value]


class TorchRegions:
    """The blocks of one recording."""

    def __init__(self, capture: Running) -> None:
        self.capture = capture

    def _handling(self, function: Callable[..., T], *args: Any) -> T:
        """What a function of the recording gives, which does not see its own calls."""
        with without_function_mode():
            return function(*args)

    # ------------------------------------------------------------------------------ what things are
    def is_open(self, item: Any) -> bool:
        recorder = self.capture.recorder
        if is_symbolic(item):
            found = expression_of(item)
            return isinstance(found, Size) and any(
                symbol.kind != "size" and recorder.is_inside(symbol.source) for symbol in found.symbols()
            )
        return isinstance(item, torch.Tensor) and recorder.varies(self._handling(self.capture.value, item))

    def is_array(self, item: Any) -> bool:
        return isinstance(item, torch.Tensor)

    def kind(self, item: Any) -> Kind:
        if isinstance(item, torch.Tensor):
            spec = self._handling(spec_of, item)
            return Kind(spec.dtype, tuple(spec.hints))
        return Kind(_name(_DTYPES[type(_now(item))]), (), True)

    @property
    def is_inside(self) -> bool:
        return self.capture.recorder.in_block

    # ------------------------------------------------------------------------------ small calls
    def made(self, item: Any, kind: Kind) -> Any:
        dtype = getattr(torch, kind.dtype)
        if isinstance(item, torch.Tensor):
            return item if self.kind(item).dtype == kind.dtype else item.to(dtype)
        return torch.tensor(item, dtype=dtype)

    def truth(self, item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return torch.tensor(item if type(_now(item)) is bool else item != 0)
        item = item.reshape(()) if item.ndim else item
        return item if item.dtype == torch.bool else item != 0

    def both(self, one: Any, other: Any) -> Any:
        return torch.logical_and(one, other)

    def negated(self, item: Any) -> Any:
        return torch.logical_not(item)

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        found = torch.where(self.truth(truth), one, other)
        return found if any(isinstance(item, torch.Tensor) for item in (one, other)) else found.item()

    def length(self, array: Any) -> Any:
        return array.shape[0]

    def number(self, length: Any) -> Any:
        return symbolic(length, self.capture.decide) if isinstance(length, Size) else length

    def row(self, array: Any, place: Any) -> Any:
        return array[place]

    def rest(self, array: Any, first: int) -> Any:
        return array[first:]

    # ------------------------------------------------------------------------------ conditions
    def decide(self, truth: Any) -> bool:
        return bool(truth)

    def decide_size(self, condition: Any) -> bool:
        return bool(self.capture.decide(condition)) if isinstance(condition, Size) else bool(condition)

    def expect(self, truth: Any) -> None:
        if self.is_inside:
            value = self._handling(self.capture.value, truth.clone())
            self.capture.recorder.decide_value(value, True, self.capture.here())
        elif not truth:
            raise AssertionError

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: Block, given: Sequence[tuple[Any, Kind | None]]) -> None:
        self._handling(self._trial, function, given)

    def _trial(self, function: Block, given: Sequence[tuple[Any, Kind | None]]) -> None:
        blocks = Blocks(self.capture, "a traced statement", ())
        blocks.block("trial", function, [self._given(item, kind)[1] for item, kind in given], may_write=True, is_free=True)

    def branch(self, truth: Any, then: Block, otherwise: Block) -> Arrays:
        return self._handling(self._branch, truth, then, otherwise)

    def _branch(self, truth: Any, then: Block, otherwise: Block) -> Arrays:
        blocks = Blocks(self.capture, "a condition", ())
        sides = [self._block(blocks, name, block, ()) for name, block in (("otherwise", otherwise), ("then", then))]

        def run(mode: Any) -> Any:
            with self._now(mode):
                return list((then if truth else otherwise)())

        names, recorded = ["chosen"] * len(sides[0].recorded.specs), [side.recorded for side in sides]
        found = list(blocks.add("branch", [self.capture.value(truth)], recorded, run, names))
        return self._tied(found, (), [value for side in sides for value in side.outside])

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[Kind]) -> Arrays:
        return self._as_given(self._handling(self._while, test, body, carried, kinds), kinds)

    def _while(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[Kind]) -> Arrays:
        blocks = Blocks(self.capture, "a loop", ())
        operands, given = self._operands(zip(carried, kinds))
        condition = self._block(blocks, "condition", test, given)
        step = self._block(blocks, "body", body, given, operands)
        self._refuse_slices(step.recorded.body.nodes)

        def run(mode: Any) -> Any:
            with self._now(mode):
                arrays = list(carried)
                while test(*self._as_given(arrays, kinds))[0]:
                    arrays = list(body(*self._as_given(arrays, kinds)))
                return [array.clone() for array in arrays]

        names, recorded = [item.name for item in given], [condition.recorded, step.recorded]
        found = list(blocks.add("while_loop", operands, recorded, run, names, carried=len(operands)))
        return self._tied(found, operands, step.outside)

    def scan(self, body: Block, carried: Arrays, kinds: Sequence[Kind], rows: Arrays, length: Any, checkpoint: bool) -> Arrays:
        return self._as_given(self._handling(self._scan, body, carried, kinds, rows, length, checkpoint), kinds)

    def _scan(self, body: Block, carried: Arrays, kinds: Sequence[Kind], rows: Arrays, length: Any, checkpoint: bool) -> Arrays:
        blocks = Blocks(self.capture, "a loop", ())
        operands, given = self._operands([*zip(carried, kinds), *((row, None) for row in rows)])
        step = self._block(blocks, "body", body, given, operands)
        self._refuse_slices(step.recorded.body.nodes)

        def run(mode: Any) -> Any:
            with self._now(mode):
                arrays = list(carried)
                for place in range(int(getattr(length, "hint", length))):
                    arrays = list(body(*self._as_given(arrays, kinds), *(row[place] for row in rows)))
                return [array.clone() for array in arrays]

        names = [item.name for item in given[: len(carried)]]
        params = {"carried": len(carried), "sequences": len(rows), "length": length, "reverse": False, "checkpoint": checkpoint}
        return self._tied(list(blocks.add("scan", operands, [step.recorded], run, names, **params)), operands, step.outside)

    def _refuse_slices(self, nodes: Sequence[Node]) -> None:
        """Other frameworks have no slice whose bounds each step computes."""
        for node in () if self.capture.for_torch else every(nodes):
            bounds = (bound for item in node.inputs for part in _parts(item) for bound in (part.start, part.stop))
            if node.op.endswith("getitem__") and any(isinstance(bound, Size) and bound.reads_elements() for bound in bounds):
                raise TracingError(
                    f"{node.origin}: each step of a loop on values takes another slice, of no fixed size. Index by a number (x[i]), or "
                    "compute with a mask (torch.where)"
                )

    @contextmanager
    def _now(self, mode: Any) -> Iterator[None]:
        """Inside of the block Python runs as it does now: nothing is assumed of it."""
        since = self.capture.recorder.savepoint()
        with open_regions(None), self.capture.recorder.block(()), mode:
            yield
        self.capture.recorder.give_up(since)

    # ------------------------------------------------------------------------------ what is given
    def _operands(self, items: Any) -> tuple[list[Value], list[Given]]:
        pairs = [(self.capture.value(item), self._given(item, kind)[1]) for item, kind in items]
        return [value for value, _ in pairs], [given for _, given in pairs]

    def _given(self, item: Any, kind: Kind | None) -> tuple[Any, Given]:
        """What stands for an array, for a row of one, or for a number."""
        capture = self.capture
        is_number = not isinstance(item, torch.Tensor)
        tensor = capture.quietly(torch.tensor, _now(item)) if is_number else item
        shape = () if is_number else shape_of(capture, capture.value(tensor))
        if kind is None:
            first = capture.quietly(lambda: tensor[0] if len(tensor) else tensor.new_zeros(tensor.shape[1:]))
            return item, Given(f"{capture.value(tensor).name}_row", first, shape[1:], is_shared=True)
        name = kind.name or ("number" if is_number else capture.value(tensor).name)
        return item, Given(name, capture.quietly(tensor.to, getattr(torch, kind.dtype)), shape, kind.number, is_shared=kind.is_shared)

    def _as_given(self, arrays: Arrays, kinds: Sequence[Kind]) -> list[Any]:
        """Arrays of which those that are numbers of Python are read."""
        return [array.item() if kind.number else array for array, kind in zip(arrays, kinds)]

    # ------------------------------------------------------------------------------ one block
    def _block(self, blocks: Blocks, name: str, function: Block, given: Sequence[Given], operands: Sequence[Value] = ()) -> _Block:
        outside: list[Value] = []

        def run(*arrays: Any) -> list[Any]:
            made = list(function(*arrays))
            outside.extend(self._handling(self._not_made, made))
            return made

        found = blocks.block(name, run, given, may_write=True, is_free=True)
        self._refuse_written(given, found.body, operands)
        return _Block(found, outside)

    def _not_made(self, arrays: Sequence[Any]) -> list[Value]:
        recorder = self.capture.recorder
        owners = [recorder.base_of(self.capture.value(array)) for array in arrays if array.ndim]
        return [owner for owner in owners if not recorder.is_made_here(owner)]

    def _tied(self, arrays: list[Any], operands: Sequence[Value], outside: Sequence[Value]) -> list[Any]:
        """Arrays that a block gave as it was given them may be those of the outside; so is what a loop carries where it takes no step."""
        outputs = [self.capture.value(array) for array in arrays]
        tied = self.capture.outer_writes.tied
        if outside:
            tied.tie(value for value in (*outputs, *operands, *outside) if value.ndim)
        for value, operand in zip(outputs, operands):
            if value.ndim:
                tied.tie((value, operand))
        return arrays

    def _refuse_written(self, given: Sequence[Given], body: Body, operands: Sequence[Value]) -> None:
        """A step that writes to what it is given writes, in the first step, to an array of the outside: nobody else may have it."""
        recorder = self.capture.recorder
        written = {recorder.base_of(value) for node in body.nodes for value in node.writes}
        for value, item, outside in zip(body.inputs, given, operands):
            if value not in written:
                continue
            base = recorder.base_of(outside)
            holders = [array for array, other in recorder.tracked() if recorder.base_of(other) is base]
            is_given = base in recorder.graph.inputs or base in recorder.graph.parameters.values()
            if is_given or len(holders) > 1 or item.is_shared:
                raise TracingError(
                    f"{self.capture.here()}: {outside.name} is written to in a step of a loop on values that also puts another array in "
                    "its "
                    "place, and other variables may hold the same array. Begin with a copy of it (clone)"
                )


def _now(item: Any) -> Any:
    """A number as it is now."""
    return item.node.hint if is_symbolic(item) else item


@functools.cache
def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _parts(item: Any) -> Iterator[slice]:
    """The slices of an index."""
    yield from (part for part in (item if isinstance(item, tuple) else (item,)) if isinstance(part, slice))
