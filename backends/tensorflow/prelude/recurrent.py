"""Recurrent layers: one layer in one direction, arrays [time, batch, features]."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from .creation import size, sizes


def lstm(
    x: tf.Tensor,
    hidden: tf.Tensor,
    cell: tf.Tensor,
    weight_ih: tf.Tensor,
    weight_hh: tf.Tensor,
    bias_ih: tf.Tensor | None = None,
    bias_hh: tf.Tensor | None = None,
    weight_hr: tf.Tensor | None = None,
    length: tf.Tensor | None = None,
    reverse: bool = False,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Long short-term memory: (outputs, last hidden state, last cell state)."""

    def step(state: tuple[tf.Tensor, ...], inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        gates = inputs + affine(state[0], weight_hh, bias_hh)
        i, f, g, o = tf.split(gates, 4, -1)
        kept = tf.sigmoid(f) * state[1] + tf.sigmoid(i) * tf.tanh(g)
        shown = tf.sigmoid(o) * tf.tanh(kept)
        return (shown if weight_hr is None else affine(shown, weight_hr, None)), kept

    outputs, (hidden, cell) = scan_sequence(step, (hidden, cell), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden, cell


def gru(
    x: tf.Tensor,
    hidden: tf.Tensor,
    weight_ih: tf.Tensor,
    weight_hh: tf.Tensor,
    bias_ih: tf.Tensor | None = None,
    bias_hh: tf.Tensor | None = None,
    length: tf.Tensor | None = None,
    reverse: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Gated recurrent unit: (outputs, last hidden state)."""

    def step(state: tuple[tf.Tensor, ...], inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        reset_x, update_x, new_x = tf.split(inputs, 3, -1)
        reset_h, update_h, new_h = tf.split(affine(state[0], weight_hh, bias_hh), 3, -1)
        update = tf.sigmoid(update_x + update_h)
        new = tf.tanh(new_x + tf.sigmoid(reset_x + reset_h) * new_h)
        return ((1 - update) * new + update * state[0],)

    outputs, (hidden,) = scan_sequence(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def rnn(
    x: tf.Tensor,
    hidden: tf.Tensor,
    weight_ih: tf.Tensor,
    weight_hh: tf.Tensor,
    bias_ih: tf.Tensor | None = None,
    bias_hh: tf.Tensor | None = None,
    length: tf.Tensor | None = None,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Elman network: (outputs, last hidden state)."""

    def step(state: tuple[tf.Tensor, ...], inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        total = inputs + affine(state[0], weight_hh, bias_hh)
        return (tf.tanh(total) if activation == "tanh" else tf.nn.relu(total),)

    outputs, (hidden,) = scan_sequence(step, (hidden,), affine(x, weight_ih, bias_ih), length, reverse)
    return outputs, hidden


def affine(x: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor | None) -> tf.Tensor:
    """``x @ weight.T + bias``."""
    product = tf.matmul(x, weight, transpose_b=True)
    return product if bias is None else product + bias


def scan_sequence(
    step: Callable[..., tuple[tf.Tensor, ...]], state: tuple[tf.Tensor, ...], inputs: tf.Tensor, length: tf.Tensor | None, reverse: bool
) -> tuple[tf.Tensor, tuple[tf.Tensor, ...]]:
    """(the first state after each step, the last state); steps at or beyond ``length`` change no state and put out 0."""
    count = size(inputs, 0)

    def guarded(
        t: tf.Tensor, state: tuple[tf.Tensor, ...], outputs: tf.TensorArray
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, ...], tf.TensorArray]:
        place = count - 1 - t if reverse else t
        new = step(state, inputs[place])
        if length is None:
            return t + 1, new, outputs.write(place, new[0])
        inside = (tf.cast(place, length.dtype) < length)[:, None]
        kept = tuple(tf.where(inside, a, b) for a, b in zip(new, state))
        return t + 1, kept, outputs.write(place, tf.where(inside, new[0], tf.zeros_like(new[0])))

    outputs = tf.TensorArray(inputs.dtype, count, element_shape=state[0].shape)
    _, last, outputs = tf.while_loop(lambda t, *_: t < count, guarded, (tf.constant(0), tuple(state), outputs))
    return tf.reshape(outputs.stack(), [count, *sizes(state[0])]), last
