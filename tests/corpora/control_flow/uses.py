"""Typical programs with loops: recurrent networks, filters, decoders, optimisers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx
from jax import lax

from .table import Program, each, floats, number, positive, whole


def beam(scores: Any, moves: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        best, letters = held
        found = (best[:, None] + row[letters]).reshape(-1)
        top, places = lax.top_k(found, 3)
        before, letters = places // row.shape[0], places % row.shape[0]
        return (top, letters), (before, letters)

    start = tuple(lax.top_k(scores, 3))
    return lax.scan(step, start, moves)


def viterbi(scores: Any, moves: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        paths = held[:, None] + moves
        return paths.max(0) + row, paths.argmax(0)

    best, back = lax.scan(step, scores[0], scores[1:])
    last = best.argmax()
    _, path = lax.scan(lambda state, row: (row[state], state), last, back, reverse=True)
    return best.max(), path


def hmm(scores: Any, moves: Any) -> Any:
    return jax.nn.logsumexp(
        lax.scan(
            lambda a, row: (jax.nn.logsumexp(a[:, None] + moves, axis=0) + row, None), scores[0], scores[1:]
        )[0]
    )


def metropolis(x: Any, seed: Any) -> Any:
    def step(held: Any, key: Any) -> Any:
        propose, accept = jax.random.split(key)
        other = held + jax.random.normal(propose, held.shape, held.dtype)
        ratio = ((held**2).sum() - (other**2).sum()) / 2
        held = lax.cond(
            jnp.log(jax.random.uniform(accept, dtype=held.dtype)) < ratio, lambda: other, lambda: held
        )
        return held, held

    return lax.scan(step, x, jax.random.split(jax.random.key(seed), 5))


def kalman(seen: Any, move: Any, look: Any) -> Any:
    eye = jnp.eye(move.shape[0], dtype=seen.dtype)

    def step(held: Any, z: Any) -> Any:
        x, p = held
        x, p = move @ x, move @ p @ move.T + 0.1 * eye
        gain = jnp.linalg.solve(look @ p @ look.T + eye, look @ p).T
        x = x + gain @ (z - look @ x)
        return (x, p - gain @ look @ p), x

    return lax.scan(step, (jnp.zeros_like(seen[0]), eye), seen)[1]


def adam(x: Any, y: Any) -> Any:
    optimiser = optax.adam(0.1)
    start = jnp.zeros(x.shape[1], x.dtype)

    def step(held: Any, _: Any) -> Any:
        weights, state = held
        loss, slopes = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(weights)
        updates, state = optimiser.update(slopes, state)
        return (optax.apply_updates(weights, updates), state), loss

    (weights, _), losses = lax.scan(step, (start, optimiser.init(start)), length=4)
    return weights, losses


def sinkhorn(costs: Any) -> Any:
    kernel = jnp.exp(-costs)

    def step(i: Any, held: Any) -> Any:
        u = 1.0 / (kernel @ held[1])
        return u, 1.0 / (kernel.T @ u)

    u, v = lax.fori_loop(
        0, 5, step, (jnp.ones(costs.shape[0], costs.dtype), jnp.ones(costs.shape[1], costs.dtype))
    )
    return u[:, None] * kernel * v


def decode(tokens: Any, table: Any) -> Any:
    steps, width = tokens.shape[0], table.shape[1]

    def step(held: Any, i: Any) -> Any:
        cache, token = held
        query = table[token]
        cache = lax.dynamic_update_slice(cache, query[None], (i, 0))
        mask = jnp.where(jnp.arange(steps) <= i, 0.0, -1e9).astype(table.dtype)
        found = jax.nn.softmax(cache @ query + mask) @ cache
        token = jnp.argmax(table @ found).astype(token.dtype)
        return (cache, token), (token, found)

    return lax.scan(step, (jnp.zeros((steps, width), table.dtype), tokens[0]), jnp.arange(steps))[1]


def selective(x: Any, a: Any, b: Any, c: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        x, b, c = row
        delta = jax.nn.softplus(x)
        h = jnp.exp(-jnp.exp(a) * delta[:, None]) * h + (delta * x)[:, None] * b
        return h, h @ c

    return lax.scan(step, jnp.zeros(a.shape, x.dtype), (x, b, c))[1]


def runge_kutta(x: Any, times: Any) -> Any:
    def slope(y: Any) -> Any:
        return jnp.stack([y[1], -jnp.sin(y[0])])

    def step(y: Any, dt: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + dt / 2 * k1)
        k3 = slope(y + dt / 2 * k2)
        k4 = slope(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return lax.scan(step, x, jnp.diff(times))[1]


def conjugate_gradient(matrix: Any, b: Any) -> Any:
    spd = matrix @ matrix.T + 2 * jnp.eye(b.shape[0], dtype=b.dtype)

    def body(held: Any) -> Any:
        x, r, p, count = held
        ap = spd @ p
        alpha = (r @ r) / (p @ ap)
        after = r - alpha * ap
        return x + alpha * p, after, after + (after @ after) / (r @ r) * p, count + 1

    return lax.while_loop(
        lambda h: (h[1] @ h[1] > 1e-4) & (h[3] < b.shape[0]), body, (jnp.zeros_like(b), b, b, 0)
    )[0]


@jax.custom_vjp
def _spike(v: Any) -> Any:
    return (v > 0).astype(v.dtype)


_spike.defvjp(lambda v: (_spike(v), v), lambda v, slope: (slope / (1 + jnp.abs(v)) ** 2,))


def neuron(currents: Any) -> Any:
    """A spiking neuron whose derivative is that of a smooth function."""

    def step(v: Any, current: Any) -> Any:
        v = 0.9 * v + current
        spike = _spike(v - 0.5)
        return v * (1 - spike), spike

    return lax.scan(step, jnp.zeros_like(currents[0]), currents)


def _linen(cell: Any) -> Any:
    layer = linen.RNN(cell)
    weights = layer.init(jax.random.key(0), jnp.ones((1, 2, 3)))

    def run(x: Any) -> Any:
        return layer.apply(weights, x)

    return run


def _nnx(make: Any) -> Any:
    definition, weights = nnx.split(nnx.RNN(make(3, 4, rngs=nnx.Rngs(0))))

    def run(x: Any) -> Any:
        layer = nnx.merge(definition, weights)
        return layer(x, initial_carry=layer.cell.initialize_carry((x.shape[0], 3), nnx.Rngs(0)))

    return run


class Counted(nnx.Module):
    def __init__(self) -> None:
        self.weight = nnx.Param(jnp.asarray(floats(3, 3)))
        self.mean = nnx.BatchStat(jnp.zeros(3))

    def __call__(self, rows: Any) -> Any:
        weight = self.weight[...]
        last, out = lax.scan(lambda held, row: (jnp.tanh(held @ weight + row), held), self.mean[...], rows)
        self.mean[...] = 0.9 * self.mean[...] + 0.1 * out.mean(0)
        return last


_counted = Counted()


def with_state(rows: Any) -> Any:
    model = nnx.clone(_counted)
    return model(rows), model(rows * 2), model.mean[...]


def stacked_layers(x: Any, weights: Any, biases: Any) -> Any:
    return lax.scan(lambda x, layer: (jax.nn.gelu(x @ layer[0] + layer[1]), x.mean()), x, (weights, biases))


def sieve(x: Any) -> Any:
    n = x.shape[0]

    def cross(i: Any, is_prime: Any) -> Any:
        def body(held: Any) -> Any:
            j, flags = held
            return j + i, flags.at[j].set(False)

        return lax.cond(
            is_prime[i],
            lambda: lax.while_loop(lambda held: held[0] < n, body, (i * i, is_prime))[1],
            lambda: is_prime,
        )

    return lax.fori_loop(2, n, cross, jnp.arange(n) >= 2)


def knapsack(weights: Any, values: Any) -> Any:
    room = jnp.arange(12)

    def item(best: Any, one: Any) -> Any:
        weight, value = one
        taken = jnp.where(room >= weight, best[jnp.maximum(room - weight, 0)] + value, best)
        return jnp.maximum(best, taken), None

    return lax.scan(item, jnp.zeros(12, values.dtype), (weights, values))[0]


def life(board: Any, steps: Any) -> Any:
    def step(i: Any, board: Any) -> Any:
        around = sum(
            jnp.roll(board, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)
        )
        return ((around == 3) | ((around == 2) & (board > 0))).astype(board.dtype)

    return lax.fori_loop(0, steps, step, board)


_HMM = tuple((floats(n, k), floats(k, k)) for n, k in ((5, 3), (7, 4)))

PROGRAMS = {
    "beam": Program(beam, tuple((floats(5), floats(n, 5, 5)) for n in (3, 6))),
    "viterbi": Program(viterbi, _HMM),
    "hidden Markov model": Program(hmm, _HMM),
    "metropolis": Program(metropolis, tuple((floats(n), whole(high=99, seed=n)) for n in (3, 5)), "none"),
    "kalman": Program(
        kalman, tuple((floats(n, k), floats(k, k), floats(k, k, seed=1)) for n, k in ((4, 2), (6, 3)))
    ),
    "adam": Program(adam, tuple((floats(n, k), floats(n)) for n, k in ((4, 2), (6, 3)))),
    "sinkhorn": Program(sinkhorn, each(positive, (4, 3), (2, 5))),
    "decode": Program(decode, tuple((whole(n, high=6), floats(6, 4)) for n in (4, 7))),
    "state space model": Program(
        selective,
        tuple((floats(n, d), floats(d, s), floats(n, s), floats(n, s)) for n, d, s in ((4, 3, 2), (6, 2, 3))),
    ),
    "Runge-Kutta": Program(
        runge_kutta, tuple((floats(2), np.linspace(0, 1, n).astype("float32")) for n in (4, 7))
    ),
    "conjugate gradient": Program(
        conjugate_gradient, tuple((floats(n, n), floats(n)) for n in (3, 5)), "forward"
    ),
    "spiking neuron": Program(neuron, each(positive, (5, 3), (8, 2))),
    "LSTM of linen": Program(
        _linen(linen.OptimizedLSTMCell(4)), each(floats, (2, 5, 3), (3, 7, 3)), wide=False
    ),
    "GRU of linen": Program(_linen(linen.GRUCell(4)), each(floats, (2, 5, 3), (3, 7, 3)), wide=False),
    "LSTM of nnx": Program(
        _nnx(nnx.OptimizedLSTMCell), each(floats, (2, 5, 3), (3, 7, 3)), "none", jits=False
    ),
    "GRU of nnx": Program(_nnx(nnx.GRUCell), each(floats, (2, 5, 3), (3, 7, 3)), "none", jits=False),
    "state of nnx": Program(with_state, each(floats, (5, 3), (7, 3)), wide=False),
    "stacked layers": Program(
        stacked_layers, tuple((floats(2, 3), floats(n, 3, 3), floats(n, 3)) for n in (4, 6))
    ),
    "sieve": Program(sieve, each(floats, (20,), (31,)), "none"),
    "knapsack": Program(knapsack, tuple((whole(n, low=1), positive(n)) for n in (4, 6))),
    "life": Program(
        life, tuple((whole(n, n, high=2), number(s, "int32")) for n, s in ((5, 3), (6, 0), (4, 7))), "none"
    ),
}
