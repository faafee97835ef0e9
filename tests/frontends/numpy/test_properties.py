"""Property tests of random NumPy programs with calls, views and writes, in NumPy and another framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compare import assert_same

from .test_samples import graph_for

Step = Callable[[list[Any]], Any]

# Each makes an array, or writes into one, of those made so far; all have three rows and four columns.
PURE: dict[str, Step] = {
    "add": lambda made: made[-1] + made[0],
    "scale": lambda made: made[-1] * 0.5 - 1,
    "tanh": lambda made: np.tanh(made[-1]),
    "centre": lambda made: made[-1] - made[-1].mean(axis=0),
    "roll": lambda made: np.roll(made[-1], 1, axis=1),
    "sort": lambda made: np.sort(made[-1], axis=1),
    "where": lambda made: np.where(made[-1] > 0, made[-1], made[0]),
    "cumsum": lambda made: np.cumsum(made[-1], axis=0),
    "matmul": lambda made: made[-1] @ made[0].T @ made[0] / 10,
    "take": lambda made: made[-1][np.argsort(made[0][:, 0])],
    "copy": lambda made: made[-1].copy(),
    "sizes": lambda made: made[-1] / made[-1].shape[0] + np.arange(made[-1].shape[1]),
    "fresh": lambda made: np.zeros(made[-1].shape) + made[-1].sum(),
}
VIEWS: dict[str, Step] = {
    "whole": lambda made: made[-1],
    "row": lambda made: made[-1][1],
    "columns": lambda made: made[-1][:, 1:],
    "steps": lambda made: made[-1][::2, ::-1],
    "turned": lambda made: made[-1].T[1:],
    "flat": lambda made: made[-1].reshape(-1)[2:5],
    "diagonal": lambda made: made[-1][:, None, :].squeeze(1)[0],
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "assign": lambda view: view.__setitem__(..., 2.0),
    "double": lambda view: view.__imul__(2),
    "mask": lambda view: view.__setitem__(view > 0.5, 0.25),
    "first": lambda view: view.__setitem__(0, view[-1]),
    "out": lambda view: np.negative(view, out=view),
    "in order": lambda view: view.sort(),
}

STEP = st.one_of(
    st.sampled_from(sorted(PURE)).map(lambda name: (name,)),
    st.tuples(st.sampled_from(sorted(VIEWS)), st.sampled_from(sorted(WRITES))),
)


def program(steps: list[tuple[str, ...]]) -> Callable[[Any], Any]:
    """Return a function of one array, which it may change."""

    def function(x: Any) -> Any:
        made = [x]
        for step in steps:
            if len(step) == 1:
                made.append(PURE[step[0]](made))
            else:
                WRITES[step[1]](VIEWS[step[0]](made))
        return tuple(made)

    return function


@pytest.mark.parametrize("target", ["numpy", "canonical", "torch"])
@given(steps=st.lists(STEP, min_size=1, max_size=6), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_random_programs(target: str, steps: list[tuple[str, ...]], seed: int) -> None:
    function, random = program(steps), np.random.default_rng(seed)
    graph = graph_for(function, target)
    for shape in ((3, 4), (5, 6)):
        x = random.standard_normal(shape)
        mine, theirs = x.copy(), x.copy()
        assert_same(graph(mine), function(theirs))
        assert_same(mine, theirs)
    assert len(graph.variants) == 1, graph.explain()
