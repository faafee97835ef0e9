"""Tensors that a function finds outside of itself."""

from __future__ import annotations

import torch

from ..trace import Trace


def is_captured(capture: Trace, tensor: torch.Tensor) -> bool:
    """Whether a tensor comes from outside of the function and is no input, met before or not."""
    value = capture.recorder.find(tensor)
    return not capture.unseen.made(tensor) if value is None else capture.is_weight(value)
