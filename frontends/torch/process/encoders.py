"""Encoders of torch, which compute with nested tensors where no gradient is asked for, unless a mode looks on.

``torch.nn.TransformerEncoder`` then computes what a padding mask keeps alone, and gives zeros for what it hides. A recording is a mode, and
without nested tensors the layers make something of the hidden rows too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ....tracing.conjunction import EnvironmentGuard
from ..compat import function_modes, is_left_aligned

Forward = Callable[..., Tensor]
_ORIGINAL: Forward = nn.TransformerEncoder.forward
_lock = threading.Lock()
_open: list[NestedEncoders] = []


class NestedEncoders:
    """Inside of the block, encoders give under a mode what they give without one; notes whether the grad mode has decided.

    Modes of the recording are of the classes ``own``: under others an encoder computes as torch does under them. Other threads, where no
    mode is on, are left alone.
    """

    def __init__(self, *own: type[TorchFunctionMode]) -> None:
        self._grad_modes: set[bool] = set()
        self.own = own

    def __enter__(self) -> NestedEncoders:
        with _lock:
            _open.append(self)
            nn.TransformerEncoder.forward = _forward
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                nn.TransformerEncoder.forward = _ORIGINAL

    def note_grad_mode(self) -> None:
        """The grad mode has decided whether tensors are nested."""
        self._grad_modes.add(torch.is_grad_enabled())

    def facts(self) -> list[EnvironmentGuard]:
        """The grad mode of the call, where it has decided."""
        enabled = torch.is_grad_enabled()
        what = "the grad mode, by which an encoder decides what it gives for hidden rows,"
        return (
            [EnvironmentGuard("{}() is {}", (torch.is_grad_enabled, enabled), what, is_thread_mode=True)]
            if enabled in self._grad_modes
            else []
        )


def _forward(
    self: nn.TransformerEncoder,
    src: Tensor,
    mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool | None = None,
) -> Tensor:
    """As torch's own, but that a mode changes nothing."""
    if src_key_padding_mask is None or mask is not None or is_causal or not _only_recorded():
        return _ORIGINAL(self, src, mask, src_key_padding_mask, is_causal)
    hidden = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", None, "mask", src.dtype)
    assert hidden is not None
    kept = hidden.logical_not()
    if not _nests(self, src, kept):
        return _ORIGINAL(_plain(self, self.norm), src, None, src_key_padding_mask, is_causal)
    output = _ORIGINAL(_plain(self, None), src, None, kept.logical_not(), is_causal).masked_fill(~kept[..., None], 0.0)
    return output if self.norm is None else self.norm(output)


def _only_recorded() -> bool:
    """Whether a recording looks on, and no mode of the user's, or of a device."""
    own = tuple(cls for block in tuple(_open) for cls in block.own)
    modes = function_modes()
    return bool(modes) and all(isinstance(mode, own) for mode in modes)


def _plain(encoder: nn.TransformerEncoder, norm: nn.Module | None) -> Any:
    """The encoder without nested tensors."""
    return SimpleNamespace(layers=encoder.layers, norm=norm, use_nested_tensor=False)


def _nests(encoder: nn.TransformerEncoder, src: Tensor, kept: Tensor) -> bool:
    """Whether torch 2.13 takes nested tensors where no mode is on; it asks in the same order, of ``first`` alone."""
    first: Any = encoder.layers[0]
    if not (torch.backends.mha.get_fastpath_enabled() and getattr(encoder, "use_nested_tensor", False)) or first.training or src.dim() != 3:
        return False
    if getattr(encoder, "mask_check", True) and not is_left_aligned(src, kept):
        return False
    if torch.is_autocast_enabled():
        return False
    if not any(tensor.requires_grad for tensor in (src, *_weights(first))):
        return True
    for block in tuple(_open):
        block.note_grad_mode()
    return not torch.is_grad_enabled()


def _weights(layer: Any) -> tuple[Tensor, ...]:
    attention = layer.self_attn
    held = (attention, attention.out_proj, layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    given = (getattr(part, name, None) for part in held for name in ("in_proj_weight", "in_proj_bias", "weight", "bias"))
    return tuple(item for item in given if item is not None)
