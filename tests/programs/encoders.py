"""Encoders of torch with a padding mask, of which torch itself leaves out what is hidden where no gradient is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import ELSEWHERE, Program, quiet


def _encoder(trained: bool, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 1, **options).eval().requires_grad_(trained)
        return quiet(lambda x, hidden: encoder(x, src_key_padding_mask=hidden))  # torch calls nested tensors a prototype

    return make


def _call(rows: int, columns: int, *hidden: int) -> Callable[[], tuple[Any, ...]]:
    mask = torch.tensor([[row == 0 and column in hidden for column in range(columns)] for row in range(rows)])
    return lambda: ((torch.arange(rows * columns * 4.0) * 5 % 13 / 6 - 1).reshape(rows, columns, 4), mask)


_CALLS = (_call(2, 3, 2), _call(2, 3, 1, 2), _call(3, 4), _call(2, 3, 0))  # the last one is hidden on the left

PROGRAMS = [
    Program("padded", _encoder(True), _CALLS),
    Program("padded_without_gradients", _encoder(False), _CALLS, dict.fromkeys(("torch", ELSEWHERE), "enable_nested_tensor=False")),
    Program("padded_and_not_nested", _encoder(False, enable_nested_tensor=False), _CALLS),
]
