"""Blocks of a recording: functions that one of torch's operators runs, recorded once each, for one node of the graph.

A function is run on what it will be given: outer tensors as they are, and for what changes from step to step a copy that stands for an
input of the block. Its calls go to the list of the block. Sizes of inputs are sizes of the outside; what the recording relies on can be
checked outside, or in the block where it is a size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from ....errors import TracingError
from ....ir.closing import Body, close
from ....ir.node import Node, Value
from ....ir.record import CallRecord
from ....ops.registry import ArraySpec, get
from ....tracing.control_flow.outer_copies import OuterCopies
from ....tracing.reach.world import World
from ..basics.tensors import spec_of
from ..memory.saved_contents import SavedContents
from .opened import shape_of
from .unrecorded import Unrecorded, unrecorded_call

if TYPE_CHECKING:
    from .running import Running


@dataclass(frozen=True)
class Given:
    """What the function of a block is given for an input: a copy of ``tensor`` that stands for an array of ``shape``; a number where it
    ``is_number``.

    ``value`` is the input, where sizes of ``shape`` are read from it.
    """

    name: str
    tensor: torch.Tensor
    shape: tuple[Any, ...]
    is_number: bool = False
    value: Value | None = None


@dataclass(frozen=True)
class Recorded:
    """A block, in which containers the function returns its outputs (``kinds`` are those of the leaves), and what it has ``written`` to
    outside."""

    body: Body
    structure: Any
    kinds: tuple[str, ...]
    written: dict[Value, SavedContents]

    @property
    def specs(self) -> list[tuple[str, tuple[int, ...]]]:
        """Data types and shapes of the outputs as they are now."""
        return [(value.dtype, value.spec.hints) for value in self.body.outputs]


class Blocks:
    """The blocks of one call of an operator. ``functions`` are those of the user."""

    def __init__(self, capture: Running, call: str, functions: Iterable[Any]) -> None:
        self.capture, self.call = capture, call
        self.origin = replace(capture.here(), call=call)
        self._asked = capture.call
        self._world = World([("", function) for function in functions])

    # ------------------------------------------------------------------------------ what is given
    def operand(self, item: Any, copied: bool = False) -> tuple[Value, Given]:
        """An array, or a number, that is carried from step to step; ``copied`` where a loop without steps gives it back."""
        capture = self.capture
        is_number = not isinstance(item, torch.Tensor)
        name = "number" if is_number else capture.value(item).name
        with capture:
            tensor = torch.tensor(item) if is_number else item.clone() if copied else item
        value = capture.value(tensor)
        return value, Given(name, tensor, shape_of(capture, value), is_number)

    def row(self, tensor: torch.Tensor) -> tuple[Value, Given]:
        """A sequence, of which each step is given one row."""
        value = self.capture.value(tensor)
        first = self.capture.quietly(tensor.__getitem__, 0)
        return value, Given(f"{value.name}_row", first, shape_of(self.capture, value)[1:])

    # ------------------------------------------------------------------------------ one block
    def block(
        self,
        name: str,
        function: Callable[..., Any],
        given: Sequence[Given] = (),
        may_write: bool = False,
        of_pairs: bool = False,
        is_free: bool = False,
    ) -> Recorded:
        """The block that ``function(*given)`` makes; ``of_pairs`` where it does so for any number of them, ``is_free`` where it may write
        to outer tensors under gradients too."""
        capture, recorder = self.capture, self.capture.recorder
        inputs = [item.value or Value(item.name, ArraySpec(item.shape, spec_of(item.tensor).dtype)) for item in given]
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
                    result = function(*(copy.item() if item.is_number else copy for item, copy in zip(given, copies)))
                    leaves, structure = pytree.tree_flatten(result)
                    outputs = self._outputs(leaves)
                self._forget(inputs, nodes)
        finally:
            capture.count_decided, capture.call = decided, self._asked
        self._refuse_changes()
        capture.outer_writes.refuse_shared(nodes, written, self.origin)
        return Recorded(Body(name, inputs, nodes, outputs), structure, tuple(map(_kind, leaves)), written)

    def _enter(self, copy: torch.Tensor, value: Value) -> None:
        capture = self.capture
        capture.recorder.track(copy, value)
        capture.unseen.note(copy)
        capture.memory.note(copy, value)
        capture.history.add(value)
        capture.layouts.add_input(value, copy)
        capture.quietly(capture.backward_sizes.note, [copy])

    def _outputs(self, leaves: Sequence[Any]) -> list[Value]:
        """The arrays that a function returned: each has memory of its own, which nothing outside has."""
        capture, recorder = self.capture, self.capture.recorder
        outputs: list[Value] = []
        owners: set[Value] = set()
        for leaf in leaves:
            if leaf is None:
                continue
            tensor = leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
            owner = recorder.base_of(capture.value(tensor))
            if owner in owners or not recorder.is_made_here(owner):
                tensor = tensor.clone()
            owners.add(owner)
            outputs.append(capture.value(tensor))
        return outputs

    def _forget(self, inputs: Sequence[Value], nodes: Sequence[Node]) -> None:
        self.capture.memory.forget({*inputs, *(value for node in nodes for value in node.outputs)})

    def _refuse_changes(self) -> None:
        """``TracingError`` where the function has changed an object that it can reach: it would be changed once for each time that it is
        recorded."""
        if (change := next(self._world.changes(), None)) is not None:
            where = change.where.lstrip(".") or "a variable"
            raise TracingError(
                f"{self.origin}: {where} is changed inside of a function that {self.call} runs, which torch's operators forbid. Return it "
                "instead"
            )

    # ------------------------------------------------------------------------------ the node
    def results(self, call: Callable[[Unrecorded], Any]) -> tuple[list[Any], bool]:
        """The leaves of what the operator gives now, and whether random numbers were drawn for it."""
        capture = self.capture
        leaves = pytree.tree_leaves(unrecorded_call(capture, call))
        drew = capture.quietly(capture.generators.unseen_draws)
        return [capture.quietly(_own, leaf) for leaf in leaves], bool(drew)

    def add(
        self,
        op: str,
        operands: Sequence[Value],
        blocks: Sequence[Recorded],
        call: Callable[[Unrecorded], Any],
        names: Sequence[str],
        **params: Any,
    ) -> Any:
        """The node that runs the blocks, and what it gives in the containers of the last block."""
        capture, recorder, last = self.capture, self.capture.recorder, blocks[-1]
        written = {value: past.tensor for block in blocks for value, past in block.written.items()}
        (leaves, drew), left = capture.outer_writes.before_and_after(list(written.values()), lambda: self.results(call))
        tensors = [leaf if isinstance(leaf, torch.Tensor) else capture.quietly(torch.tensor, leaf) for leaf in leaves if leaf is not None]
        bodies = [block.body for block in blocks]
        if written:
            copies = OuterCopies(list(written), self.origin, "torch.Tensor.clone", CallRecord("clone"), self._spec_of)
            first = params.get("carried", len(names))
            bodies, operands, names, params = copies.node(bodies, operands, names, params)
            tensors[first:first] = left
        regions, captured = close(*bodies)
        outputs = recorder.new_values([(name, tensor, spec_of(tensor)) for name, tensor in zip(names, tensors)])
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
                with torch.no_grad() if capture.quietly(_is_trained, tensor) else nullcontext():
                    tensor.copy_(new)
            items = [None if kind == "none" else next(made).item() if kind == "number" else next(made) for kind in last.kinds]
        return pytree.tree_unflatten(items, last.structure)

    def _spec_of(self, value: Value) -> ArraySpec:
        """What a loop carries where it writes to an array."""
        return ArraySpec(shape_of(self.capture, value), value.dtype)

    def _refuse_backward(self, tensor: torch.Tensor) -> None:
        """A backward pass inside of the function that comes here is one through one branch, or these steps: the next attempt writes them
        out."""
        if tensor.grad_fn is not None:
            ask, call, origin = self.capture.by_kernel.ask, self._asked, self.origin

            def met(gradients: Any) -> None:
                ask(call)
                raise TracingError(f"{origin}: a backward pass inside of the function goes through this call")

            tensor.grad_fn.register_prehook(met)

    def same(self, what: str, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        """``TracingError`` where data types or shapes differ."""
        if list(found) != list(wanted):
            raise TracingError(
                f"{self.origin}: {what} gives {_words(found)} where {_words(wanted)} is needed: data types and shapes stay the same"
            )


def _is_trained(tensor: torch.Tensor) -> bool:
    """Whether a tensor can be written to under ``torch.no_grad`` alone."""
    return tensor.is_leaf and tensor.requires_grad


def _kind(leaf: Any) -> str:
    return "none" if leaf is None else "array" if isinstance(leaf, torch.Tensor) else "number"


def _own(leaf: Any) -> Any:
    """A result as a tensor of its own: a branch may give one of its operands."""
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf


def _words(specs: Sequence[tuple[str, tuple[int, ...]]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for dtype, shape in specs) or "nothing"
