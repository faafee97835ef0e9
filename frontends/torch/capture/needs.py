"""Where a recording holds only for arguments that need gradients as those of its call do, and what a call
that failed holds for.
"""

from __future__ import annotations

from typing import Any

import torch

from ....ir.node import Value
from ..numbers import numbers
from .answers import elements
from .running import Running

_FACT = "requires_grad"


def backward_pass(capture: Running, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a backward pass, whose kernels are recorded one by one. In torch it holds for arguments
    that need gradients as these do.

    A pass that fails, where the user's code may go on, holds for these sizes and needs everywhere.
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


def hold_to_failure(
    capture: Running, problem: Exception, operands: list[torch.Tensor], args: Any, kwargs: Any
) -> None:
    """Where a call has failed and the user's code goes on, that holds for these sizes and needs, and where
    elements matter, these elements.
    """
    capture.fix_all_sizes()
    numbers.decide_read(capture, (args, kwargs))
    for tensor in operands:
        capture.depends_on(_FACT, tensor)
        if isinstance(problem, torch.linalg.LinAlgError) or not tensor.is_floating_point():
            elements(capture, torch.Tensor.tolist, (tensor,), {})


def hold_to_needs(capture: Running, written: list[Value]) -> None:
    """torch refuses writes to arguments that need gradients, where other frameworks know of no need."""
    given = capture.recorder.graph.inputs[: capture.count_call_inputs]
    if (
        not capture.for_torch
        and torch.is_grad_enabled()
        and any(capture.recorder.base_of(value) in given for value in written)
    ):
        capture.note_fact(_FACT, capture.count_call_inputs)
