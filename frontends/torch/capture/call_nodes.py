"""Adds nodes for calls that make tensors or write to them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ....ir.node import Node, Value
from ....trees import map_structure
from ..basics import tensors as kinds
from ..basics.names import proposed_names
from ..basics.tensors import fills_memory, spec_of, storage
from ..compat import is_grad_enabled
from .int64_seen import introduces_int64
from .known_calls import CompletedCall
from .needs import guard_requires_grad
from .running import RunningTrace


def add_node(
    capture: RunningTrace, call: CompletedCall, made: list[torch.Tensor], written: list[Value], drew: bool
) -> Node:
    """Add a node for a call that made tensors, wrote to values, or drew random numbers, and return it.

    Raise ``TracingError`` for a write that a graph cannot make: to a result of an ``autograd.Function``
    that is a view, or, inside of a block, to an outer tensor that the block may not write to.
    """
    key, operands = call.key, call.operands
    origin = capture.locator.locate(call.name, 4)
    strided = key.startswith("as_strided") and not fills_memory(operands[0])
    if written:
        capture.rules.refuse_writes(written, origin)
        capture.outer_writes.refuse(written, origin)
        guard_requires_grad(capture, written)
    wide = capture.quietly(
        introduces_int64, capture, key, [*made, *(operands[:1] if written else ())], operands
    )
    # If several operands share a storage, the first is the source of a view, so it overwrites the others.
    memory = {storage(operand): capture.value(operand) for operand in reversed(operands)}
    names = proposed_names(key, call.result, made)
    outputs = capture.recorder.new_values(
        [(wish, tensor, spec_of(tensor)) for wish, tensor in zip(names, made)]
    )
    record = capture.history.record_of(
        key,
        call.arguments,
        written,
        result=map_structure(
            lambda item: capture.recorder.find(item) if isinstance(item, torch.Tensor) else item, call.result
        ),
        views={index: memory[place] for index, place in enumerate(map(storage, made)) if place in memory},
        random=bool(drew or key in kinds.RANDOM),
        strided=strided,
        itself=bool(made and operands and made[0] is operands[0]),
        wide=wide,
    )
    node = capture.recorder.add_call(call.name, *call.arguments, origin, outputs, record)
    capture.history.follow(node, written)
    capture.layouts.follow(node, key, made, operands)
    register_results(capture, made, outputs, operands if written else ())
    return node


def register_results(
    capture: RunningTrace, made: list[torch.Tensor], outputs: Sequence[Value], written: Sequence[torch.Tensor]
) -> None:
    """Register the storages of the tensors `made` by a call.

    While gradients are enabled, register the autograd nodes of these and of the `written` tensors, too.
    """
    for tensor, value in zip(made, outputs):
        capture.memory.note(tensor, value)
    if is_grad_enabled():
        capture.quietly(capture.backward_sizes.note, [*made, *written])
