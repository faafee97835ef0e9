"""Programs with torch encoders and a padding mask. Without gradients torch sets padded rows to zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import Program, quiet


def _encoder(trained: bool, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 1, **options).eval().requires_grad_(trained)
        # torch warns that nested tensors are a prototype.
        return quiet(lambda x, hidden: encoder(x, src_key_padding_mask=hidden))

    return make


def _both_modes() -> Any:
    encoded = _encoder(True)()

    def both(x: Any, hidden: Any) -> Any:
        with torch.no_grad():
            outside = encoded(x, hidden)
        return outside, encoded(x, hidden)

    return both


def _under(mode: Callable[[], Any]) -> Callable[[], Any]:
    """Return a maker of functions that call the encoder under ``mode``, where padded rows are computed like
    all others.
    """

    def make() -> Any:
        encoded = _encoder(False)()

        def under(x: Any, hidden: Any) -> Any:
            with mode():
                return encoded(x, hidden)

        return under

    return make


def _call(rows: int, columns: int, *hidden: int) -> Callable[[], tuple[Any, ...]]:
    mask = torch.tensor([[row == 0 and column in hidden for column in range(columns)] for row in range(rows)])
    return lambda: ((torch.arange(rows * columns * 4.0) * 5 % 13 / 6 - 1).reshape(rows, columns, 4), mask)


# In the last mask the padding is on the left.
_CALLS = (
    _call(2, 3, 2),
    _call(2, 3, 1, 2),
    _call(3, 4),
    _call(2, 3, 0),
)

PROGRAMS = [
    Program("padded", _encoder(True), _CALLS),
    Program("padded_without_gradients", _encoder(False), _CALLS),
    Program("padded_and_normalised", _encoder(False, norm=nn.LayerNorm(4)), _CALLS),
    Program("padded_in_both_modes", _both_modes, _CALLS),
    Program("padded_on_a_device", _under(lambda: torch.device("cpu")), _CALLS),
    Program("padded_under_a_mode", _under(torch.overrides.BaseTorchFunctionMode), _CALLS),
    Program("padded_and_not_nested", _encoder(False, enable_nested_tensor=False), _CALLS),
]
