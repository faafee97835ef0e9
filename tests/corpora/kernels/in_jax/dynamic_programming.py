"""JAX kernels of dynamic programming."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def floyd_warshall(paths: Any) -> Any:
    def step(k: Any, paths: Any) -> Any:
        return jnp.minimum(paths, paths[:, k][:, None] + paths[k, :])

    return lax.fori_loop(0, paths.shape[0], step, paths)


def edit_distance(one: Any, other: Any) -> Any:
    def row(above: Any, code: Any) -> Any:
        changed = above[:-1] + (other != code)

        def element(left: Any, entering: Any) -> Any:
            upper, diagonal = entering
            new = jnp.minimum(jnp.minimum(upper + 1, left + 1), diagonal)
            return new, new

        first = above[0] + 1
        _, rest = lax.scan(element, first, (above[1:], changed))
        return jnp.concatenate([first[None], rest]), None

    return lax.scan(row, jnp.arange(other.shape[0] + 1, dtype=jnp.int32), one)[0][-1]


def folded_pairs(bases: Any) -> Any:
    n = bases.shape[0]
    places = jnp.arange(n)

    def element(j: Any, carried: Any) -> Any:
        table, i = carried
        paired = table[i + 1, j - 1] + jnp.where(j - 1 > i, bases[i] + bases[j] == 3, False)
        best = jnp.maximum(jnp.maximum(table[i, j - 1], table[i + 1, j]), paired)
        splits = jnp.where((places > i) & (places < j), table[i] + jnp.roll(table[:, j], -1), 0)
        return table.at[i, j].set(jnp.maximum(best, jnp.max(splits))), i

    def row(back: Any, table: Any) -> Any:
        i = n - 1 - back
        return lax.fori_loop(i + 1, n, element, (table, i))[0]

    return lax.fori_loop(0, n, row, jnp.zeros((n, n), jnp.int32))


def viterbi(start: Any, transition: Any, emission: Any, observed: Any) -> Any:
    def forward(score: Any, seen: Any) -> Any:
        candidates = score[:, None] + transition
        return jnp.max(candidates, axis=0) + emission[:, seen], jnp.argmax(candidates, axis=0)

    def backward(state: Any, back: Any) -> Any:
        return back[state], state

    score, back = lax.scan(forward, start + emission[:, observed[0]], observed[1:])
    first, rest = lax.scan(backward, jnp.argmax(score), back, reverse=True)
    return jnp.concatenate([first[None], rest])
