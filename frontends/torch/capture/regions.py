"""Regions of a torch recording: blocks of torch's higher-order operators and of Python's own statements.

:class:`BlockRecorder` records a block and adds the node. :class:`TorchRegions` uses it for statements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from ....errors import TracingError
from ....forwarding import forward, forwards
from ....ir.builder import Body, close
from ....ir.node import CallRecord, Node, Value, every
from ....ops.registry import ArraySpec, get
from ....recording.control_flow.branches import OuterCopies
from ....recording.control_flow.recorded_regions import MemoryOwner, RecordedBlock, RecordedRegions
from ....recording.control_flow.regions import ArrayKind, Arrays, Block, Inputs
from ....recording.loop_marks import LoopCallbacks, LoopMarker
from ....recording.reachability.snapshot import ObjectSnapshot
from ....sizes import Size
from ..basics.tensors import spec_of
from ..compat import current_transform, without_function_mode
from ..memory.memory import SavedContents
from ..sizes import expression_of, is_symbolic, symbolic
from .running import RunningTrace
from .unrecorded import UnrecordedMode, run_unrecorded, shape_of


@dataclass(frozen=True)
class BlockArgument:
    """Example argument for the function of a block.

    shape: shape that the argument has in the recording, of numbers and symbolic sizes.
    is_number: True if the function gets a number.
    value: the input of the block, if sizes in ``shape`` are read from it; None to make one.
    """

    name: str
    tensor: torch.Tensor
    shape: tuple[Any, ...]
    is_number: bool = False
    value: Value | None = None


@dataclass(frozen=True)
class BlockRecording:
    """A recorded block.

    structure: tree structure (a ``TreeSpec``) of what the function returned.
    kinds: the kind of each leaf of ``structure``, ``"array"``, ``"number"`` or ``"none"``.
    written: tensors of the enclosing scope that the block may write to, with their contents before.
    """

    body: Body
    structure: Any
    kinds: tuple[str, ...]
    written: dict[Value, SavedContents]

    @property
    def specs(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(value.dtype, value.spec.hints) for value in self.body.outputs]


class BlockRecorder:
    """Recorder of the blocks of one operator or statement, which also adds the node that has them as regions.

    functions: functions that the blocks run. If a change of an object that they reach is found,
        :meth:`block` raises ``TracingError``.
    """

    def __init__(self, capture: RunningTrace, call: str, functions: Iterable[Any]) -> None:
        self.capture, self.call = capture, call
        self.origin = replace(capture.here(), call=call)
        self._asked = capture.call
        self._world = ObjectSnapshot([("", function) for function in functions])

    # ------------------------------------------------------------------------------ operands
    def operand(self, item: Any, copied: bool = False) -> tuple[Value, BlockArgument]:
        capture = self.capture
        is_number = not isinstance(item, torch.Tensor)
        name = "number" if is_number else capture.value(item).name
        with capture:
            tensor = torch.tensor(item) if is_number else item.clone() if copied else item
        value = capture.value(tensor)
        return value, BlockArgument(name, tensor, shape_of(capture, value), is_number)

    def row(self, tensor: torch.Tensor) -> tuple[Value, BlockArgument]:
        value = self.capture.value(tensor)
        first = self.capture.quietly(tensor.__getitem__, 0)
        return value, BlockArgument(f"{value.name}_row", first, shape_of(self.capture, value)[1:])

    # ------------------------------------------------------------------------------ recording of a block
    def block(
        self,
        name: str,
        function: Callable[..., Any],
        given: Sequence[BlockArgument] = (),
        may_write: bool = False,
        of_pairs: bool = False,
        is_free: bool = False,
    ) -> BlockRecording:
        """Record ``function``, run on copies of the examples ``given``, and undo its draws and outer writes.

        may_write: True if it may write to outer tensors.
        of_pairs: True if the block must hold for any number of pairs, as in an associative scan.
        is_free: True if it may write to outer tensors while gradients are enabled, too.
        """
        capture, recorder = self.capture, self.capture.recorder
        inputs = [
            item.value or Value(item.name, ArraySpec(item.shape, spec_of(item.tensor).dtype))
            for item in given
        ]
        # The examples belong to the enclosing block, so the function gets tensors of its own.
        copies = [capture.quietly(item.tensor.clone) for item in given]
        decided, capture.count_decided = capture.count_decided, 0
        try:
            with (
                capture.generators.undone(),
                capture.outer_writes.undone(may_write, is_free) as written,
                recorder.block(inputs, of_pairs) as nodes,
            ):
                for copy, value in zip(copies, inputs):
                    self._enter(copy, value)
                with capture:
                    result = function(
                        *(copy.item() if item.is_number else copy for item, copy in zip(given, copies))
                    )
                    leaves, structure = pytree.tree_flatten(result)
                    outputs = self._outputs(leaves)
                self._forget(inputs, nodes)
        finally:
            capture.count_decided, capture.call = decided, self._asked
        self._refuse_changes()
        capture.outer_writes.refuse_shared(nodes, written, self.origin)
        return BlockRecording(
            Body(name, inputs, nodes, outputs), structure, tuple(map(_kind, leaves)), written
        )

    def _enter(self, copy: torch.Tensor, value: Value) -> None:
        capture = self.capture
        capture.recorder.track(copy, value)
        capture.kernels.note(copy)
        capture.memory.note(copy, value)
        capture.history.add(value)
        capture.layouts.add_input(value, copy)
        capture.quietly(capture.backward_sizes.note, [copy])

    def _outputs(self, leaves: Sequence[Any]) -> list[Value]:
        capture, recorder = self.capture, self.capture.recorder
        outputs: list[Value] = []
        owners: set[Value] = set()
        for leaf in leaves:
            if leaf is None:
                continue
            tensor = leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
            owner = recorder.base_of(capture.value(tensor))
            # The results of a region share no memory with each other or with what it reads.
            if owner in owners or not recorder.is_made_here(owner):
                tensor = tensor.clone()
            owners.add(owner)
            outputs.append(capture.value(tensor))
        return outputs

    def _forget(self, inputs: Sequence[Value], nodes: Sequence[Node]) -> None:
        self.capture.memory.forget({*inputs, *(value for node in nodes for value in node.outputs)})

    def _refuse_changes(self) -> None:
        # The function runs only while it is recorded, so calls of the graph would not repeat the change.
        if (change := next(self._world.changes(), None)) is not None:
            where = change.where.lstrip(".") or "a variable"
            raise TracingError(
                f"{self.origin}: {where} is changed inside of a function that {self.call} runs, which "
                "torch's operators forbid. Return it instead"
            )

    # ------------------------------------------------------------------------------ nodes
    def results(self, call: Callable[[UnrecordedMode], Any]) -> tuple[list[Any], bool]:
        """Run an operator by ``call``, without recording it.

        Return the leaves of its result, and True if it drew random numbers.
        """
        capture = self.capture
        leaves = pytree.tree_leaves(run_unrecorded(capture, call))
        drew = capture.quietly(capture.generators.unseen_draws)
        return [capture.quietly(_own, leaf) for leaf in leaves], bool(drew)

    def add(
        self,
        op: str,
        operands: Sequence[Value],
        blocks: Sequence[BlockRecording],
        call: Callable[[UnrecordedMode], Any],
        names: Sequence[str],
        **params: Any,
    ) -> Any:
        """Add the node that runs ``blocks``, and return its results in the pytree of the last block.

        ``call`` runs the operator without recording it, for the results while recording.
        """
        capture, recorder, last = self.capture, self.capture.recorder, blocks[-1]
        written = {value: past.tensor for block in blocks for value, past in block.written.items()}
        (leaves, drew), left = capture.outer_writes.run_and_restore(
            list(written.values()), lambda: self.results(call)
        )
        tensors = [
            leaf if isinstance(leaf, torch.Tensor) else capture.quietly(torch.tensor, leaf)
            for leaf in leaves
            if leaf is not None
        ]
        bodies = [block.body for block in blocks]
        if written:
            copies = OuterCopies(
                list(written), self.origin, "torch.Tensor.clone", CallRecord("clone"), self._spec_of
            )
            first = params.get("carried", len(names))
            bodies, operands, names, params = copies.node(bodies, operands, names, params)
            tensors[first:first] = left
        regions, captured = close(*bodies)
        outputs = recorder.new_values(
            [(name, tensor, spec_of(tensor)) for name, tensor in zip(names, tensors)]
        )
        is_random = drew or any(node.is_random for block in blocks for node in block.body.nodes)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        record = CallRecord(op, result=outputs, random=is_random)
        node = recorder.add_call(op, (*operands, *captured), whole, self.origin, outputs, record, regions)
        capture.history.add(*outputs)
        capture.layouts.follow(node, op, tensors, [])
        for tensor, value in zip(tensors, outputs):
            capture.memory.note(tensor, value)
            capture.quietly(self._refuse_backward, tensor)
        made = iter(tensor for tensor in tensors if not any(tensor is each for each in left))
        with capture:
            for tensor, new in zip(written.values(), left):
                # torch refuses in-place writes to leaves that require gradients.
                with torch.no_grad() if capture.quietly(_is_trained, tensor) else nullcontext():
                    tensor.copy_(new)
            items = [
                None if kind == "none" else next(made).item() if kind == "number" else next(made)
                for kind in last.kinds
            ]
        return pytree.tree_unflatten(items, last.structure)

    def _spec_of(self, value: Value) -> ArraySpec:
        return ArraySpec(shape_of(self.capture, value), value.dtype)

    def _refuse_backward(self, tensor: torch.Tensor) -> None:
        # Such a pass needs what one branch, or a number of iterations, has saved, so the next attempt unrolls
        # the call.
        if tensor.grad_fn is not None:
            ask, call, origin = self.capture.by_kernel.ask, self._asked, self.origin

            def met(gradients: Any) -> None:
                ask(call)
                raise TracingError(f"{origin}: a backward pass inside of the function goes through this call")

            tensor.grad_fn.register_prehook(met)

    def same(self, what: str, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        if list(found) != list(wanted):
            raise TracingError(
                f"{self.origin}: {what} gives {_words(found)} where {_words(wanted)} is needed: data types "
                "and shapes stay the same"
            )


def _is_trained(tensor: torch.Tensor) -> bool:
    return tensor.is_leaf and tensor.requires_grad


def _kind(leaf: Any) -> str:
    return "none" if leaf is None else "array" if isinstance(leaf, torch.Tensor) else "number"


def _own(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf


def _words(specs: Sequence[tuple[str, tuple[int, ...]]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for dtype, shape in specs) or "nothing"


_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
T = TypeVar("T")


@dataclass(frozen=True)
class _TorchBlock(RecordedBlock):
    recorded: BlockRecording


class TorchRegions(RecordedRegions[_TorchBlock]):
    """Recorder of Python's branches and loops as regions of a torch recording."""

    module, arrays, copy = torch, (torch.Tensor,), "clone"

    def __init__(self, capture: RunningTrace) -> None:
        super().__init__(
            capture, capture.outer_writes.tied, lambda size: symbolic(size, capture.decide), capture.decide
        )
        self.capture = capture

    def _handling(self, function: Callable[..., T], *args: Any) -> T:
        with without_function_mode():
            return forward(function, *args)

    # ------------------------------------------------------------------------------ kinds of items
    def is_open(self, item: Any) -> bool:
        recorder = self.capture.recorder
        if is_symbolic(item):
            found = expression_of(item)
            return isinstance(found, Size) and any(
                symbol.kind != "size" and recorder.is_inside(symbol.source) for symbol in found.symbols()
            )
        return isinstance(item, torch.Tensor) and recorder.varies(self._handling(self.capture.value, item))

    def kind(self, item: Any) -> ArrayKind:
        if isinstance(item, torch.Tensor):
            spec = self._handling(spec_of, item)
            return ArrayKind(spec.dtype, tuple(spec.hints))
        return ArrayKind(_name(_DTYPES[type(_now(item))]), (), True)

    # ------------------------------------------------------------------------------ array operations
    def converted(self, item: Any, kind: ArrayKind) -> Any:
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

    # ------------------------------------------------------------------------------ growing lists
    def may_write(self, kind: ArrayKind) -> bool:
        return True

    def needs_a_row(self, kinds: Sequence[ArrayKind]) -> bool:
        # Items that are stacked in each iteration have the axes of an item.
        return any(kind.shape for kind in kinds)

    def collects(self, name: str, kind: ArrayKind) -> bool:
        return kind.number is (name in ("tensor", "asarray"))

    def cast(self, array: Any, dtype: Any) -> Any:
        default = torch.get_default_dtype() if array.dtype == torch.float64 else array.dtype
        return array.to(default if dtype is None else dtype)

    def owned(self, array: Any) -> Any:
        return array.clone(memory_format=torch.contiguous_format)

    def sliced(self, array: Any, rows: slice) -> Any:
        if rows.step != -1:
            return array[rows]
        self.freeze(array)
        self.freeze(found := array.flip(0))
        return found

    def joined_beside(self, arrays: Sequence[Any]) -> Any:
        return torch.cat(list(arrays), 1)

    def joined_on_axis_1(self, arrays: Sequence[Any]) -> Any:
        return self._handling(self._kept_beside, self.joined_beside(arrays), arrays)

    def concatenated(self, arrays: Sequence[Any]) -> Any:
        return torch.cat(list(arrays))

    def no_rows(self, kind: ArrayKind) -> Any:
        return torch.zeros((0, *kind.shape), dtype=getattr(torch, kind.dtype))

    def freeze(self, array: Any) -> None:
        self._handling(lambda: self.tied.freeze(self.capture.value(array)))

    def collective(self, name: str, x: Any, **params: Any) -> Any:
        operands = (
            () if x is None else (x if isinstance(x, torch.Tensor) else self.converted(x, self.kind(x)),)
        )
        if name == "sharding_hint":
            params = {
                "layout": ",".join(
                    entry if isinstance(entry, str) else "+".join(entry or ()) for entry in params["layout"]
                )
            }
        return getattr(torch.ops.graph_compiler, name)(*operands, *params.values())

    # ------------------------------------------------------------------------------ conditions
    @forwards
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
        blocks = BlockRecorder(self.capture, "a traced statement", ())
        blocks.block(
            "trial", function, [self._given(item, kind) for item, kind in given], may_write=True, is_free=True
        )

    def branch(self, truth: Any, then: Block, otherwise: Block, names: Sequence[str]) -> Arrays:
        return self._handling(super().branch, truth, then, otherwise, names)

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[ArrayKind]) -> Arrays:
        return self.entered(
            self._handling(super().while_loop, test, body, carried, kinds), list(zip(carried, kinds))
        )

    def scan(
        self,
        body: Block,
        carried: Arrays,
        kinds: Sequence[ArrayKind],
        rows: Arrays,
        length: Any,
        checkpoint: bool,
    ) -> Arrays:
        found = self._handling(super().scan, body, carried, kinds, rows, length, checkpoint)
        return [*self.entered(found[: len(carried)], list(zip(carried, kinds))), *found[len(carried) :]]

    def value_of(self, item: Any) -> Value:
        return self.capture.value(item)

    def block(self, name: str, function: Block, given: Inputs) -> _TorchBlock:
        outside: list[Value] = []
        owners: list[MemoryOwner] = []

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
        return _TorchBlock(found.body, outside, owners, found)

    def _not_made(self, arrays: Arrays) -> list[Value]:
        return self.not_made([self.capture.value(array) for array in arrays if array.ndim])

    def _blocks(self, is_loop: bool) -> BlockRecorder:
        return BlockRecorder(self.capture, "a loop" if is_loop else "a condition", ())

    def node(
        self,
        op: str,
        operands: Sequence[Value],
        blocks: Sequence[_TorchBlock],
        steps: Callable[[], Arrays],
        names: Sequence[str],
        **params: Any,
    ) -> Arrays:
        def run(mode: Any) -> Arrays:
            with self.as_python(), mode:
                return [array.clone() for array in steps()] if "carried" in params else list(steps())

        recorded = [block.recorded for block in blocks]
        return list(self._blocks("carried" in params).add(op, operands, recorded, run, names, **params))

    def concrete_truth(self, truth: Any) -> bool:
        return bool(truth)

    def entered(self, arrays: Arrays, given: Inputs) -> Arrays:
        return [
            array.item() if kind is not None and kind.number else array
            for array, (_, kind) in zip(arrays, given)
        ]

    def _refuse_slices(self, nodes: Sequence[Node]) -> None:
        # Not all frameworks have slices of varying size.
        for node in () if self.capture.for_torch else every(nodes):
            bounds = (
                bound for item in node.inputs for part in _parts(item) for bound in (part.start, part.stop)
            )
            if node.op.endswith("getitem__") and any(
                isinstance(bound, Size) and bound.reads_elements() for bound in bounds
            ):
                raise TracingError(
                    f"{node.origin}: each step of a loop on values takes another slice, of no fixed size. "
                    "Index by a number (x[i]), or compute with a mask (torch.where)"
                )

    def _given(self, item: Any, kind: ArrayKind | None) -> BlockArgument:
        """Return the example argument for ``item``, or for a row of ``item`` if ``kind`` is None."""
        capture = self.capture
        is_number = not isinstance(item, torch.Tensor)
        tensor = capture.quietly(torch.tensor, _now(item)) if is_number else item
        shape = () if is_number else shape_of(capture, capture.value(tensor))
        if kind is None:
            # An array without rows has no first one.
            first = capture.quietly(lambda: tensor[0] if len(tensor) else tensor.new_zeros(tensor.shape[1:]))
            return BlockArgument(f"{capture.value(tensor).name}_row", first, shape[1:])
        name = kind.name or ("number" if is_number else capture.value(tensor).name)
        return BlockArgument(name, capture.quietly(tensor.to, getattr(torch, kind.dtype)), shape, kind.number)


def _now(item: Any) -> Any:
    return item.node.hint if is_symbolic(item) else item


@functools.cache
def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _parts(item: Any) -> Iterator[slice]:
    yield from (part for part in (item if isinstance(item, tuple) else (item,)) if isinstance(part, slice))


_ITERATION = torch.Tensor.__iter__.__code__


def loops_of(capture: RunningTrace) -> LoopMarker:
    means = LoopCallbacks(
        "torch",
        functools.partial(_value_of, capture),
        lambda item: expression_of(item) if is_symbolic(item) else item,
        lambda size: symbolic(size, capture.decide),
        capture.here,
        # A rule becomes a region, in which no loop is made of iterations.
        lambda: (
            not capture.kernels.inside_call and current_transform() is None and not capture.rules.are_recorded
        ),
        lambda: len(capture.recorder.graph.nodes),
    )
    return LoopMarker(capture.recorder, means)


def rows_of(capture: RunningTrace, args: tuple[Any, ...], frame: FrameType) -> Any:
    """Return an iterable of the rows of ``args[0]`` by which the iterations of a loop are marked, or None."""
    if frame.f_code is not _ITERATION or frame.f_back is None:
        return None
    with capture:
        steps = capture.loops.steps_of(args[0])
        return None if steps is None else capture.loops.run(frame.f_back, steps)


def _value_of(capture: RunningTrace, item: Any) -> tuple[Value, Any] | None:
    if not isinstance(item, torch.Tensor):
        return None
    value = capture.recorder.find(item)
    return None if value is None else (value, (type(item), capture.quietly(_needs, item)))


def _needs(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad
