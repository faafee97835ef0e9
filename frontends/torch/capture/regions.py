"""Python's own statements as blocks of a torch recording; see :class:`graph_compiler.tracing.control_flow.Regions`.

Blocks are those of torch's own operators that take functions. Numbers of Python that go from step to step are read from arrays, in each
step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from ....errors import TracingError
from ....forwarding import forward
from ....ir.node import Node, Value, every
from ....sizes import Size
from ....tracing.control_flow.recorded_regions import Owner, RecordedBlock, RecordedRegions
from ....tracing.control_flow.regions import Arrays, Block, Inputs, Kind
from ..basics.tensors import spec_of
from ..compat import without_function_mode
from ..numbers.sizes import expression_of, is_symbolic, symbolic
from .blocks import Blocks, Given, Recorded
from .opened import shape_of
from .running import Running

_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
T = TypeVar("T")


@dataclass(frozen=True)
class _Block(RecordedBlock):
    recorded: Recorded


class TorchRegions(RecordedRegions[_Block]):
    """The blocks of one recording."""

    module, arrays, copy = torch, (torch.Tensor,), "clone"

    def __init__(self, capture: Running) -> None:
        super().__init__(capture, capture.outer_writes.tied, lambda size: symbolic(size, capture.decide), capture.decide)
        self.capture = capture

    def _handling(self, function: Callable[..., T], *args: Any) -> T:
        """What a function of the recording gives, which does not see its own calls."""
        with without_function_mode():
            return forward(function, *args)

    # ------------------------------------------------------------------------------ what things are
    def is_open(self, item: Any) -> bool:
        recorder = self.capture.recorder
        if is_symbolic(item):
            found = expression_of(item)
            return isinstance(found, Size) and any(
                symbol.kind != "size" and recorder.is_inside(symbol.source) for symbol in found.symbols()
            )
        return isinstance(item, torch.Tensor) and recorder.varies(self._handling(self.capture.value, item))

    def kind(self, item: Any) -> Kind:
        if isinstance(item, torch.Tensor):
            spec = self._handling(spec_of, item)
            return Kind(spec.dtype, tuple(spec.hints))
        return Kind(_name(_DTYPES[type(_now(item))]), (), True)

    # ------------------------------------------------------------------------------ small calls
    def made(self, item: Any, kind: Kind) -> Any:
        dtype = getattr(torch, kind.dtype)
        if isinstance(item, torch.Tensor):
            return item if self.kind(item).dtype == kind.dtype else item.to(dtype)
        return torch.tensor(item, dtype=dtype)

    def copied(self, array: Any) -> Any:
        return array.clone()

    def truth(self, item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return torch.tensor(item if type(_now(item)) is bool else item != 0)
        item = item.reshape(()) if item.ndim else item
        return item if item.dtype == torch.bool else item != 0

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        found = torch.where(self.truth(truth), one, other)
        return found if any(isinstance(item, torch.Tensor) for item in (one, other)) else found.item()

    # ------------------------------------------------------------------------------ rows, of lists that loops make longer
    def may_write(self, kind: Kind) -> bool:
        return True

    def needs_a_row(self, kinds: Sequence[Kind]) -> bool:
        return any(kind.shape for kind in kinds)  # what is stacked step by step has the axes of a step

    def collects(self, name: str, kind: Kind) -> bool:
        return kind.number is (name in ("tensor", "asarray"))

    def cast(self, array: Any, dtype: Any) -> Any:
        default = torch.get_default_dtype() if array.dtype == torch.float64 else array.dtype
        return array.to(default if dtype is None else dtype)

    def own(self, array: Any) -> Any:
        return array.clone(memory_format=torch.contiguous_format)

    def sliced(self, array: Any, rows: slice) -> Any:
        if rows.step != -1:
            return array[rows]
        self.freeze(array)
        self.freeze(found := array.flip(0))
        return found

    def joined_beside(self, arrays: Sequence[Any]) -> Any:
        return torch.cat(list(arrays), 1)

    def beside(self, arrays: Sequence[Any]) -> Any:
        return self._handling(self._kept_beside, self.joined_beside(arrays), arrays)

    def concatenated(self, arrays: Sequence[Any]) -> Any:
        return torch.cat(list(arrays))

    def no_rows(self, kind: Kind) -> Any:
        return torch.zeros((0, *kind.shape), dtype=getattr(torch, kind.dtype))

    def freeze(self, array: Any) -> None:
        """Nobody writes to the array."""
        self._handling(lambda: self.tied.freeze(self.capture.value(array)))

    def collective(self, name: str, x: Any, **params: Any) -> Any:
        operands = () if x is None else (x if isinstance(x, torch.Tensor) else self.made(x, self.kind(x)),)
        if name == "sharding_hint":
            params = {"layout": ",".join(entry if isinstance(entry, str) else "+".join(entry or ()) for entry in params["layout"])}
        return getattr(torch.ops.graph_compiler, name)(*operands, *params.values())

    # ------------------------------------------------------------------------------ conditions
    def expect(self, truth: Any) -> None:
        if self.is_inside:
            value = self._handling(self.capture.value, truth.clone())
            self.capture.recorder.decide_value(value, True, self.capture.here())
        elif not truth:
            raise AssertionError

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: Block, given: Inputs) -> None:
        self._handling(self._trial, function, given)

    def _trial(self, function: Block, given: Inputs) -> None:
        blocks = Blocks(self.capture, "a traced statement", ())
        blocks.block("trial", function, [self._given(item, kind) for item, kind in given], may_write=True, is_free=True)

    def branch(self, truth: Any, then: Block, otherwise: Block) -> Arrays:
        return self._handling(super().branch, truth, then, otherwise)

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[Kind]) -> Arrays:
        return self.entered(self._handling(super().while_loop, test, body, carried, kinds), list(zip(carried, kinds)))

    def scan(self, body: Block, carried: Arrays, kinds: Sequence[Kind], rows: Arrays, length: Any, checkpoint: bool) -> Arrays:
        found = self._handling(super().scan, body, carried, kinds, rows, length, checkpoint)
        return [*self.entered(found[: len(carried)], list(zip(carried, kinds))), *found[len(carried) :]]

    def value_of(self, item: Any) -> Value:
        return self.capture.value(item)

    def block(self, name: str, function: Block, given: Inputs) -> _Block:
        outside: list[Value] = []
        owners: list[Owner] = []

        def run(*arrays: Any) -> Arrays:
            made = list(function(*arrays))
            outside.extend(self._handling(self._not_made, made))
            kinds = list(map(self.kind, made))
            owners.extend(self._handling(lambda: self.owners(list(map(self.capture.value, made)), kinds)))
            return made

        items = [self._given(item, kind) for item, kind in given]
        found = self._blocks(bool(given)).block(name, run, items, may_write=True, is_free=True)
        if name == "body":
            self._refuse_slices(found.body.nodes)
        return _Block(found.body, outside, owners, found)

    def _not_made(self, arrays: Arrays) -> list[Value]:
        return self.not_made([self.capture.value(array) for array in arrays if array.ndim])

    def _blocks(self, is_loop: bool) -> Blocks:
        return Blocks(self.capture, "a loop" if is_loop else "a condition", ())

    def node(
        self, op: str, operands: Sequence[Value], blocks: Sequence[_Block], steps: Callable[[], Arrays], names: Sequence[str], **params: Any
    ) -> Arrays:
        def run(mode: Any) -> Arrays:
            with self.as_python(), mode:
                return [array.clone() for array in steps()] if "carried" in params else list(steps())

        recorded = [block.recorded for block in blocks]
        return list(self._blocks("carried" in params).add(op, operands, recorded, run, names, **params))

    def now(self, truth: Any) -> bool:
        return bool(truth)

    def entered(self, arrays: Arrays, given: Inputs) -> Arrays:
        return [array.item() if kind is not None and kind.number else array for array, (_, kind) in zip(arrays, given)]

    def _refuse_slices(self, nodes: Sequence[Node]) -> None:
        """Other frameworks have no slice whose bounds each step computes."""
        for node in () if self.capture.for_torch else every(nodes):
            bounds = (bound for item in node.inputs for part in _parts(item) for bound in (part.start, part.stop))
            if node.op.endswith("getitem__") and any(isinstance(bound, Size) and bound.reads_elements() for bound in bounds):
                raise TracingError(
                    f"{node.origin}: each step of a loop on values takes another slice, of no fixed size. Index by a number (x[i]), or "
                    "compute with a mask (torch.where)"
                )

    def _given(self, item: Any, kind: Kind | None) -> Given:
        """What stands for an array, for a row of one, or for a number."""
        capture = self.capture
        is_number = not isinstance(item, torch.Tensor)
        tensor = capture.quietly(torch.tensor, _now(item)) if is_number else item
        shape = () if is_number else shape_of(capture, capture.value(tensor))
        if kind is None:
            first = capture.quietly(lambda: tensor[0] if len(tensor) else tensor.new_zeros(tensor.shape[1:]))
            return Given(f"{capture.value(tensor).name}_row", first, shape[1:])
        name = kind.name or ("number" if is_number else capture.value(tensor).name)
        return Given(name, capture.quietly(tensor.to, getattr(torch, kind.dtype)), shape, kind.number)


def _now(item: Any) -> Any:
    """A number as it is now."""
    return item.node.hint if is_symbolic(item) else item


@functools.cache
def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _parts(item: Any) -> Iterator[slice]:
    """The slices of an index."""
    yield from (part for part in (item if isinstance(item, tuple) else (item,)) if isinstance(part, slice))
