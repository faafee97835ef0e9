"""Guards on ``requires_grad`` of arguments, and guards for calls that failed."""

from __future__ import annotations

from typing import Any

import torch

from ....ir.node import Value
from ..numbers import numbers
from .answers import elements
from .running import RunningTrace

_FACT = "requires_grad"


def backward_pass(capture: RunningTrace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a backward pass, whose kernels are recorded one by one, and return its result.

    In a graph for torch, guard on ``requires_grad`` of the arguments. If the pass raises, guard on all
    sizes and on ``requires_grad`` of all inputs, because the user's code may catch the exception.
    """
    capture.gradients.last = capture.here()
    if capture.for_torch:
        capture.note_fact(_FACT, capture.count_call_inputs)
    try:
        return capture.backward_sizes.run(function, args, kwargs)
    except Exception:
        capture.fix_all_sizes()
        capture.note_fact(_FACT)
        raise


def guard_failed_call(
    capture: RunningTrace, problem: Exception, operands: list[torch.Tensor], args: Any, kwargs: Any
) -> None:
    """Guard on what a call that raised `problem` depends on, because the user's code may catch the exception.

    These are all sizes, the numbers in its arguments, and, if an operand varies between calls,
    ``requires_grad`` of the inputs and the elements of operands that are no floats. After a
    ``LinAlgError`` the elements of all operands are guarded.
    """
    capture.fix_all_sizes()
    numbers.decide_read(capture, (args, kwargs))
    for tensor in operands:
        capture.depends_on(_FACT, tensor)
        if isinstance(problem, torch.linalg.LinAlgError) or not tensor.is_floating_point():
            elements(capture, torch.Tensor.tolist, (tensor,), {})


def guard_requires_grad(capture: RunningTrace, written: list[Value]) -> None:
    """Guard on ``requires_grad`` of the arguments if one is written to in a graph for another framework.

    torch refuses in-place writes to leaves that require gradients, and other frameworks know no leaves.
    Under ``no_grad`` torch allows the write, so there is no guard.
    """
    given = capture.recorder.graph.inputs[: capture.count_call_inputs]
    if (
        not capture.for_torch
        and torch.is_grad_enabled()
        and any(capture.recorder.base_of(value) in given for value in written)
    ):
        capture.note_fact(_FACT, capture.count_call_inputs)
