"""Recurrent layers: one layer in one direction, arrays [time, batch, features]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def lstm(
    x: np.ndarray,
    hidden: np.ndarray,
    cell: np.ndarray,
    weight_ih: np.ndarray,
    weight_hh: np.ndarray,
    bias_ih: np.ndarray | None = None,
    bias_hh: np.ndarray | None = None,
    weight_hr: np.ndarray | None = None,
    length: np.ndarray | None = None,
    reverse: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Long short-term memory: (outputs, last hidden state, last cell state)."""

    def step(state: tuple[np.ndarray, ...], inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        i, f, g, o = np.split(inputs + affine(state[0], weight_hh, bias_hh), 4, -1)
        kept = logistic(f) * state[1] + logistic(i) * np.tanh(g)
        shown = logistic(o) * np.tanh(kept)
        return (shown if weight_hr is None else shown @ weight_hr.T), kept

    outputs, (hidden, cell) = run_sequence(step, (hidden, cell), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden, cell


def gru(
    x: np.ndarray,
    hidden: np.ndarray,
    weight_ih: np.ndarray,
    weight_hh: np.ndarray,
    bias_ih: np.ndarray | None = None,
    bias_hh: np.ndarray | None = None,
    length: np.ndarray | None = None,
    reverse: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Gated recurrent unit: (outputs, last hidden state)."""

    def step(state: tuple[np.ndarray, ...], inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        reset_x, update_x, new_x = np.split(inputs, 3, -1)
        reset_h, update_h, new_h = np.split(affine(state[0], weight_hh, bias_hh), 3, -1)
        update = logistic(update_x + update_h)
        new = np.tanh(new_x + logistic(reset_x + reset_h) * new_h)
        return ((1 - update) * new + update * state[0],)

    outputs, (hidden,) = run_sequence(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def rnn(
    x: np.ndarray,
    hidden: np.ndarray,
    weight_ih: np.ndarray,
    weight_hh: np.ndarray,
    bias_ih: np.ndarray | None = None,
    bias_hh: np.ndarray | None = None,
    length: np.ndarray | None = None,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Elman network: (outputs, last hidden state)."""

    def step(state: tuple[np.ndarray, ...], inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        total = inputs + affine(state[0], weight_hh, bias_hh)
        return (np.tanh(total) if activation == "tanh" else np.maximum(total, 0),)

    outputs, (hidden,) = run_sequence(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def affine(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """``x @ weight.T + bias``."""
    return x @ weight.T if bias is None else x @ weight.T + bias


def logistic(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``."""
    return 1 / (1 + np.exp(-x))


def run_sequence(
    step: Callable[..., tuple[np.ndarray, ...]],
    state: tuple[np.ndarray, ...],
    inputs: np.ndarray,
    length: np.ndarray | None,
    reverse: bool,
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """(the first state after each step, the last state); steps at or beyond ``length`` change no state and put out 0."""
    outputs = np.empty((*inputs.shape[:2], state[0].shape[-1]), inputs.dtype)
    times = range(len(inputs))
    for time in reversed(times) if reverse else times:
        new = step(state, inputs[time])
        if length is None:
            state, outputs[time] = new, new[0]
        else:
            inside = (time < length)[:, None]
            state = tuple(np.where(inside, a, b) for a, b in zip(new, state))
            outputs[time] = np.where(inside, new[0], 0)
    return outputs, tuple(np.array(part) for part in state)
