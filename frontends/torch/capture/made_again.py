"""Calls that are like an earlier one of the recording, whose outcome is known (:mod:`.known_calls`): they are made, and noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from ..compat import count_dispatch_modes, count_function_modes, no_torch_dispatch
from .call_nodes import note_made
from .known_calls import Call, Made, Outcome
from .running import Running


def made_again(
    capture: Running,
    function: Callable[..., Any],
    name: str,
    key: str,
    operands: list[torch.Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    outcome: Outcome,
) -> Call:
    """The call, made. Where nobody can meet what its kernels make on the way, these are not looked at."""
    arguments = capture.arguments_of(args, kwargs)
    capture.exported.look(capture.recorder.graph.name, key, operands)
    if not _is_closed(outcome):
        return Call(name, key, arguments, operands, capture.attempt(function, key, operands, args, kwargs))
    with no_torch_dispatch():
        result = capture.attempt(function, key, operands, args, kwargs)
    if isinstance(outcome, Made) and not outcome.is_view and isinstance(result, torch.Tensor):
        capture.unseen.note(result)
    return Call(name, key, arguments, operands, result)


def _is_closed(outcome: Outcome) -> bool:
    """Whether a call keeps nothing but its result: no history for gradients, backward or forward, and no mode of the user's sees it."""
    keeps_history = isinstance(outcome, Made) and outcome.needs_grad or forward_ad._current_level >= 0
    return not keeps_history and count_dispatch_modes() == 1 and count_function_modes() == 0


def note_again(capture: Running, call: Call, outcome: Outcome) -> None:
    """A node of a call that has this ``outcome``; none of one that gives back an operand."""
    if not isinstance(outcome, Made):
        return
    origin = capture.locator.locate(call.name, 4)
    outputs = capture.recorder.new_values([(outcome.name, call.result, outcome.spec)])
    views = {0: capture.value(call.operands[0])} if outcome.is_view else {}
    record = capture.history.record_of(call.key, call.arguments, (), result=outputs[0], views=views)
    node = capture.recorder.add_call(call.name, *call.arguments, origin, outputs, record)
    capture.history.follow(node, ())
    capture.layouts.note(outputs[0], node.uses, outcome.order)
    note_made(capture, [call.result], outputs, ())
