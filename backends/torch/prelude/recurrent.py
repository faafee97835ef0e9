"""Recurrent layers: one layer in one direction, arrays [time, batch, features]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def lstm(
    x: torch.Tensor,
    hidden: torch.Tensor,
    cell: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor | None = None,
    bias_hh: torch.Tensor | None = None,
    weight_hr: torch.Tensor | None = None,
    length: torch.Tensor | None = None,
    reverse: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Long short-term memory: (outputs, last hidden state, last cell state)."""
    if length is None:
        weights = (weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
        outputs, hidden, cell = whole_layer(torch.lstm, x, (hidden[None], cell[None]), weights, reverse)
        return outputs, hidden[0], cell[0]

    def step(state: tuple[torch.Tensor, ...], inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        i, f, g, o = (inputs + affine(state[0], weight_hh, bias_hh)).chunk(4, -1)
        kept = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        shown = torch.sigmoid(o) * torch.tanh(kept)
        return (shown if weight_hr is None else shown @ weight_hr.T), kept

    outputs, (hidden, cell) = step_through(step, (hidden, cell), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden, cell


def gru(
    x: torch.Tensor,
    hidden: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor | None = None,
    bias_hh: torch.Tensor | None = None,
    length: torch.Tensor | None = None,
    reverse: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gated recurrent unit: (outputs, last hidden state)."""
    if length is None:
        outputs, hidden = whole_layer(torch.gru, x, hidden[None], (weight_ih, weight_hh, bias_ih, bias_hh), reverse)
        return outputs, hidden[0]

    def step(state: tuple[torch.Tensor, ...], inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        reset_x, update_x, new_x = inputs.chunk(3, -1)
        reset_h, update_h, new_h = affine(state[0], weight_hh, bias_hh).chunk(3, -1)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
        return ((1 - update) * new + update * state[0],)

    outputs, (hidden,) = step_through(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def rnn(
    x: torch.Tensor,
    hidden: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor | None = None,
    bias_hh: torch.Tensor | None = None,
    length: torch.Tensor | None = None,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Elman network: (outputs, last hidden state)."""
    if length is None:
        layer = torch.rnn_tanh if activation == "tanh" else torch.rnn_relu
        outputs, hidden = whole_layer(layer, x, hidden[None], (weight_ih, weight_hh, bias_ih, bias_hh), reverse)
        return outputs, hidden[0]

    def step(state: tuple[torch.Tensor, ...], inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        total = inputs + affine(state[0], weight_hh, bias_hh)
        return (torch.tanh(total) if activation == "tanh" else torch.relu(total),)

    outputs, (hidden,) = step_through(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def whole_layer(layer: Callable[..., Any], x: torch.Tensor, state: Any, weights: tuple[torch.Tensor | None, ...], reverse: bool) -> Any:
    """torch's own layer over the whole sequence: (outputs, states)."""
    held = [weight for weight in weights if weight is not None]
    outputs, *last = layer(x.flip(0) if reverse else x, state, held, weights[2] is not None, 1, 0.0, False, False, False)
    return outputs.flip(0) if reverse else outputs, *last


def affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """``x @ weight.T + bias``."""
    return x @ weight.T if bias is None else x @ weight.T + bias


def step_through(
    step: Callable[..., tuple[torch.Tensor, ...]],
    state: tuple[torch.Tensor, ...],
    inputs: torch.Tensor,
    length: torch.Tensor,
    reverse: bool,
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """(the first state after each step, the last state); steps at or beyond ``length`` change no state and put out 0."""
    outputs = []
    for time in reversed(range(len(inputs))) if reverse else range(len(inputs)):
        inside = (time < length)[:, None]
        new = step(state, inputs[time])
        state = tuple(torch.where(inside, a, b) for a, b in zip(new, state))
        outputs.append(torch.where(inside, new[0], 0))
    return torch.stack(outputs[::-1] if reverse else outputs), state
