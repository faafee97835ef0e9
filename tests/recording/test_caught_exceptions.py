"""Tests of programs that catch exceptions: that a call raised none is an assumption of the recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402

REGULAR = [[2.0, 0.5], [0.5, 3.0]]
ZERO, INDEFINITE, UNKNOWN = (
    [[0.0, 0.0], [0.0, 0.0]],
    [[1.0, 3.0], [3.0, 1.0]],
    [[float("nan"), 1.0], [1.0, 2.0]],
)


def or_zeros(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def caught(x: Any) -> Any:
        try:
            return call(x)
        except (np.linalg.LinAlgError, torch.linalg.LinAlgError, FloatingPointError):
            return x * 0 + 7

    return caught


def with_jitter(cholesky: Callable[[Any], Any], eye: Any) -> Callable[[Any], Any]:
    def grown(x: Any) -> Any:
        for size in (0.0, 0.125, 4.0):
            try:
                return cholesky(x + eye * size)
            except (np.linalg.LinAlgError, torch.linalg.LinAlgError):
                continue
        return x * 0

    return grown


def strict(
    call: Callable[[Any], Any], kinds: tuple[Any, ...] = ("divide", "over", "invalid")
) -> Callable[[Any], Any]:
    def raising(x: Any) -> Any:
        with np.errstate(**dict.fromkeys(kinds, "raise")):
            return call(x)

    return or_zeros(raising)


# Each row: function, and the matrices besides REGULAR with which it is called.
Row = tuple[Callable[[Any], Any], list[Any]]
ROWS: dict[str, Row] = {
    "inv": (or_zeros(np.linalg.inv), [ZERO, INDEFINITE]),
    "solve": (or_zeros(lambda x: np.linalg.solve(x, x * 2)), [ZERO, INDEFINITE]),
    "negative power": (or_zeros(lambda x: np.linalg.matrix_power(x, -2)), [ZERO]),
    "tensorsolve": (or_zeros(lambda x: np.linalg.tensorsolve(x, x[0]) + x), [ZERO]),
    "cholesky": (or_zeros(np.linalg.cholesky), [ZERO, INDEFINITE]),
    "cholesky with jitter": (
        with_jitter(np.linalg.cholesky, np.eye(2, dtype=np.float32)),
        [ZERO, INDEFINITE],
    ),
    "svd": (or_zeros(lambda x: np.linalg.svd(x, compute_uv=False) + x), [UNKNOWN]),
    "pinv": (or_zeros(np.linalg.pinv), [UNKNOWN, ZERO]),
    "lstsq": (or_zeros(lambda x: np.linalg.lstsq(x, x[0], rcond=None)[0] + x), [UNKNOWN]),
    "eigvals": (or_zeros(lambda x: np.sort(np.linalg.eigvals(x).real) + x), [UNKNOWN]),
    "det": (or_zeros(lambda x: np.linalg.det(x) + x), [ZERO, INDEFINITE]),
    "division": (strict(lambda x: 1 / x), [ZERO]),
    "overflow": (strict(lambda x: np.exp(x * 60)), [INDEFINITE]),
    "invalid": (strict(lambda x: np.sqrt(x - 0.5)), [ZERO]),
    "division without overflow": (strict(lambda x: np.exp(x * 60) + 1 / x, ("divide",)), [ZERO, INDEFINITE]),
    "overflow without division": (
        strict(lambda x: np.exp(x * 60) + 1 / x + np.log(abs(x)), ("over",)),
        [ZERO, INDEFINITE],
    ),
    "torch inv": (or_zeros(torch.linalg.inv), [ZERO, INDEFINITE]),
    "torch cholesky with jitter": (with_jitter(torch.linalg.cholesky, torch.eye(2)), [ZERO, INDEFINITE]),
}


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_caught_exception_is_caught_in_every_target(name: str, to: str) -> None:
    pytest.importorskip(to)
    function, others = ROWS[name]

    source = "torch" if name.startswith("torch") else "numpy"

    def matrix(rows: Any) -> Any:
        return torch.tensor(rows) if source == "torch" else np.array(rows, dtype=np.float32)

    graph = graph_compiler.compile(function, source=source, to=to, args=(matrix(REGULAR),))
    for rows in (*others, REGULAR, [[4.0, 1.0], [1.0, 5.0]]):
        np.testing.assert_allclose(
            np.asarray(graph(matrix(rows))), np.asarray(function(matrix(rows))), rtol=2e-5, atol=1e-6
        )
