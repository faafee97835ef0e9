"""Elementwise functions (array API standard, "Element-wise Functions").

Operands are arrays of one dtype, or arrays and numbers; lifting inserts ``astype`` where the source would
have promoted.
"""

from __future__ import annotations

from ..dtypes import real_of
from ..registry import ArraySpec, declare
from ..rules import Input, declare_binary, declare_unary, elementwise, predicate

_SECTION = "elementwise"


def _real(x: Input) -> ArraySpec:
    spec = elementwise(x)
    return ArraySpec(spec.shape, real_of(spec.dtype))


declare_unary(
    _SECTION,
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
    _SECTION,
    _real,
    {
        "imag": "Imaginary part of complex numbers.",
        "real": "Real part of complex numbers.",
    },
)


@declare(_SECTION, name="abs")
def abs_(x: Input, /, *, right: bool = False) -> ArraySpec:
    """Compute the absolute value, or the modulus of complex numbers as a real number.

    The derivative at 0 is 0; for real numbers with ``right`` it is 1, the right derivative.
    """
    return _real(x)


declare_unary(
    _SECTION,
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
    _SECTION,
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
        "bitwise_right_shift": "``x1`` moved right by ``x2`` bits, copies of the sign coming in.",
        "bitwise_xor": "Bits that are set in one of both.",
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
        "remainder": "``x1 - floor(x1 / x2) * x2``: the sign is that of ``x2``.",
        "subtract": "``x1 - x2``, broadcast.",
    },
)

declare_binary(
    _SECTION,
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


@declare(_SECTION)
def clip(x: Input, min: Input = None, max: Input = None, /) -> ArraySpec:
    """Clip ``x`` to [min, max], each a number, an array or None; ``max`` wins.

    At a bound the gradient goes to ``x``.
    """
    return elementwise(*(operand for operand in (x, min, max) if operand is not None))
