"""Tests of forward mode in JAX and TensorFlow, alone and over reverse mode, against central differences in
float64.

They cover the frameworks' own functions, and what functions of torch become there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")
pytest.importorskip("torch")

import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from tests.support.contexts import wide_types  # noqa: E402

from .test_forward_formulas import FORMULAS, V, W, X  # noqa: E402

# The elements are distinct and between 0 and 1.4.
POINT = X.numpy() / 40 + 0.6
UNIT = X.numpy() / 80 + 0.5
DIRECTION = V.numpy()
WEIGHTS = W.numpy().reshape(-1)

_JAX: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{
        name: (getattr(jnp, name), POINT)
        for name in ("exp", "log", "log1p", "expm1", "sqrt", "cbrt", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh", "sinc", "i0")
    },
    **{name: (getattr(jnp, name), UNIT) for name in ("arcsin", "arccos", "arctanh")},
    **{name: (getattr(jax.scipy.special, name), UNIT) for name in ("erf", "erfc", "erfinv", "gammaln", "digamma", "expit", "logit", "ndtri", "log_ndtr", "i0e", "i1e", "entr")},
    **{name: (getattr(jax.nn, name), POINT) for name in ("softplus", "gelu", "silu", "mish", "elu", "selu", "log_sigmoid", "softmax", "log_softmax")},
    **{name: (lambda x, name=name: getattr(jnp, name)(x, x[:, ::-1] * 1.3 + 0.1), POINT) for name in ("logaddexp", "logaddexp2", "arctan2", "hypot", "power", "maximum")},
    "xlogy": (lambda x: jax.scipy.special.xlogy(x, x[:, ::-1]), POINT),
    "betainc": (lambda x: jax.scipy.special.betainc(1.5, 2.5, x), UNIT),
    "gammainc": (lambda x: jax.scipy.special.gammainc(1.5, x), POINT),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, axis=1), X.numpy()),
    "cumlogsumexp": (lambda x: jax.lax.cumlogsumexp(x, axis=1), X.numpy()),
    "cumprod": (lambda x: jnp.cumprod(x, axis=1), POINT),
    "cummax": (lambda x: jax.lax.cummax(x, axis=1) ** 2, POINT),
    "prod": (lambda x: jnp.prod(x, axis=1), POINT),
    "std": (lambda x: jnp.std(x, axis=1), POINT),
    "norm": (lambda x: jnp.linalg.norm(x, axis=1), POINT),
    "sort": (lambda x: jnp.sort(x, axis=1) ** 2, POINT),
    "scatter, times": (lambda x: x.at[:, 1].multiply(x[:, 2]) ** 2, POINT),
    "scatter, max": (lambda x: x.at[:, jnp.array([1, 2])].max(x[:, 3:]) ** 2, POINT),
    "determinant": (lambda x: jnp.linalg.det(x.T @ x + jnp.eye(5)), POINT),
    "inverse": (lambda x: jnp.linalg.inv(x.T @ x + jnp.eye(5)), POINT),
    "cholesky": (lambda x: jnp.linalg.cholesky(x.T @ x + jnp.eye(5)), POINT),
    "eigvalsh": (lambda x: jnp.linalg.eigvalsh(x.T @ x + jnp.diag(jnp.arange(5.0))), POINT),
    "svd": (lambda x: jnp.linalg.svd(x, compute_uv=False), POINT),
    "qr": (lambda x: jnp.linalg.qr(x.T)[1] ** 2, POINT),
    "expm": (lambda x: jax.scipy.linalg.expm(x.T @ x / 9), POINT),
    "fft": (lambda x: jnp.abs(jnp.fft.rfft(x)), POINT),
}  # fmt: skip
_TENSORFLOW: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{
        name: (getattr(tf.math, name), POINT)
        for name in ("exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "reciprocal", "square", "bessel_i0", "bessel_i1e")
    },
    **{name: (getattr(tf.math, name), UNIT) for name in ("asin", "acos", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "ndtri")},
    **{name: (getattr(tf.nn, name), POINT) for name in ("softplus", "gelu", "silu", "elu", "selu", "log_softmax", "softmax", "relu6")},
    **{
        name: (lambda x, name=name: getattr(tf.math, name)(x, x[:, ::-1] * 1.3 + 0.1), POINT)
        for name in ("atan2", "pow", "maximum", "xlogy", "xlog1py", "xdivy", "squared_difference", "divide_no_nan", "floormod")
    },
    "logsumexp": (lambda x: tf.reduce_logsumexp(x, 1), X.numpy()),
    "cumulative_logsumexp": (lambda x: tf.math.cumulative_logsumexp(x, 1), X.numpy()),
    "cumprod": (lambda x: tf.math.cumprod(x, 1), POINT),
    "prod": (lambda x: tf.reduce_prod(x, 1), POINT),
    "std": (lambda x: tf.math.reduce_std(x, 1), POINT),
    "norm": (lambda x: tf.norm(x, axis=1), POINT),
    "sort": (lambda x: tf.sort(x, axis=1) ** 2, POINT),
    "segment product": (lambda x: tf.math.unsorted_segment_prod(x, [0, 0], 1), POINT),
    "determinant": (lambda x: tf.linalg.det(tf.transpose(x) @ x + tf.eye(5, dtype=x.dtype)), POINT),
    "inverse": (lambda x: tf.linalg.inv(tf.transpose(x) @ x + tf.eye(5, dtype=x.dtype)), POINT),
    "cholesky": (lambda x: tf.linalg.cholesky(tf.transpose(x) @ x + tf.eye(5, dtype=x.dtype)), POINT),
    "eigvalsh": (lambda x: tf.linalg.eigvalsh(tf.transpose(x) @ x + tf.eye(5, dtype=x.dtype) * np.arange(5.0)), POINT),
    "solve": (lambda x: tf.linalg.solve(tf.transpose(x) @ x + tf.eye(5, dtype=x.dtype), tf.transpose(x)), POINT),
    "fft": (lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex128))), POINT),
}  # fmt: skip
OWN = {"jax": _JAX, "tensorflow": _TENSORFLOW}
# Which derivatives of the frameworks' own functions are wrong: (framework, function, order).
WRONG = {("tensorflow", "cumulative_logsumexp", "second")}
MADE: dict[str, Callable[[Any], Any]] = {"jax": jnp.asarray, "tensorflow": tf.constant}


def weighted(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that computes a weighted sum of the results."""

    def total(x: Any) -> Any:
        made = function(x)
        count = int(np.prod(made.shape))
        weights = np.tile(WEIGHTS, 9)[:count].reshape(tuple(made.shape))
        return tf.reduce_sum(made * weights) if tf.is_tensor(made) else (made * weights).sum()

    return total


def differences(function: Callable[[Any], Any], x: Any, made: Callable[[Any], Any]) -> Any:
    step = 1e-5
    above, below = (np.asarray(function(made(x + sign * step * DIRECTION))) for sign in (1, -1))
    return (above - below) / (2 * step)


def is_close(found: Any, expected: Any) -> bool:
    return bool(np.allclose(found, expected, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(expected).max()))))


@pytest.mark.parametrize(
    ("framework", "name"), [(framework, name) for framework, rows in OWN.items() for name in rows]
)
def test_own_formulas(framework: str, name: str) -> None:
    (function, x), made = OWN[framework][name], MADE[framework]
    with wide_types():
        gradient = transforms.grad(weighted(function))
        found = {
            "first": (
                transforms.jvp(function, (made(x),), (made(DIRECTION),))[1],
                differences(function, x, made),
            ),
            "second": (
                transforms.hvp(weighted(function), (made(x),), (made(DIRECTION),)),
                differences(gradient, x, made),
            ),
        }
        wrong = {
            (framework, name, order) for order, pair in found.items() if not is_close(*map(np.asarray, pair))
        }
    assert wrong == {row for row in WRONG if row[:2] == (framework, name)}


# JAX and TensorFlow have no row for it.
IN_TORCH_ALONE = {"logcumsumexp, complex"}


@pytest.mark.parametrize("to", MADE)
@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in IN_TORCH_ALONE])
def test_formulas_of_torch_functions(name: str, to: str) -> None:
    import torch

    from .test_forward_formulas import weighted as weighted_in_torch

    function, x = FORMULAS[name]
    with wide_types():
        point, direction = MADE[to](x.numpy()), MADE[to](DIRECTION)
        first = transforms.jvp(
            graph_compiler.transpile(function, to=to, source="torch"), (point,), (direction,)
        )[1]
        total = graph_compiler.transpile(weighted_in_torch(function), to=to, source="torch")
        second = transforms.hvp(total, (point,), (direction,))
        gradient = torch.func.grad(weighted_in_torch(function))
        assert is_close(np.asarray(first), differences(function, x.numpy(), torch.tensor))
        assert is_close(np.asarray(second), differences(gradient, x.numpy(), torch.tensor))
