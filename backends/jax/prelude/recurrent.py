"""Recurrent layers: one layer in one direction, arrays [time, batch, features]."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax


def lstm(
    x: jax.Array,
    hidden: jax.Array,
    cell: jax.Array,
    weight_ih: jax.Array,
    weight_hh: jax.Array,
    bias_ih: jax.Array | None = None,
    bias_hh: jax.Array | None = None,
    weight_hr: jax.Array | None = None,
    length: jax.Array | None = None,
    reverse: bool = False,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Long short-term memory: (outputs, last hidden state, last cell state)."""

    def step(state: tuple[jax.Array, ...], inputs: jax.Array) -> tuple[jax.Array, ...]:
        gates = inputs + affine(state[0], weight_hh, bias_hh)
        i, f, g, o = jnp.split(gates, 4, -1)
        kept = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        shown = jax.nn.sigmoid(o) * jnp.tanh(kept)
        return (shown if weight_hr is None else shown @ weight_hr.T), kept

    outputs, (hidden, cell) = scan_sequence(step, (hidden, cell), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden, cell


def gru(
    x: jax.Array,
    hidden: jax.Array,
    weight_ih: jax.Array,
    weight_hh: jax.Array,
    bias_ih: jax.Array | None = None,
    bias_hh: jax.Array | None = None,
    length: jax.Array | None = None,
    reverse: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """Gated recurrent unit: (outputs, last hidden state)."""

    def step(state: tuple[jax.Array, ...], inputs: jax.Array) -> tuple[jax.Array, ...]:
        reset_x, update_x, new_x = jnp.split(inputs, 3, -1)
        reset_h, update_h, new_h = jnp.split(affine(state[0], weight_hh, bias_hh), 3, -1)
        update = jax.nn.sigmoid(update_x + update_h)
        new = jnp.tanh(new_x + jax.nn.sigmoid(reset_x + reset_h) * new_h)
        return ((1 - update) * new + update * state[0],)

    outputs, (hidden,) = scan_sequence(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def rnn(
    x: jax.Array,
    hidden: jax.Array,
    weight_ih: jax.Array,
    weight_hh: jax.Array,
    bias_ih: jax.Array | None = None,
    bias_hh: jax.Array | None = None,
    length: jax.Array | None = None,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """Elman network: (outputs, last hidden state)."""

    def step(state: tuple[jax.Array, ...], inputs: jax.Array) -> tuple[jax.Array, ...]:
        total = inputs + affine(state[0], weight_hh, bias_hh)
        return (jnp.tanh(total) if activation == "tanh" else jax.nn.relu(total),)

    outputs, (hidden,) = scan_sequence(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def affine(x: jax.Array, weight: jax.Array, bias: jax.Array | None) -> jax.Array:
    """``x @ weight.T + bias``."""
    return x @ weight.T if bias is None else x @ weight.T + bias


def scan_sequence(
    step: Callable[..., tuple[jax.Array, ...]], state: tuple[jax.Array, ...], inputs: jax.Array, length: jax.Array | None, reverse: bool
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    """(the first state after each step, the last state); steps at or beyond ``length`` change no state and put out 0."""

    def guarded(state: tuple[jax.Array, ...], at: tuple[jax.Array, jax.Array]) -> tuple[tuple[jax.Array, ...], jax.Array]:
        new = step(state, at[0])
        if length is None:
            return new, new[0]
        inside = (at[1] < length)[:, None]
        return tuple(jnp.where(inside, a, b) for a, b in zip(new, state, strict=True)), jnp.where(inside, new[0], 0)

    if jax.sharding.get_abstract_mesh().manual_axes:  # in shard_map a loop has to begin with what differs between devices as its steps do
        differs = jnp.zeros_like(inputs, dtype=bool).any()
        state = tuple(jnp.where(differs, 0, held) for held in state)
    last, outputs = lax.scan(guarded, state, (inputs, jnp.arange(inputs.shape[0])), reverse=reverse)
    return outputs, last
