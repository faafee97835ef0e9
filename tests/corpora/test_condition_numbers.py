"""Tests of condition numbers and singular values of matrices that are singular or contain NaN or infinities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.tolerance import tolerance  # noqa: E402

MADE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor, "numpy": np.asarray, "jax": jax.numpy.asarray, "tensorflow": tf.constant,
}  # fmt: skip
NAN, INF = math.nan, math.inf
MATRICES = {
    "regular": [[2.0, 1.0], [1.0, 3.0]],
    "another": [[4.0, -1.0], [2.0, 0.5]],
    "infinite": [[INF, 1.0], [1.0, 3.0]],
    "of minus infinity": [[1.0, -INF], [2.0, 3.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "singular": [[1.0, 2.0], [2.0, 4.0]],
    "with NaN": [[NAN, 1.0], [1.0, 3.0]],
}
ORDERS = (None, 2, -2, "nuc", "fro", 1, -1, INF, -INF)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{f"torch, cond by {order}": lambda a, order=order: torch.linalg.cond(a, order) for order in ORDERS},
    **{f"numpy, cond by {order}": lambda a, order=order: np.linalg.cond(a, order) for order in ORDERS},
    "torch, cond of several": lambda a: torch.linalg.cond(torch.stack([a, torch.eye(2)]), 1),
    "torch, singular values": torch.linalg.svdvals,
    "torch, rank": torch.linalg.matrix_rank,
    "torch, largest singular value": lambda a: torch.linalg.matrix_norm(a, 2),
    "torch, nuclear norm": lambda a: torch.linalg.matrix_norm(a, "nuc"),
    "torch, determinant": torch.linalg.det,
    "numpy, singular values": np.linalg.svdvals,
    "numpy, rank": np.linalg.matrix_rank,
    "numpy, nuclear norm": lambda a: np.linalg.norm(a, "nuc"),
}
# These divide by a singular value, or are one, that is the rounding of 0.
ROUNDING = ("cond by None", "cond by 2", "cond by -2", "cond by nuc")


def outcome(function: Callable[[Any], Any], matrix: Any) -> Any:
    """Return the result as an array, or None if the function raises."""
    try:
        return np.asarray(function(matrix))
    except (RuntimeError, ValueError):
        # ``LinAlgError`` is a subclass of one of these in both frameworks.
        return None


@pytest.mark.parametrize("to", MADE)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_matrices_without_an_inverse_give_what_the_source_gives(name: str, to: str) -> None:
    function, source = FUNCTIONS[name], name.partition(",")[0]
    graph = graph_compiler.transpile(function, to=to, source=source)
    relative, absolute = tolerance("float32")
    for label, elements in MATRICES.items():
        if label == "singular" and name.endswith(ROUNDING):
            continue
        matrix = np.array(elements, np.float32)
        expected, found = outcome(function, MADE[source](matrix)), outcome(graph, MADE[to](matrix))
        assert (found is None) == (expected is None), label
        if expected is not None:
            np.testing.assert_allclose(
                found, expected, rtol=relative, atol=absolute, equal_nan=True, err_msg=label
            )
    assert len(graph.variants) == 1, graph.explain()
