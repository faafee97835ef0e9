"""Which tensors of a call's result the call made, so that they are outputs of its node."""

from __future__ import annotations

from typing import Any

import torch

from ....trees import iterate_structure
from ..basics import kinds
from .running import Running


def tensors_made(capture: Running, key: str, result: Any, operands: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors that a call made, or may make where sizes and strides are others: not its operands, nor what is recorded already."""
    if not isinstance(result, (torch.Tensor, tuple, list, dict)):
        return []
    found = [result] if isinstance(result, torch.Tensor) else list(iterate_structure(result))
    given, made = set(map(id, operands)), dict[int, torch.Tensor]()
    for item in found:
        if isinstance(item, torch.Tensor) and (key in kinds.MAY_COPY or id(item) not in given and capture.recorder.find(item) is None):
            made[id(item)] = item
    return list(made.values())
