"""Elementwise functions beyond the array API standard, in the names of ``jax`` and ``jax.scipy.special``.

Functions that compute with floats take floats; lifting converts integers before, as the source framework
would have.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from .dtypes import complex_of, real_of
from .registry import ArraySpec, declare
from .rules import Input, declare_binary, declare_unary, elementwise, predicate

_SECTION = "special"

declare_unary(
    _SECTION,
    elementwise,
    {
        "airy_ai": "Airy function Ai.",
        "bessel_j0": "Bessel function of the first kind, order 0.",
        "bessel_j1": "Bessel function of the first kind, order 1.",
        "bessel_k0": "Modified Bessel function of the second kind, order 0.",
        "bessel_k0e": "``bessel_k0(x) * exp(x)``.",
        "bessel_k1": "Modified Bessel function of the second kind, order 1.",
        "bessel_k1e": "``bessel_k1(x) * exp(x)``.",
        "bessel_y0": "Bessel function of the second kind, order 0.",
        "bessel_y1": "Bessel function of the second kind, order 1.",
        "digamma": "Derivative of ``lgamma``; -inf at 0.0, inf at -0.0, NaN at negative integers.",
        "entr": "``-x * log(x)``: 0 at 0, where its derivative is infinite, -inf below, NaN of NaN.",
        "erf": "Error function.",
        "erfc": "``1 - erf(x)``, exact for large ``x``.",
        "erfcx": "``exp(x ** 2) * erfc(x)``.",
        "erfinv": "Inverse of ``erf``; infinite at -1 and 1, NaN beyond.",
        "exp2": "``2 ** x``, exact for integral ``x``.",
        "i0": "Modified Bessel function of the first kind, order 0.",
        "i0e": "``i0(x) * exp(-abs(x))``.",
        "i1": "Modified Bessel function of the first kind, order 1; its derivative at 0 is one half.",
        "i1e": "``i1(x) * exp(-abs(x))``.",
        "lgamma": "Logarithm of the absolute value of the gamma function.",
        "log_ndtr": "Logarithm of ``ndtr``, without underflow.",
        "ndtr": "Distribution function of the standard normal distribution.",
        "ndtri": "Inverse of ``ndtr``.",
        "rsqrt": "``1 / sqrt(x)``.",
        "sigmoid": "``1 / (1 + exp(-x))``, without overflow.",
        "sinc": "``sin(pi * x) / (pi * x)``, 1 at 0.",
        "spherical_bessel_j0": "``sin(x) / x``, 1 at 0.",
        "stop_gradient": "The same numbers, without gradient.",
    },
)

declare_binary(
    _SECTION,
    elementwise,
    {
        "fmax": "The larger operand; if one is NaN, the other.",
        "fmin": "The smaller operand; if one is NaN, the other.",
        "fmod": "The remainder of ``x1 / x2`` rounded towards 0, with the sign of ``x1``.",
        "gammainc": "Regularised lower incomplete gamma function of ``x2``, with parameter ``x1``.",
        "gammaincc": "``1 - gammainc(x1, x2)``.",
        "gcd": "Greatest common divisor of integers, never negative.",
        "lcm": "Least common multiple of integers, never negative.",
        "logaddexp2": "``log2(2 ** x1 + 2 ** x2)`` without overflow.",
        "trunc_divide": "``x1 / x2`` rounded towards 0.",
        "xlog1py": (
            "``x1 * log1p(x2)``, 0 where ``x1`` is 0; NaN where ``x2`` is. Derivatives: ``log1p(x2)``, 0 "
            "where ``x1`` is 0 and ``x2 <= -1``; ``x1 / (1 + x2)``."
        ),
        "xlogy": (
            "``x1 * log(x2)``, 0 where ``x1`` is 0; NaN where ``x2`` is. Derivatives: ``log(x2)``, 0 where "
            "``x1`` is 0 and ``x2 <= 0``; ``x1 / x2``."
        ),
        "zeta": "Hurwitz zeta function of ``x1`` from ``x2`` on.",
    },
)


@declare(_SECTION)
def angle(x: Input, /) -> ArraySpec:
    """Compute the argument of complex numbers, from -pi to pi.

    For real numbers it is pi if they are negative and 0 otherwise.
    """
    spec = elementwise(x)
    return ArraySpec(spec.shape, real_of(spec.dtype))


@declare(_SECTION)
def betainc(a: Input, b: Input, x: Input, /) -> ArraySpec:
    """Compute the regularised incomplete beta function of ``x`` with parameters ``a`` and ``b``.

    ``x`` is in [0, 1].
    """
    return elementwise(a, b, x)


@declare(_SECTION, name="complex")
def complex_(real: Input, imag: Input, /) -> ArraySpec:
    """Combine real and imaginary parts into complex numbers."""
    spec = elementwise(real, imag)
    return ArraySpec(spec.shape, complex_of(spec.dtype))


@declare(_SECTION)
def frexp(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Split ``x`` into a mantissa in [0.5, 1) and an int32 exponent: ``x == mantissa * 2 ** exponent``."""
    return x, ArraySpec(x.shape, "int32")


@declare(_SECTION)
def isclose(
    x1: Input, x2: Input, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> ArraySpec:
    """Return True where ``abs(x1 - x2) <= atol + rtol * abs(x2)``.

    An infinity is close only to itself. NaN is close to NaN only if ``equal_nan``.
    """
    return predicate(x1, x2)


@declare(_SECTION)
def logit(x: ArraySpec, /, *, eps: float | None = None) -> ArraySpec:
    """Compute ``log(x / (1 - x))``, with ``x`` clipped to [eps, 1 - eps] if ``eps`` is given."""
    return x


@declare(_SECTION)
def nan_to_num(
    x: ArraySpec, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> ArraySpec:
    """Replace NaN by ``nan`` and infinities by ``posinf`` and ``neginf``.

    None stands for the largest and the lowest finite number.
    """
    return x


@declare(_SECTION)
def orthogonal_polynomial(x: Input, n: Input, /, *, kind: str) -> ArraySpec:
    """Evaluate the polynomial of degree ``n`` of the family ``kind``.

    ``n`` is an array of the dtype of ``x``, rounded towards 0; the result is 0 where it is negative.
    Kinds: chebyshev_t, chebyshev_u, chebyshev_v, chebyshev_w, hermite_h, hermite_he, laguerre_l,
    legendre_p.
    """
    return elementwise(x, n)


@declare(_SECTION)
def polygamma(x: ArraySpec, /, *, n: int) -> ArraySpec:
    """Compute the ``n``-th derivative of ``digamma``."""
    return x


@declare(_SECTION)
def view_as_complex(x: ArraySpec, /) -> ArraySpec:
    """Combine pairs along the last axis, of size 2, into complex numbers."""
    last: Any = x.shape[-1] if x.shape else 0
    if isinstance(last, int) and last != 2:
        raise InvalidGraph(f"complex numbers of {x}: the last axis must hold two numbers")
    return ArraySpec(x.shape[:-1], complex_of(x.dtype))


@declare(_SECTION)
def view_as_real(x: ArraySpec, /) -> ArraySpec:
    """Split complex numbers into real and imaginary parts along a new last axis."""
    return ArraySpec((*x.shape, 2), real_of(x.dtype))
