"""Division, rounding to half precision, and special functions that scipy lacks or defines otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

# Only generated source that uses scipy imports it.
if TYPE_CHECKING:
    from scipy import special


def checked_division(function: np.ufunc, x1: np.ndarray | int, x2: np.ndarray | int) -> np.ndarray:
    """Apply the division ``function`` to integers. Raise ``FloatingPointError`` for division by zero."""
    with np.errstate(divide="raise"):
        return function(x1, x2)


def rounded(arrays: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """Cast the arrays of dtype float32 to ``dtype``. The others remain unchanged."""
    return tuple(array.astype(dtype) if array.dtype == np.float32 else array for array in arrays)


# ---------------------------------------------------------------------------------------------------- special
# Special functions that ``scipy.special`` lacks, or defines differently at the edges of their domain.


def airy_ai(x: np.ndarray) -> np.ndarray:
    # scipy returns NaN for large finite ``x``.
    return np.where((x > 1e3) & (x < np.inf), 0, special.airy(x)[0]).astype(x.dtype)


def complex_of(real: np.ndarray | float, imag: np.ndarray | float) -> np.ndarray:
    """Combine real and imaginary parts. Unlike ``real + 1j * imag``, this makes no NaN of infinite parts."""
    result = np.empty(
        np.broadcast_shapes(np.shape(real), np.shape(imag)), np.result_type(real, imag, np.complex64)
    )
    result.real, result.imag = real, imag
    return result


def digamma(x: np.ndarray) -> np.ndarray:
    """Compute the logarithmic derivative of the gamma function; -inf at 0.0, inf at -0.0."""
    return np.where(x == 0, -np.copysign(np.inf, x), special.psi(x)).astype(x.dtype)


def gammainc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute the regularised lower incomplete gamma function ``P(a, x)``."""
    limit = np.where(a == 0, np.where(x > 0, 1, np.nan), np.where((x >= 0) & (x < np.inf), 0, np.nan))
    return np.where((a == 0) | (a == np.inf), limit, special.gammainc(a, x)).astype(np.result_type(a, x))


def gammaincc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute the regularised upper incomplete gamma function ``Q(a, x)``."""
    limit = np.where(a == 0, np.where(x > 0, 0, np.nan), np.where((x >= 0) & (x < np.inf), 1, np.nan))
    return np.where((a == 0) | (a == np.inf), limit, special.gammaincc(a, x)).astype(np.result_type(a, x))


def half_nan_to_num(
    x: np.ndarray, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> np.ndarray:
    """Replace NaN and infinities of a half-precision ``x`` by ``nan``, ``posinf`` and ``neginf``.

    By default, infinities become the largest and the lowest finite value of the dtype.
    """
    zero = np.zeros((), x.dtype)
    largest = np.nextafter(np.array(np.inf, x.dtype), zero).astype(np.float32)
    wide = x.astype(np.float32)
    finite = np.nan_to_num(
        wide,
        nan=nan,
        posinf=largest if posinf is None else posinf,
        neginf=-largest if neginf is None else neginf,
    )
    return finite.astype(x.dtype)


def lgamma(x: np.ndarray) -> np.ndarray:
    """Compute the logarithm of the absolute value of the gamma function; inf at both infinities."""
    return special.gammaln(np.where(x == -np.inf, np.inf, x))


def logit(x: np.ndarray, eps: float | None = None) -> np.ndarray:
    """Compute ``log(x / (1 - x))``, with ``x`` clipped to [eps, 1 - eps] unless ``eps`` is None."""
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


def orthogonal_polynomial(x: np.ndarray, n: np.ndarray, kind: str) -> np.ndarray:
    """Evaluate the polynomial of degree ``n`` of the family ``kind`` at ``x``.

    ``n`` is rounded towards 0. Where it is then negative or not finite, the result is 0.
    """
    dtype = np.result_type(x, n)
    x, n = np.broadcast_arrays(x, np.trunc(n))
    first = {
        "chebyshev_t": x, "chebyshev_u": 2 * x, "chebyshev_v": 2 * x - 1, "chebyshev_w": 2 * x + 1,
        "hermite_h": 2 * x, "hermite_he": x, "laguerre_l": 1 - x, "legendre_p": x,
    }[kind]  # fmt: skip
    result = np.where(n == 0, 1, np.where(n == 1, first, 0))
    before, last = np.ones_like(x), first
    for k in range(2, int(np.max(n, initial=0, where=np.isfinite(n))) + 1):
        if kind.startswith("chebyshev"):
            value = 2 * x * last - before
        elif kind == "hermite_h":
            value = 2 * x * last - 2 * (k - 1) * before
        elif kind == "hermite_he":
            value = x * last - (k - 1) * before
        elif kind == "laguerre_l":
            value = ((2 * k - 1 - x) * last - (k - 1) * before) / k
        else:
            value = ((2 * k - 1) * x * last - (k - 1) * before) / k
        before, last, result = last, value, np.where(n == k, value, result)
    return result.astype(dtype)


def polygamma(x: np.ndarray, n: int) -> np.ndarray:
    """Compute the ``n``-th derivative of ``digamma`` at finite ``x``; ``n`` is at least 1."""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    value = trigamma(wide) if n == 1 else np.where(x == np.inf, np.nan, special.polygamma(n, wide))
    return value.astype(x.dtype)


def spherical_bessel_j0(x: np.ndarray) -> np.ndarray:
    """Compute ``sin(x) / x``, which is 1 at 0, and 0 at infinity."""
    return np.where(x == 0, 1, np.where(np.isinf(x), 0, np.sin(x) / x))


def trigamma(x: np.ndarray) -> np.ndarray:
    below = x < 0.5
    sine = np.sin(np.pi * np.where(below, x, x.dtype.type(0.5)))
    value = special.zeta(2, np.where(below, 1 - x, x))
    return np.where(below, np.pi**2 / (sine * sine) - value, value)


def zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Compute the Hurwitz zeta function, the sum of ``(k + q) ** -x`` over the integers ``k >= 0``.

    It is NaN where ``x`` is below 1 or ``q`` is inf, and infinite at its poles.
    """
    dtype = np.result_type(x, q)
    x, q = np.broadcast_arrays(x, q)
    pole = (x == 1) | (x > 1) & (q <= 0) & (q == np.floor(q))
    total, place = np.zeros(x.shape, dtype), np.array(q)
    # The recurrence in ``q`` leads to positive arguments, which scipy supports. It might never end at
    # integers, which are poles.
    while np.any(below := (place < 0) & (place != np.floor(place))):
        total = np.where(below, total + place**-x, total)
        place = np.where(below, place + 1, place)
    value = total + special.zeta(x, place)
    return np.where((x < 1) | (q == np.inf), np.nan, np.where(pole, np.inf, value)).astype(dtype)
