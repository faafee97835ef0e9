"""Encoders of torch that leave out what a padding mask hides, which a recording cannot show."""

from __future__ import annotations

import sys
from typing import Any

import torch

from ....errors import TracingError


def refuse_nested() -> None:
    """``TracingError`` where an encoder that asks for the form of its mask would go on with nested tensors: it does without gradients, and no mode on.

    It computes the rows that are not hidden alone, and gives zeros for the others.
    """
    encoder = locals_of(torch.nn.TransformerEncoder.forward)
    if not encoder or encoder["mask"] is not None:
        return
    if not (torch.is_grad_enabled() and any(weight.requires_grad for weight in encoder["first_layer"].parameters())):
        raise TracingError(
            "nn.TransformerEncoder gives zeros for what a padding mask hides where no gradient is asked for, by nested tensors, which cannot be "
            "recorded; make it with enable_nested_tensor=False"
        )


def locals_of(function: Any) -> dict[str, Any]:
    """The variables of the innermost running call of a function of torch; none where it does not run."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame.f_locals if frame.f_code is function.__code__ else {}
