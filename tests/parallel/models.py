"""Models that are distributed over devices, and their training."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import graph_compiler
from graph_compiler import training

STEPS = 20
F = torch.nn.functional


class Block(torch.nn.Module):
    """A layer with attention and a gated network, with the parameter names of Llama."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            torch.nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.gate_proj, self.up_proj = (torch.nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down_proj = torch.nn.Linear(2 * width, width, bias=False)
        self.input_norm, self.norm = torch.nn.LayerNorm(width), torch.nn.RMSNorm(width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        y = self.input_norm(x)
        parts = (
            part(y).view(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        attended = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.o_proj(attended.transpose(1, 2).reshape(batch, length, width))
        y = self.norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Decoder(torch.nn.Module):
    """A decoder-only transformer, whose vocabulary size no mesh divides."""

    def __init__(self, words: int = 31, width: int = 8, heads: int = 4) -> None:
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(words, width)
        self.block = Block(width, heads)
        self.lm_head = torch.nn.Linear(width, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        return self.lm_head(self.block(self.embed_tokens(tokens)))


def decoder() -> torch.nn.Module:
    """Return a decoder with the same weights at each call."""
    torch.manual_seed(0)
    return Decoder()


@functools.cache
def decoder_graph(to: str) -> Any:
    """Return the recorded decoder; it is recorded before processes are forked, so that they need not record
    it.
    """
    return graph_compiler.compile(decoder(), to=to, args=(tokens(),))


def tokens(seed: int = 0, rows: int = 8, length: int = 6) -> torch.Tensor:
    return torch.randint(0, 31, (rows, length), generator=torch.Generator().manual_seed(seed))


def cross_entropy(outputs: Any, target: Any) -> Any:
    return F.cross_entropy(outputs.flatten(0, 1), target.flatten())


@functools.cache
def decoder_state(to: str) -> Any:
    rule = training.optimizer("adamw", learning_rate=1e-2)
    return training.TrainState.create(decoder_graph(to), rule, loss=cross_entropy, clip_norm=1.0, ema=0.9)


def trained(to: str, over: Callable[[Any], Any], steps: int = STEPS) -> tuple[np.ndarray[Any, Any], Any]:
    """Return (losses, state) after ``steps`` steps; ``over`` distributes a copy of the initial state."""
    state = over(decoder_state(to))
    losses = []
    for step in range(steps):
        words = tokens(step + 1, length=7)
        state, metrics = training.single_train_step(state, (words[:, :-1], words[:, 1:]))
        losses.append(float(metrics["loss"]))
    return np.array(losses), state
