"""Encoders of torch, which compute with nested tensors where no gradient is asked for, unless a mode looks on.

``torch.nn.TransformerEncoder`` then computes what a padding mask keeps alone, and gives zeros for what it hides. A recording is a mode, and
without nested tensors the layers make something of the hidden rows too.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ....tracing.environment.conjunction import EnvironmentGuard
from ....tracing.probes import STAND_IN, Probe, Session
from ..compat import function_modes, is_left_aligned

Forward = Callable[..., Tensor]
NESTED = "whether a gradient is asked for decides if an encoder nests tensors"


def _forward(
    session: Session,
    original: Forward,
    self: nn.TransformerEncoder,
    src: Tensor,
    mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool | None = None,
) -> Tensor:
    """As torch's own, but that a mode changes nothing."""
    if src_key_padding_mask is None or mask is not None or is_causal or not _only_recorded(session):
        return original(self, src, mask, src_key_padding_mask, is_causal)
    hidden = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", None, "mask", src.dtype)
    assert hidden is not None
    kept = hidden.logical_not()
    if not _nests(session, self, src, kept):
        return original(_plain(self, self.norm), src, None, src_key_padding_mask, is_causal)
    output = original(_plain(self, None), src, None, kept.logical_not(), is_causal).masked_fill(~kept[..., None], 0.0)
    return output if self.norm is None else self.norm(output)


def _only_recorded(session: Session) -> bool:
    """Whether a recording looks on, and no mode of the user's, or of a device: under these an encoder computes as torch does under them."""
    modes = function_modes()
    return bool(modes) and all(isinstance(mode, session.trace.own_modes) for mode in modes)


def _plain(encoder: nn.TransformerEncoder, norm: nn.Module | None) -> Any:
    """The encoder without nested tensors."""
    return SimpleNamespace(layers=encoder.layers, norm=norm, use_nested_tensor=False)


def _nests(session: Session, encoder: nn.TransformerEncoder, src: Tensor, kept: Tensor) -> bool:
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
    session.note(NESTED, torch.is_grad_enabled())
    return not torch.is_grad_enabled()


def _weights(layer: Any) -> tuple[Tensor, ...]:
    attention = layer.self_attn
    held = (attention, attention.out_proj, layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    given = (getattr(part, name, None) for part in held for name in ("in_proj_weight", "in_proj_bias", "weight", "bias"))
    return tuple(item for item in given if item is not None)


ENCODERS = (Probe(nn.TransformerEncoder, "forward", STAND_IN, _forward),)


def encoder_facts(session: Session) -> list[EnvironmentGuard]:
    """The grad mode of the call, where it has decided."""
    enabled = torch.is_grad_enabled()
    what = "the grad mode, by which an encoder decides what it gives for hidden rows,"
    guard = EnvironmentGuard("{}() is {}", (torch.is_grad_enabled, enabled), what, is_thread_mode=True)
    return [guard] if enabled in session.noted(NESTED) else []
