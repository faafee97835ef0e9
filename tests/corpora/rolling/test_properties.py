"""Property tests of random loops: rolled and unrolled, with equal or slightly different iterations, they have
equal results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import example, given, settings

import graph_compiler

ROWS, COLUMNS = 14, 3

# Each piece of a body: of the state (a list of three rows), the rows, the number of the step and what was
# collected so far.
PIECES: dict[str, Callable[[list[Any], Any, int, list[Any]], Any]] = {
    "wave": lambda s, xs, t, made: s.__setitem__(0, np.sin(s[0]) + 0.5 * s[1]),
    "swap": lambda s, xs, t, made: s.__setitem__(slice(0, 2), [s[1], s[0]]),
    "turn": lambda s, xs, t, made: s.__setitem__(slice(0, 3), [s[1], s[2], s[0] * 0.9]),
    "row": lambda s, xs, t, made: s.__setitem__(1, s[1] * 0.5 + xs[t]),
    "next row": lambda s, xs, t, made: s.__setitem__(2, s[0] - xs[t + 1]),
    "row from the end": lambda s, xs, t, made: s.__setitem__(2, xs[-1 - t] * s[2]),
    "part": lambda s, xs, t, made: s.__setitem__(0, s[0] + xs[t, 1:].sum()),
    "count": lambda s, xs, t, made: s.__setitem__(1, s[1] * 0.1 + t),
    "square": lambda s, xs, t, made: s.__setitem__(1, s[1] * 0.1 + t * t),
    "every third": lambda s, xs, t, made: s.__setitem__(0, s[0] * (0.5 if t % 3 else 0.25)),
    "at first": lambda s, xs, t, made: s.__setitem__(2, np.cos(s[2]) if t == 0 else s[2]),
    "in the middle": lambda s, xs, t, made: s.__setitem__(2, np.cos(s[2]) if t == 5 else s[2]),
    "inner": lambda s, xs, t, made: [s.__setitem__(0, s[0] * 0.9 + 0.1) for _ in range(4)] and None,
    "collect": lambda s, xs, t, made: made.append(s[0] + s[1]),
    "column": lambda s, xs, t, made: s.__setitem__(1, s[1] * 0.5 + xs[:COLUMNS, t % COLUMNS]),
    "write": lambda s, xs, t, made: s[2].__setitem__(t % COLUMNS, 0.5),
}
BODIES = st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=5)
RESULTS = st.sampled_from(["last", "stacked", "stacked and one", "with the first", "some"])


def program(body: list[str], steps: int, result: str) -> Callable[[Any, Any], Any]:
    """Return a function with a loop over the pieces ``body``."""

    def run(u: Any, xs: Any) -> Any:
        state: list[Any] = [u, u * 2, u + 1]
        made: list[Any] = []
        for t in range(steps):
            for piece in body:
                PIECES[piece](state, xs, t, made)
        if not made or result == "last":
            return tuple(state)
        if result == "some":
            return made[len(made) // 2], made[-1], state[0]
        first = [u] if result == "with the first" else []
        return np.stack([*first, *made]), (made[-1] if result == "stacked and one" else state[1])

    return run


@settings(max_examples=60, deadline=None)
@example(["write", "count"], 12, "last", "torch")
@given(BODIES, st.integers(3, ROWS - 2), RESULTS, st.sampled_from(["numpy", "torch", "jax"]))
def test_rolled_and_written_out_are_the_same(body: list[str], steps: int, result: str, to: str) -> None:
    numbers = np.random.default_rng(steps)
    calls = [
        (numbers.normal(size=COLUMNS), numbers.normal(size=(rows, COLUMNS))) for rows in (ROWS, ROWS + 3)
    ]
    run = program(body, steps, result)
    graphs = [
        graph_compiler.compile(run, source="numpy", to=to, args=calls[0], roll=roll)
        for roll in ("scan", "never")
    ]
    for call in calls:
        rolled, plain = (graph(*call) for graph in graphs)
        for one, other, wanted in zip(rolled, plain, run(*call), strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(np.asarray(one), wanted, rtol=1e-3, atol=1e-3)
    assert [len(graph.variants) for graph in graphs] == [1, 1], graphs[0].explain()
