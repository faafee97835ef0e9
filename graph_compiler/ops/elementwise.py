"""Elementwise functions of the array API standard, and others, most of which have the names of ``jax``.

Operands are arrays of one dtype, or arrays and numbers. Lifting inserts ``astype`` where the source promotes.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from .dtypes import complex_of, real_of
from .registry import ArraySpec, declare
from .rules import Input, declare_binary, declare_unary, elementwise, predicate

_ELEMENTWISE = "elementwise"
RAISES_FOR_INTEGERS = frozenset({"divide", "fmod", "floor_divide", "pow", "remainder", "trunc_divide"})
"""Operations that raise an error for some integers, such as a divisor of 0, in some targets."""


def _real(x: Input) -> ArraySpec:
    spec = elementwise(x)
    return ArraySpec(spec.shape, real_of(spec.dtype))


declare_unary(
    _ELEMENTWISE,
    elementwise,
    {
        "acos": "Arc cosine; NaN outside of [-1, 1].",
        "acosh": "Inverse hyperbolic cosine; NaN below 1.",
        "asin": "Arc sine; NaN outside of [-1, 1].",
        "asinh": "Inverse hyperbolic sine.",
        "atan": "Arc tangent, from -pi/2 to pi/2.",
        "atanh": "Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.",
        "bitwise_invert": "Every bit flipped; logical not of bools.",
        "ceil": "The smallest integral number not below ``x``, as a float.",
        "conj": "Complex conjugate.",
        "cos": "Cosine of radians.",
        "cosh": "Hyperbolic cosine.",
        "exp": "``e ** x``.",
        "expm1": "``e ** x - 1``, exact near 0.",
        "floor": "The largest integral number not above ``x``, as a float.",
        "log": "Natural logarithm; -inf at 0, NaN below.",
        "log1p": "``log(1 + x)``, exact near 0.",
        "log2": "Logarithm to base 2, exact for powers of two.",
        "log10": "Logarithm to base 10.",
        "negative": "``-x``.",
        "positive": "``+x``: the same numbers.",
        "reciprocal": "``1 / x``.",
        "round": "The nearest integral number, as a float; halves go to the even one.",
        "sign": "-1, 0 or 1; NaN of NaN; ``x / abs(x)`` of complex numbers, and 0, without gradient, of 0.",
        "sin": "Sine of radians.",
        "sinh": "Hyperbolic sine.",
        "sqrt": "Square root; NaN below 0. The derivative at 0 is infinite.",
        "square": "``x * x``.",
        "tan": "Tangent of radians.",
        "tanh": "Hyperbolic tangent.",
        "trunc": "The integral number next to ``x`` on the way to 0, as a float.",
    },
)

declare_unary(
    _ELEMENTWISE,
    _real,
    {
        "imag": "Imaginary part of complex numbers.",
        "real": "Real part of complex numbers.",
    },
)


@declare(_ELEMENTWISE, name="abs")
def abs_(x: Input, /, *, right: bool = False) -> ArraySpec:
    """Compute the absolute value, or the modulus of complex numbers as a real number.

    The derivative of real numbers at 0 is 0, or 1 with ``right``.
    """
    return _real(x)


declare_unary(
    _ELEMENTWISE,
    predicate,
    {
        "isfinite": "Whether neither infinite nor NaN.",
        "isinf": "Whether infinite, of either sign.",
        "isnan": "Whether NaN.",
        "logical_not": "Not, of bools.",
        "signbit": "Whether the sign bit is set: negative numbers and -0.0.",
    },
)

declare_binary(
    _ELEMENTWISE,
    elementwise,
    {
        "add": "``x1 + x2``, broadcast; logical or of bools.",
        "atan2": (
            "The angle of the point with ordinate ``x1`` and abscissa ``x2``, from -pi to pi; no gradient at "
            "the origin."
        ),
        "bitwise_and": "Bits that are set in both.",
        "bitwise_left_shift": "``x1`` moved left by ``x2`` bits, zeros coming in.",
        "bitwise_or": "Bits that are set in either.",
        "bitwise_right_shift": (
            "``x1`` moved right by ``x2`` bits; copies of the sign come in, or zeros if it is unsigned."
        ),
        "bitwise_xor": "Bits that are set in exactly one.",
        "copysign": "The magnitude of ``x1`` with the sign of ``x2``; no gradient where ``x1`` is 0.",
        "divide": "``x1 / x2`` of floats, as IEEE 754 has it.",
        "floor_divide": "``x1 / x2`` rounded down; of floats as in Python, with ``x1 / 0`` as ``divide``.",
        "hypot": (
            "``sqrt(x1 ** 2 + x2 ** 2)`` without overflow; its derivatives are ``x1 / hypot`` and "
            "``x2 / hypot``, NaN at the origin."
        ),
        "logaddexp": "``log(exp(x1) + exp(x2))`` without overflow.",
        "maximum": "The larger one; NaN where either is. Equal ones share the gradient.",
        "minimum": "The smaller one; NaN where either is. Equal ones share the gradient.",
        "multiply": "``x1 * x2``, broadcast; logical and of bools.",
        "nextafter": "The next float after ``x1`` on the way to ``x2``.",
        "pow": (
            "``x1 ** x2``; a negative power of integers is 0 except for bases 1 and -1. Where ``x2`` is 0, "
            "no gradient flows to ``x1``."
        ),
        "remainder": "The remainder of ``floor_divide``; one that is not 0 has the sign of ``x2``.",
        "subtract": "``x1 - x2``, broadcast.",
    },
)

declare_binary(
    _ELEMENTWISE,
    predicate,
    {
        "equal": "``x1 == x2``; False where either is NaN.",
        "greater": "``x1 > x2``.",
        "greater_equal": "``x1 >= x2``.",
        "less": "``x1 < x2``.",
        "less_equal": "``x1 <= x2``.",
        "logical_and": "And, of bools.",
        "logical_or": "Or, of bools.",
        "logical_xor": "Either but not both, of bools.",
        "not_equal": "``x1 != x2``; True where either is NaN.",
    },
)


@declare(_ELEMENTWISE)
def clip(x: Input, min: Input = None, max: Input = None, /) -> ArraySpec:
    """Clip ``x`` to [min, max]; each bound is a number, an array or None.

    Where ``min`` is larger than ``max``, numbers become ``max``. Raise ``InvalidGraph`` if both are None.
    """
    if min is None and max is None:
        raise InvalidGraph(f"clip of {x}: a lower or an upper bound is needed, and both are None")
    return elementwise(*(operand for operand in (x, min, max) if operand is not None))


# ------------------------------------------------------------------------------------------ special functions
# Functions beyond the array API standard, most with the names of ``jax`` and ``jax.scipy.special``.
# Functions that compute with floats take floats; lifting converts integers, as the source framework does.

_SPECIAL = "special"

declare_unary(
    _SPECIAL,
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
    _SPECIAL,
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


@declare(_SPECIAL)
def angle(x: Input, /) -> ArraySpec:
    """Compute the argument of complex numbers, in radians; of real numbers it is pi below 0, 0 from 0 on.

    The argument of NaN is NaN.
    """
    spec = elementwise(x)
    return ArraySpec(spec.shape, real_of(spec.dtype))


@declare(_SPECIAL)
def betainc(a: Input, b: Input, x: Input, /) -> ArraySpec:
    """Compute the regularised incomplete beta function of ``x`` with parameters ``a`` and ``b``.

    ``x`` is in [0, 1].
    """
    return elementwise(a, b, x)


@declare(_SPECIAL, name="complex")
def complex_(real: Input, imag: Input, /) -> ArraySpec:
    """Combine real and imaginary parts into complex numbers; float16 and bfloat16 become complex64."""
    spec = elementwise(real, imag)
    return ArraySpec(spec.shape, complex_of(spec.dtype))


@declare(_SPECIAL)
def frexp(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Split ``x`` into a mantissa and an int32 exponent, ``mantissa * 2 ** exponent``.

    The absolute value of the mantissa of a normal number is in [0.5, 1).
    """
    return x, ArraySpec(x.shape, "int32")


@declare(_SPECIAL)
def isclose(
    x1: Input, x2: Input, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> ArraySpec:
    """Return True where finite numbers satisfy ``abs(x1 - x2) <= atol + rtol * abs(x2)``.

    An infinity is close only to itself. NaN is close to NaN only if ``equal_nan``.
    """
    return predicate(x1, x2)


@declare(_SPECIAL)
def logit(x: ArraySpec, /, *, eps: float | None = None) -> ArraySpec:
    """Compute ``log(x / (1 - x))``, with ``x`` clipped to [eps, 1 - eps] if ``eps`` is given."""
    return x


@declare(_SPECIAL)
def nan_to_num(
    x: ArraySpec, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> ArraySpec:
    """Replace NaN by ``nan`` and infinities by ``posinf`` and ``neginf``.

    If ``posinf`` is None, it is the largest finite number of the dtype; if ``neginf`` is None, the lowest.
    """
    return x


@declare(_SPECIAL)
def orthogonal_polynomial(x: Input, n: Input, /, *, kind: str) -> ArraySpec:
    """Evaluate the orthogonal polynomial of degree ``n`` of the family ``kind`` at ``x``.

    ``n`` is rounded towards 0. The result is 0 for negative degrees. ``kind`` is chebyshev_t, chebyshev_u,
    chebyshev_v, chebyshev_w, hermite_h, hermite_he, laguerre_l or legendre_p.
    """
    return elementwise(x, n)


@declare(_SPECIAL)
def polygamma(x: ArraySpec, /, *, n: int) -> ArraySpec:
    """Compute the ``n``-th derivative of ``digamma``; raise ``InvalidGraph`` if ``n`` is less than 1."""
    if n < 1:
        raise InvalidGraph(f"polygamma of {x}: n must be at least 1, and is {n}")
    return x


@declare(_SPECIAL)
def view_as_complex(x: ArraySpec, /) -> ArraySpec:
    """Combine the pairs along the last axis, which has size 2, into complex numbers."""
    last: Any = x.shape[-1] if x.shape else 0
    if isinstance(last, int) and last != 2:
        raise InvalidGraph(f"complex numbers of {x}: the last axis must hold two numbers")
    return ArraySpec(x.shape[:-1], complex_of(x.dtype))


@declare(_SPECIAL)
def view_as_real(x: ArraySpec, /) -> ArraySpec:
    """Split complex numbers into real and imaginary parts along a new last axis."""
    return ArraySpec((*x.shape, 2), real_of(x.dtype))
