"""Kernels of dynamic programming."""

from __future__ import annotations

from typing import Any

import numpy as np


def floyd_warshall(paths: Any) -> Any:
    for k in range(paths.shape[0]):
        paths[:] = np.minimum(paths[:], np.add.outer(paths[:, k], paths[k, :]))
    return paths


def edit_distance(one: Any, other: Any) -> Any:
    n, m = one.shape[0], other.shape[0]
    table = np.zeros((n + 1, m + 1), dtype=np.int32)
    table[:, 0] = np.arange(n + 1)
    table[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            changed = table[i - 1, j - 1] + (one[i - 1] != other[j - 1])
            table[i, j] = np.minimum(np.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1), changed)
    return table[n, m]


def folded_pairs(bases: Any) -> Any:
    """Return the maximal number of pairs of bases in a folded sequence (Nussinov's algorithm)."""
    n = bases.shape[0]
    table = np.zeros((n, n), dtype=np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            paired = table[i + 1, j - 1] + (bases[i] + bases[j] == 3) if j - 1 > i else table[i + 1, j - 1]
            table[i, j] = np.maximum(np.maximum(table[i, j - 1], table[i + 1, j]), paired)
            for k in range(i + 1, j):
                table[i, j] = np.maximum(table[i, j], table[i, k] + table[k + 1, j])
    return table


def viterbi(start: Any, transition: Any, emission: Any, observed: Any) -> Any:
    steps = observed.shape[0]
    score = start + emission[:, observed[0]]
    back = np.zeros((steps, start.shape[0]), dtype=np.int64)
    for t in range(1, steps):
        candidates = score[:, None] + transition
        back[t] = np.argmax(candidates, axis=0)
        score = np.max(candidates, axis=0) + emission[:, observed[t]]
    states = np.zeros(steps, dtype=np.int64)
    states[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        states[t - 1] = back[t, states[t]]
    return states
