"""Tests of functions that read one triangle of a matrix: the other one does not affect the result, however
large its elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402

# Name -> function of a matrix of which the lower triangle counts.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda x: torch.linalg.eigh(x)[0],
    "eigvalsh": torch.linalg.eigvalsh,
    "eigvalsh-U": lambda x: torch.linalg.eigvalsh(x.mT, "U"),
    "cholesky": torch.linalg.cholesky,
    "cholesky-U": lambda x: torch.linalg.cholesky(x.mT, upper=True),
    "cholesky_ex": lambda x: torch.linalg.cholesky_ex(x)[0],
    "pinv": lambda x: torch.linalg.pinv(x, hermitian=True),
    "matrix_rank": lambda x: torch.linalg.matrix_rank(x, hermitian=True),
}
MATRIX = torch.tensor([[4.0, 0.0, 0.0], [-0.5, 3.0, 0.0], [0.3, -1.0, 2.0]])


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_triangle_has_no_part(name: str, to: str) -> None:
    pytest.importorskip(to)
    function = FUNCTIONS[name]
    graph = graph_compiler.compile(function, to=to, args=(MATRIX,))
    for other in (7.0, 1e30, math.inf, math.nan):
        x = MATRIX + torch.full((3, 3), other).triu(1)
        np.testing.assert_allclose(
            np.asarray(graph(x)), function(x).numpy(), rtol=1e-4, atol=1e-5, err_msg=str(other)
        )
