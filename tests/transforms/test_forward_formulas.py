"""Tests of torch's forward-mode formulas, alone and over reverse mode, against central differences in
float64.

The wrong ones are listed here as data, and no transformation uses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graph_compiler import transforms  # noqa: E402
from graph_compiler.backends.torch import native  # noqa: E402

X = torch.tensor([[30.0, 0.2, -5.0, 25.0, 1.0], [-1.5, 0.7, 2.0, -0.3, 0.9]], dtype=torch.float64)
V = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, 0.5, 2.0, 1.0, -2.0]], dtype=torch.float64)
W = torch.tensor([[1.0, -2.0, 0.5, 3.0, 1.0], [0.3, 1.0, -1.0, 2.0, 0.7]], dtype=torch.float64)
S = X / 10
INDEX = torch.tensor([[0, 1, 1, 0, 1], [1, 0, 1, 1, 0]])


def definite(x: Any) -> Any:
    return torch.eye(5, dtype=x.dtype) * 3 + x.T @ x / 100


# A row: (function, point). Values are up to 30 apart, as exponentials of them are not of one size then.
FORMULAS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), X),
    "logcumsumexp, squared": (lambda x: torch.logcumsumexp(torch.stack([x[0], x[0].flip(0)]), 1) ** 2, X),
    "logcumsumexp, rows": (lambda x: x.logcumsumexp(dim=0), X),
    "logcumsumexp, by keywords": (lambda x: torch.logcumsumexp(input=x, dim=0), X),
    "logcumsumexp, by keywords of NumPy": (lambda x: torch.logcumsumexp(x=x, axis=0), X),
    "logcumsumexp, complex": (lambda x: torch.logcumsumexp(input=torch.complex(x, x), dim=0).real, S),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), X),
    "logaddexp": (lambda x: torch.logaddexp(x, x.flip(1) * 2), X),
    "logaddexp2": (lambda x: torch.logaddexp2(x, x.flip(1) * 2), X),
    "softmax": (lambda x: torch.softmax(x, 1), X),
    "log_softmax": (lambda x: torch.log_softmax(x, 1), X),
    "logsigmoid": (torch.nn.functional.logsigmoid, X),
    "softplus": (torch.nn.functional.softplus, X),
    "mish": (torch.nn.functional.mish, X),
    "silu": (torch.nn.functional.silu, X),
    "gelu": (torch.nn.functional.gelu, S),
    "cumprod": (lambda x: x.cumprod(1), X),
    "cumsum": (lambda x: x.cumsum(1) ** 2, X),
    "cummax": (lambda x: x.cummax(1)[0] ** 2, X),
    "prod": (lambda x: x.prod(1), X),
    "std": (lambda x: x.std(1), X),
    "var": (lambda x: x.var(0), X),
    "norm": (lambda x: x.norm(3, 1), X),
    "layer_norm": (lambda x: torch.nn.functional.layer_norm(x, (5,)), X),
    "renorm": (lambda x: x.renorm(2, 0, 1.0), X),
    "lgamma": (lambda x: torch.lgamma(x + 6.5), X),
    "digamma": (lambda x: torch.digamma(x + 6.5), X),
    "erfinv": (lambda x: torch.erfinv(x / 10), S),
    "i0": (torch.special.i0, S),
    "xlogy": (lambda x: torch.xlogy(x + 7, x + 8), X),
    "atan2": (lambda x: torch.atan2(x, x.flip(1) + 40), X),
    "hypot": (lambda x: torch.hypot(x, x.flip(1) + 40), X),
    "tanh": (torch.tanh, S),
    "logdet": (lambda x: torch.logdet(definite(x)), X),
    "inverse": (lambda x: torch.linalg.inv(definite(x)), X),
    "pinv": (lambda x: torch.linalg.pinv(definite(x)), X),
    "cholesky": (lambda x: torch.linalg.cholesky(definite(x)), X),
    "cholesky_inverse": (lambda x: torch.cholesky_inverse(torch.linalg.cholesky(definite(x))), X),
    # Without the diagonal three eigenvalues would be equal, and have no second derivatives.
    "eigvalsh": (lambda x: torch.linalg.eigvalsh(definite(x) + torch.diag(torch.arange(5.0, dtype=x.dtype))), X),
    "svdvals": (torch.linalg.svdvals, S),
    "solve": (lambda x: torch.linalg.solve(definite(x), x[0]), X),
    "scatter_reduce": (lambda x: torch.zeros(2, 5, dtype=x.dtype).scatter_reduce(1, INDEX, x, "sum") ** 2, X),
    "scatter_reduce, prod": (lambda x: torch.ones(2, 5, dtype=x.dtype).scatter_reduce(1, INDEX, x, "prod"), X),
    "gather": (lambda x: x.gather(1, INDEX) ** 3, X),
    "max_pool1d": (lambda x: torch.nn.functional.max_pool1d(x[None], 2) ** 2, X),
    "avg_pool1d": (lambda x: torch.nn.functional.avg_pool1d(x[None], 2) ** 2, X),
    "conv1d": (lambda x: torch.nn.functional.conv1d(x[None], x[None, :, :2]), S),
}  # fmt: skip
# Which formulas of torch itself are wrong or missing: "first" derivatives in forward mode, "second" ones by
# forward over reverse.
WRONG = {
    ("logcumsumexp, squared", "first"),
    ("logcumsumexp, squared", "second"),
    ("cholesky_inverse", "first"),
    ("cholesky_inverse", "second"),
    ("scatter_reduce, prod", "first"),
    ("scatter_reduce, prod", "second"),
}


def differences(function: Callable[[Any], Any], x: Any, v: Any) -> Any:
    step = 1e-5
    return (function(x + step * v) - function(x - step * v)) / (2 * step)


def weighted(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        made = function(x)
        return (made.reshape(-1) * W.reshape(-1).repeat(9)[: made.numel()]).sum()

    return total


def is_close(found: Any, expected: Any) -> bool:
    return bool(torch.allclose(found, expected, rtol=1e-4, atol=1e-5 * max(1.0, float(expected.abs().max()))))


def by_torch(order: str, function: Callable[[Any], Any], x: Any) -> Any:
    differentiated = function if order == "first" else torch.func.grad(weighted(function))
    return torch.func.jvp(differentiated, (x,), (V,))[1]


def by_transforms(order: str, function: Callable[[Any], Any], x: Any) -> Any:
    return (
        transforms.jvp(function, (x,), (V,))[1]
        if order == "first"
        else transforms.hvp(weighted(function), (x,), (V,))
    )


@pytest.mark.parametrize("order", ["first", "second"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str, order: str) -> None:
    function, x = FORMULAS[name]
    expected = differences(function if order == "first" else torch.func.grad(weighted(function)), x, V)
    assert is_close(by_transforms(order, function, x), expected)
    try:
        is_right = is_close(by_torch(order, function, x), expected)
    except (NotImplementedError, RuntimeError):
        is_right = False
    assert is_right is ((name, order) not in WRONG), (
        "torch's own formula: change the list of those that are wrong"
    )


def test_a_formula_that_is_replaced_is_the_same_function() -> None:
    for x, dim in ((X, 1), (X, 0), (X[:, :1], -1), (X[0, 0], 0), (X[:, :0], 1)):
        assert torch.allclose(
            native.FORWARD_MODE_REPLACEMENTS["logcumsumexp"](x, dim), torch.logcumsumexp(x, dim), rtol=1e-12
        )
