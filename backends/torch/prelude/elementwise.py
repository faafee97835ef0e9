"""Element-wise and special functions that torch lacks, or whose derivatives differ there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .control import with_gradient


def absolute(x: torch.Tensor) -> torch.Tensor:
    """Compute the absolute value of real numbers, with derivative 1 at 0 if ``x`` requires a gradient."""
    return torch.where(x < 0, -x, x + 0) if x.requires_grad else torch.abs(x)


def bits_as_int64(x: Any) -> torch.Tensor:
    """Bitcast a uint64 tensor, or a Python int modulo 2**64, to int64."""
    return x.view(torch.int64) if isinstance(x, torch.Tensor) else torch.tensor((x + 2**63) % 2**64 - 2**63)


def shifted_right(x: Any, count: Any) -> torch.Tensor:
    """Shift the bits of uint64 right and insert zeros. The result is 0 if ``count`` is 64 or more."""
    bits, places = bits_as_int64(x), bits_as_int64(count)
    moved = (bits >> places) & ~(torch.full_like(bits, -1) << (64 - places))
    return torch.where((places >= 0) & (places < 64), torch.where(places == 0, bits, moved), 0).view(
        torch.uint64
    )


def is_less(x: Any, y: Any) -> torch.Tensor:
    """Compare uint64 element-wise: True where ``x < y``."""
    return (bits_as_int64(x) ^ -(2**63)) < (bits_as_int64(y) ^ -(2**63))


def uint64_divmod(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return quotient and remainder of uint64. For ``y`` 0, these are 0 and ``x``."""
    number, divisor = bits_as_int64(x), bits_as_int64(y)
    # The halved number fits int64. A divisor that does not fit is contained at most once.
    half = shifted_right(x, 1).view(torch.int64)
    quotient = torch.where(
        divisor > 0, torch.div(half, torch.where(divisor > 0, divisor, 1), rounding_mode="floor") << 1, 0
    )
    rest = number - quotient * divisor
    more = (divisor != 0) & ~is_less(rest.view(torch.uint64), divisor.view(torch.uint64))
    return (quotient + more).view(torch.uint64), torch.where(more, rest - divisor, rest).view(torch.uint64)


# ---------------------------------------------------------------------------------------------------- special
# Special functions, or derivatives of them, that torch lacks.


def lcm(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Compute the least common multiple of signed integers, which wraps around if it does not fit."""
    # `torch.lcm` divides by a divisor that may be -1, which ends the process for the smallest integer.
    divisor = torch.gcd(x1, x2).abs()
    return x1.abs() // torch.where(divisor == 0, 1, divisor) * x2.abs()


def betainc(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Compute the regularized incomplete beta function of ``a``, ``b`` and ``x``, which broadcast.

    The result is NaN outside of the domain.
    """
    dtype = x.dtype
    a, b, x = (
        item.to(torch.promote_types(dtype, torch.float32)) for item in torch.broadcast_tensors(a, b, x)
    )
    # The whole mass of the distribution lies at 0, or at 1.
    starts, ends = (
        (a == 0) | (b == math.inf),
        (b == 0) | (a == math.inf),
    )
    wrong = ~((a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)) | (starts & ends)
    inside = ~(wrong | starts | ends) & (x > 0) & (x < 1)
    near_a, near_b, near_x = torch.where(inside, a, 1), torch.where(inside, b, 1), torch.where(inside, x, 0.5)
    limit = torch.where(wrong, math.nan, ((starts & (x > 0)) | (x == 1)).to(x.dtype))
    value = torch.where(inside, beta_fraction(near_a, near_b, near_x), limit)
    log_beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    slope = torch.exp(torch.xlogy(a - 1, x) + torch.special.xlog1py(b - 1, -x) - log_beta)
    at_ends = with_gradient(torch.zeros_like(value), torch.where(inside, 0, x), torch.where(inside, 0, slope))
    return (value + at_ends).to(dtype)


def beta_fraction(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Compute the regularized incomplete beta function for positive ``a`` and ``b`` and ``0 < x < 1``.

    It is computed by a continued fraction. See https://dlmf.nist.gov/8.17.E22.
    """
    is_short = x < (a + 1) / (a + b + 2)
    p, q, y = torch.where(is_short, a, b), torch.where(is_short, b, a), torch.where(is_short, x, 1 - x)
    rest = torch.ones_like(y)
    for m in range(300 if y.dtype == torch.float64 else 100, -1, -1):
        rest = 1 - (p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)) / rest
        rest = 1 + m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)) / rest if m else rest
    factor = torch.exp(
        p * torch.log(y) + q * torch.log1p(-y) + torch.lgamma(p + q) - torch.lgamma(p) - torch.lgamma(q)
    )
    part = factor / (p * rest)
    return torch.where(is_short, part, 1 - part)


def incomplete_gamma(
    function: Callable[..., torch.Tensor], sign: int, a: torch.Tensor, x: torch.Tensor
) -> torch.Tensor:
    """Compute ``function``, ``torch.special.gammainc`` (``sign`` 1) or ``gammaincc`` (``sign`` -1).

    Unlike these, it has a derivative in reverse mode with respect to ``a``.
    """
    # torch lacks the derivative with respect to `a`.
    if not (isinstance(a, torch.Tensor) and a.requires_grad):
        return function(a, x)

    class IncompleteGamma(torch.autograd.Function):
        @staticmethod
        def forward(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return function(a, x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
            ctx.save_for_backward(*inputs)

        # Its operations have derivatives, so there are second derivatives, too.
        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            a, x = ctx.saved_tensors
            by_a = (gradient * sign * gammainc_slope(a, x)).sum_to_size(a.shape)
            if not ctx.needs_input_grad[1]:
                return by_a, None
            density = torch.exp((a - 1) * x.log() - x - torch.lgamma(a))
            return by_a, (gradient * sign * density).sum_to_size(x.shape)

    return IncompleteGamma.apply(a, x)


def gammainc_slope(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Compute the derivative of ``gammainc`` with respect to ``a``. It is 0 unless ``0 < x < inf``."""
    # The series `exp(-x) * sum(x ** (a + n) / gamma(a + n + 1))` is differentiated term by term.
    kind = torch.promote_types(a.dtype, x.dtype)
    a, x = torch.broadcast_tensors(a.double(), x.double())
    inside = (x > 0) & x.isfinite()
    x = torch.where(inside, x, 1.0)
    log, digamma = x.log(), torch.digamma(a + 1)
    term = torch.exp(a * log - x - torch.lgamma(a + 1))
    total = term * (log - digamma)
    for n in range(1, 1 << 16):
        term, digamma = term * x / (a + n), digamma + 1 / (a + n)
        total = total + term * (log - digamma)
        if n % 16 == 0 and not bool(((term > 1e-17) | ((a + n < x) & (term > 0))).any()):
            break
    return torch.where(inside, total, 0.0).to(kind)
