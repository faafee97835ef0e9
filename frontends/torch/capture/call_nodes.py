"""Nodes for calls that make tensors or write to them, and guards that they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from ....ir.node import Node, Value
from ....trees import iterate_structure, map_structure
from .. import numbers
from ..basics import tensors as kinds
from ..basics.names import proposed_names
from ..basics.tensors import fills_memory, spec_of, storage
from ..compat import count_dispatch_modes, count_function_modes, is_grad_enabled, no_torch_dispatch
from .answers import elements, introduces_int64
from .known_calls import CompletedCall, Outcome, TensorOutcome
from .running import RunningTrace

# ----------------------------------------------------------------------------------------------------- guards
# Guards on ``requires_grad`` of arguments, and guards for calls that failed.

_FACT = "requires_grad"


def backward_pass(capture: RunningTrace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    capture.gradients.last = capture.here()
    if capture.for_torch:
        capture.note_fact(_FACT, capture.call_input_count)
    try:
        return capture.backward_sizes.run(function, args, kwargs)
    except Exception:
        # The user's code may catch the exception.
        capture.fix_all_sizes()
        capture.note_fact(_FACT)
        raise


def guard_failed_call(
    capture: RunningTrace, problem: Exception, operands: list[torch.Tensor], args: Any, kwargs: Any
) -> None:
    # The user's code may catch the exception.
    capture.fix_all_sizes()
    numbers.decide_read(capture, (args, kwargs))
    for tensor in operands:
        capture.guard_fact_if_varying(_FACT, tensor)
        if isinstance(problem, torch.linalg.LinAlgError) or not tensor.is_floating_point():
            elements(capture, torch.Tensor.tolist, (tensor,), {})


def guard_requires_grad(capture: RunningTrace, written: list[Value]) -> None:
    # torch refuses in-place writes to leaves that require gradients, unless gradients are disabled. Other
    # frameworks have no leaves.
    given = capture.recorder.graph.inputs[: capture.call_input_count]
    if (
        not capture.for_torch
        and torch.is_grad_enabled()
        and any(capture.recorder.base_of(value) in given for value in written)
    ):
        capture.note_fact(_FACT, capture.call_input_count)


# ------------------------------------------------------------------------------------------------- call nodes
def add_node(
    capture: RunningTrace, call: CompletedCall, made: list[torch.Tensor], written: list[Value], drew: bool
) -> Node:
    key, operands = call.key, call.operands
    origin = capture.locator.locate(call.name, 5)
    strided = key.startswith("as_strided") and not fills_memory(operands[0])
    if written:
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
        returns_operand=bool(made and operands and made[0] is operands[0]),
        has_wide_integers=wide,
    )
    node = capture.recorder.add_call(call.name, *call.arguments, origin, outputs, record)
    capture.history.follow(node, written)
    capture.layouts.follow(node, key, made, operands)
    register_results(capture, made, outputs, operands if written else ())
    return node


def register_results(
    capture: RunningTrace, made: list[torch.Tensor], outputs: Sequence[Value], written: Sequence[torch.Tensor]
) -> None:
    for tensor, value in zip(made, outputs):
        capture.memory.note(tensor, value)
    if is_grad_enabled():
        capture.quietly(capture.backward_sizes.note, [*made, *written])


def tensors_made(
    capture: RunningTrace, key: str, result: Any, operands: list[torch.Tensor]
) -> list[torch.Tensor]:
    if not isinstance(result, (torch.Tensor, tuple, list, dict)):
        return []
    found = [result] if isinstance(result, torch.Tensor) else list(iterate_structure(result))
    given, made = set(map(id, operands)), dict[int, torch.Tensor]()
    for item in found:
        if isinstance(item, torch.Tensor) and (
            key in kinds.MAY_COPY or id(item) not in given and capture.recorder.find(item) is None
        ):
            made[id(item)] = item
    return list(made.values())


# ------------------------------------------------------------------------------------------------ known calls
# The short path of calls that are like an earlier one (``known_calls.py``).


def run_known_call(
    capture: RunningTrace,
    function: Callable[..., Any],
    name: str,
    key: str,
    operands: list[torch.Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    outcome: Outcome,
) -> CompletedCall:
    """Run a call whose outcome is expected to be ``outcome``, which the caller must check."""
    arguments = capture.arguments_of(args, kwargs)
    capture.exported.look(capture.recorder.graph.name, key, operands)
    if not _is_closed(outcome):
        return CompletedCall(
            name, key, arguments, operands, capture.run_guarded(function, key, operands, args, kwargs)
        )
    # The call is faster if the dispatch mode does not see its kernels.
    with no_torch_dispatch():
        result = capture.run_guarded(function, key, operands, args, kwargs)
    if isinstance(outcome, TensorOutcome) and not outcome.is_view and isinstance(result, torch.Tensor):
        capture.kernels.note(result)
    return CompletedCall(name, key, arguments, operands, result)


def _is_closed(outcome: Outcome) -> bool:
    keeps_history = (
        isinstance(outcome, TensorOutcome) and outcome.needs_grad or forward_ad._current_level >= 0
    )
    return not keeps_history and count_dispatch_modes() == 1 and count_function_modes() == 0


def record_known_call(capture: RunningTrace, call: CompletedCall, outcome: Outcome) -> None:
    if not isinstance(outcome, TensorOutcome):
        return
    origin = capture.locator.locate(call.name, 4)
    outputs = capture.recorder.new_values([(outcome.name, call.result, outcome.spec)])
    views = {0: capture.value(call.operands[0])} if outcome.is_view else {}
    record = capture.history.record_of(call.key, call.arguments, (), result=outputs[0], views=views)
    node = capture.recorder.add_call(call.name, *call.arguments, origin, outputs, record)
    capture.history.follow(node, ())
    capture.layouts.note(outputs[0], node.uses, outcome.order)
    register_results(capture, [call.result], outputs, ())
