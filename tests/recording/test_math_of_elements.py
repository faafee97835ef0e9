"""Tests of ``math`` and ``cmath`` on elements of arrays: they become operations of one variant, with
derivatives.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from math import log10
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GradientRefused  # noqa: E402
from tests.support.tolerance import tolerance  # noqa: E402

TARGETS = ("numpy", "jax", "tensorflow", "torch")
GRADIENTS = ("jax", "tensorflow", "torch")


def exponential(a: Any) -> Any:
    x = a[0]
    return np.array(
        [
            math.exp(x),
            math.expm1(x),
            math.log(x),
            math.log1p(x),
            math.log2(x),
            log10(x),
            math.sqrt(x),
            math.log(x, 3),
        ]
    )


def trigonometric(a: Any) -> Any:
    x = a[0]
    found = [
        math.sin(x),
        math.cos(x),
        math.tan(x),
        math.asin(x),
        math.acos(x),
        math.atan(x),
        math.degrees(x),
        math.radians(x),
    ]
    return np.array(
        [*found, math.sinh(x), math.cosh(x), math.tanh(x), math.asinh(x), math.acosh(x + 1), math.atanh(x)]
    )


def special(a: Any) -> Any:
    x = a[0]
    return np.array(
        [
            math.erf(x),
            math.erfc(x),
            math.gamma(x),
            math.gamma(x - 3),
            math.lgamma(x),
            math.fabs(-x),
            math.copysign(a[1], -x),
        ]
    )


def of_two(a: Any) -> Any:
    x, y = a[0], a[1]
    found = [
        math.atan2(x, y),
        math.hypot(x, y),
        math.pow(x, y),
        math.fmod(5 * y, x),
        math.remainder(y, x),
        math.log(x, y),
    ]
    return np.array([*found, math.pow(x, 3), math.atan2(1, y), math.hypot(x, y, 2)])


def of_sequences(a: Any) -> Any:
    return np.array(
        [math.fsum(v * v for v in a), math.fsum(a), math.dist(a, [1, 2]), math.prod(a[i] for i in range(2))]
    )


def in_parts(a: Any) -> Any:
    fraction, whole = math.modf(a[0] * 7)
    mantissa, exponent = math.frexp(a[0])
    return np.array([fraction, whole * a[1], mantissa, exponent * a[1], math.ldexp(a[0], 3)])


def of_complex(a: Any) -> Any:
    z = complex(a[0], a[1])
    found = [
        cmath.exp(1j * a[0]).imag,
        abs(cmath.sqrt(z)),
        cmath.phase(z),
        cmath.log(z).real,
        cmath.rect(a[0], a[1]).imag,
    ]
    return np.array([*found, cmath.polar(z)[0], cmath.tanh(z).real, cmath.log10(z).imag])


_OF_COMPLEX = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan")


def of_complex_angles(a: Any) -> Any:
    z = complex(a[0], a[1])
    return np.array(
        [
            part
            for name in _OF_COMPLEX
            for part in (getattr(cmath, name)(z).real, getattr(cmath, name)(z).imag)
        ]
    )


def rounded_numbers(a: Any) -> Any:
    x, y = a[0] * 7, a[1]
    # Both functions exist since Python 3.11.
    roots = [math.cbrt(y), math.exp2(y)] if hasattr(math, "exp2") else [y, y]
    return np.array([math.ceil(x) * y, math.floor(x) * y, math.trunc(-x) * y, *roots])


def of_numbers(a: Any) -> Any:
    x, y = float(a[0]), a[1].item()
    return a * math.sin(x) + x**0.5 + 2**y + x**-2 + math.exp(math.log(x) * y)


def in_a_loop(a: Any) -> Any:
    total = 0.0
    for value in a:
        total += math.exp(-value) if math.isclose(value, 0.5, rel_tol=10) else 0.0
    return np.array([total])


def a_number(a: Any) -> Any:
    return math.sin(a[0]) * math.cos(a[1])


PROGRAMS = (
    exponential, trigonometric, special, of_two, of_sequences, in_parts, of_complex, of_complex_angles, rounded_numbers, of_numbers,
    in_a_loop, a_number,
)  # fmt: skip
INPUTS = tuple(np.array(numbers) for numbers in ([0.3, 0.7], [0.4, 0.85], [0.7, 0.55]))


def close(found: Any, expected: Any, kind: str, factor: float = 1.0) -> None:
    relative, absolute = tolerance(kind)
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(expected), rtol=relative * factor, atol=absolute * factor
    )


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_one_variant_computes_with_elements(function: Callable[[Any], Any], to: str) -> None:
    graph = graph_compiler.transpile(function, to=to, source="numpy")
    for x in INPUTS:
        close(graph(x), function(x), "float32" if to == "jax" else "float64")
    assert len(graph.variants) == 1, graph.explain()


def slopes(function: Callable[[Any], Any], x: Any, step: float = 1e-5) -> Any:
    """Return the gradient of the weighted sum of the results by central differences."""
    ends = [[total(function(x + sign * step * unit)) for sign in (1, -1)] for unit in np.eye(2)]
    return np.array([(above - below) / (2 * step) for above, below in ends])


def weights(count: int) -> Any:
    return np.cos(np.arange(count))


def total(result: Any) -> float:
    numbers = np.atleast_1d(np.asarray(result))
    return float((numbers * weights(len(numbers))).sum())


def gradient(graph: Any, x: Any, to: str) -> Any:
    if to == "jax":

        def summed(x: Any) -> Any:
            result = jax.numpy.atleast_1d(graph(x))
            return (result * weights(len(result))).sum()

        return jax.grad(summed)(jax.numpy.asarray(x))
    if to == "torch":
        given = torch.tensor(x, requires_grad=True)
        result = torch.atleast_1d(graph(given))
        (result * torch.tensor(weights(len(result)))).sum().backward()
        return given.grad
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        result = tf.reshape(graph(given), (-1,))
        loss = tf.reduce_sum(result * weights(len(result)))
    return tape.gradient(loss, given)


@pytest.mark.parametrize("to", GRADIENTS)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_elements_have_the_gradients_of_central_differences(function: Callable[[Any], Any], to: str) -> None:
    graph = graph_compiler.transpile(function, to=to, source="numpy")
    graph(INPUTS[1])
    close(gradient(graph, INPUTS[0], to), slopes(function, INPUTS[0]), "float32", 10.0)


REFUSED: dict[str, tuple[Callable[[Any], Any], float]] = {
    "root": (lambda a: np.array([math.sqrt(a[0])]), -1.0),
    "logarithm": (lambda a: np.array([math.log(a[0])]), 0.0),
    "logarithm to the base 0": (lambda a: np.array([math.log(3.0, a[0])]), 0.0),
    "logarithm to the base 1": (lambda a: np.array([math.log(3.0, a[0])]), 1.0),
    "gamma of -infinity": (lambda a: np.array([math.gamma(a[0])]), -math.inf),
    "sine of infinity": (lambda a: np.array([math.sin(a[0])]), math.inf),
    "a pole": (lambda a: np.array([math.gamma(a[0])]), -2.0),
    "a power": (lambda a: np.array([math.pow(a[0], 0.5)]), -4.0),
    "overflow": (lambda a: np.array([math.exp(a[0])]), 1e6),
    "rounded": (lambda a: np.array([math.floor(a[0])]), math.nan),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_python_refuses_is_refused(name: str, to: str) -> None:
    function, number = REFUSED[name]
    graph = graph_compiler.transpile(function, to=to, source="numpy")
    close(graph(np.array([0.5])), function(np.array([0.5])), "float32")
    with pytest.raises((ValueError, ArithmeticError)):
        function(np.array([number]))
    with pytest.raises((ValueError, ArithmeticError)):
        graph(np.array([number]))


SINE = {"sine": math.sin}
READ: dict[str, Callable[[Any, Any], Any]] = {
    "handed on": lambda a, b: np.array([SINE["sine"](a[0])]) * b,
    "a list": lambda a, b: np.array([2.0 * a.tolist()[0]]) * b,
    "printed as well": lambda a, b: (
        np.array([math.factorial(len(f"{a[0]:.3f}")) * float(np.sum(a.tolist()))]) * b
    ),
}


@pytest.mark.parametrize("to", GRADIENTS)
@pytest.mark.parametrize("name", READ)
def test_a_derivative_with_respect_to_what_became_a_constant_is_refused(name: str, to: str) -> None:
    function, a, b = READ[name], np.array([0.3, 0.7]), np.array([2.0, 3.0])
    graph = graph_compiler.transpile(function, to=to, source="numpy")
    close(graph(a, b), function(a, b), "float32")
    with pytest.raises(GradientRefused, match=r"test_math_of_elements.py:.* read here as numbers of Python"):
        gradient(lambda x: graph(x, b), a, to)
    close(gradient(lambda x: graph(a, x), b, to), slopes(lambda x: function(a, x), b), "float32", 10.0)


def test_whole_numbers_that_are_read_refuse_nothing() -> None:
    graph = graph_compiler.transpile(lambda a: a * [3, 4, 5][int(a[0])], to="torch", source="numpy")
    np.testing.assert_allclose(gradient(graph, np.array([1.5, 2.5]), "torch"), 4 * weights(2))


MADE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor,
    "tensorflow": tf.constant,
    "jax": jax.numpy.asarray,
}
OF_EVERY_SOURCE: dict[str, Callable[[Any], Any]] = {
    "sine": lambda a: math.sin(a[0]) * a,
    "of a number": lambda a: math.cosh(float(a[0])) * a,
    "of two": lambda a: math.atan2(a[0], a[1]) * a + math.pow(a[0], a[1]),
    "of three": lambda a: math.hypot(a[0], a[1], 2) * a,
    "special": lambda a: (math.erf(a[0]) + math.gamma(a[1])) * a,
    "a base": lambda a: math.log(a[0], 3) * a,
    "rounded": lambda a: math.floor(a[0] * 9) * a,
}


@pytest.mark.parametrize("source", MADE)
@pytest.mark.parametrize("name", OF_EVERY_SOURCE)
def test_one_variant_of_every_source(name: str, source: str) -> None:
    function = OF_EVERY_SOURCE[name]
    graph = graph_compiler.transpile(function, to="numpy", source=source)
    for x in INPUTS:
        given = MADE[source](x.astype(np.float32))
        close(graph(given), function(given), "float32")
    assert len(graph.variants) == 1, graph.explain()
