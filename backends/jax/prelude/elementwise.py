"""Element-wise and special functions that JAX lacks, or whose values or gradients differ there."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from ...common.special_functions import (
    airy_between,
    airy_far_right,
    airy_in_phase,
    airy_out_of_phase,
    chebyshev_sum,
    excess_of_logarithm,
    temme_series,
)
from .control import with_slopes


def absolute(x: jax.Array) -> jax.Array:
    """Compute the absolute value, with gradient 0 at 0."""
    return lax.abs(jnp.where((x > 0) | (x < 0), x, lax.stop_gradient(x)))


def atan2(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute the angle of the point ``(x2, x1)``. At the origin, gradients in reverse mode are 0."""
    origin = (x1 == 0) & (x2 == 0)
    return jnp.arctan2(
        jnp.where(origin, lax.stop_gradient(x1), x1), jnp.where(origin, lax.stop_gradient(x2), x2)
    )


def clip(
    x: jax.Array, low: jax.Array | float | None = None, high: jax.Array | float | None = None
) -> jax.Array:
    """Limit ``x`` to [low, high], where None is no bound. The result is NaN where a bound is NaN."""
    # At a bound, the whole gradient goes to ``x``.
    x = x if low is None else jnp.where((x < low) | (low != low), low, x)
    return x if high is None else jnp.where((x > high) | (high != high), high, x)


def copysign(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """Return the magnitude of ``x1`` with the sign of ``x2``; no gradient flows to ``x1`` where it is 0."""
    return jnp.copysign(jnp.where(x1 == 0, lax.stop_gradient(x1), x1), x2)


def nan_to_num(
    x: jax.Array, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> jax.Array:
    """Replace NaN by ``nan``, inf by ``posinf`` and -inf by ``neginf``, also in the parts of complex numbers.

    By default, infinities become the largest and the lowest finite value of the dtype.
    """
    if jnp.iscomplexobj(x):
        return lax.complex(*(nan_to_num(part, nan, posinf, neginf) for part in (x.real, x.imag)))
    limits = jnp.finfo(x.dtype)
    largest, smallest = (
        limit if given is None else given for limit, given in ((limits.max, posinf), (limits.min, neginf))
    )
    bounded = jnp.where(x == math.inf, largest, jnp.where(x == -math.inf, smallest, x))
    return jnp.where(jnp.isnan(x), nan, bounded)


def hypot(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """Compute the hypotenuse for the legs ``x1`` and ``x2``, without overflow of their squares."""
    return with_slopes(
        jnp.hypot, [lambda x, y: x / hypot(x, y), lambda x, y: y / hypot(x, y)], *jnp.broadcast_arrays(x1, x2)
    )


def complex_sign(x: jax.Array) -> jax.Array:
    """Compute ``x / abs(x)``, or 0 where ``x`` is 0, with gradient 0 there."""
    zero = x == 0
    return jnp.where(zero, 0, x / jnp.abs(jnp.where(zero, 1, x)))


def floor_divide(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """Compute ``x1 // x2`` of floats, without a gradient.

    Where ``x2`` is 0, the result is ``x1 / x2``.
    """
    rest = jnp.fmod(x1, x2)
    quotient = (x1 - rest) / x2
    quotient = jnp.round(jnp.where((rest != 0) & ((rest < 0) != (x2 < 0)), quotient - 1, quotient))
    return lax.stop_gradient(jnp.where(x2 == 0, x1 / x2, quotient))


def log2(x: jax.Array) -> jax.Array:
    """Compute the logarithm to base 2 of real numbers, exactly for normal powers of two."""
    mantissa, exponent = jnp.frexp(x)
    quotient = jnp.log2(x)
    return jnp.where(mantissa == 0.5, quotient + lax.stop_gradient(exponent - 1 - quotient), quotient)


def power(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute ``x1 ** x2`` of floats.

    The derivative with respect to ``x1`` is 0 where ``x2 == 0``, and that with respect to ``x2`` is 0 where
    ``x1 == 0`` and ``x2 >= 0``.
    """

    def by_base(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(y == 0, 0, y * power(x, y - 1))

    def by_exponent(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) & (y >= 0), 0, power(x, y) * jnp.log(x))

    return with_slopes(jnp.power, [by_base, by_exponent], x1, x2)


# ---------------------------------------------------------------------------------------------------- special
# Special functions that JAX lacks, or whose values or gradients differ at the edges of their domain.

# One coefficient a line would make this file four times as long.
# fmt: off


def bessel_far_0(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute ``(J0(x), Y0(x))`` for finite ``x >= 8``.

    This is Hankel's asymptotic form, with Chebyshev series for its factors P and Q.
    """
    # The function is evaluated for smaller ``x``, too, but its result is not used there.
    x = jnp.maximum(x, 8)
    t = 128 / (x * x) - 1
    p = chebyshev_sum(t, (
        0.99946034934751867, -0.00053652204681321174, 3.0751847875194746e-6, -5.1705945376060977e-8,
        1.6306464635151383e-9, -7.86409137723707e-11, 5.1682623873491925e-12, -4.3045788699253912e-13,
        4.3265957431549406e-14, -5.0690340959352361e-15, 6.7480722157338737e-16, -1.0011513723467786e-16,
    ))
    q = chebyshev_sum(t, (
        -0.12444683684269607, 0.00054708159540893197, -5.9315987288485178e-6, 1.4377965798375193e-7,
        -5.817532749493056e-9, 3.3760975237349908e-10, -2.5653979367973078e-11, 2.404916100281365e-12,
        -2.6690625482579416e-13, 3.4041800321963689e-14, -4.87994410531204e-15, 7.7297031762426054e-16,
        -1.3348852171502517e-16, 2.4865952389390515e-17, -4.9528926298865159e-18,
    )) / x
    sine, cosine = jnp.sin(x - jnp.pi / 4), jnp.cos(x - jnp.pi / 4)
    size = jnp.sqrt(2 / (jnp.pi * x))
    return size * (p * cosine - q * sine), size * (p * sine + q * cosine)


def bessel_far_1(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute ``(J1(x), Y1(x))`` for finite ``x >= 8``.

    This is Hankel's asymptotic form, with Chebyshev series for its factors P and Q.
    """
    # The function is evaluated for smaller ``x``, too, but its result is not used there.
    x = jnp.maximum(x, 8)
    t = 128 / (x * x) - 1
    p = chebyshev_sum(t, (
        1.0009030408600137, 0.00089898983308594086, -3.9872843004889085e-6, 6.1776339606442985e-8,
        -1.8718907491063066e-9, 8.8168986595823389e-11, -5.7048636403956447e-12, 4.6991955152305424e-13,
        -4.6842237839904892e-14, 5.4526748960447172e-15, -7.2211808422740179e-16, 1.0667689114335412e-16,
    ))
    q = chebyshev_sum(t, (
        0.3742222965562826, -0.00077021788393256635, 7.3108922063643633e-6, -1.6767825107266738e-7,
        6.5833546621204433e-9, -3.7490909505415562e-10, 2.8121750359748865e-11, -2.6114525394623199e-12,
        2.8774212663332234e-13, -3.6490019160618378e-14, 5.2066263662267072e-15, -8.2153180254585943e-16,
        1.4141084390211833e-16, -2.6267615898385292e-17,
    )) / x
    sine, cosine = jnp.sin(x - 3 * jnp.pi / 4), jnp.cos(x - 3 * jnp.pi / 4)
    size = jnp.sqrt(2 / (jnp.pi * x))
    return size * (p * cosine - q * sine), size * (p * sine + q * cosine)


def bessel_j0(x: jax.Array) -> jax.Array:
    """Compute the Bessel function of the first kind, order 0, at finite ``x``."""
    near = jnp.minimum(jnp.abs(x), 8)
    series = chebyshev_sum(near * near / 32 - 1, (
        0.15772797147489012, -0.0087234423528522213, 0.26517861320333681, -0.37009499387264978,
        0.15806710233209726, -0.034893769411408885, 0.0048191800694676045, -0.00046062616620627505,
        3.2460328821005081e-5, -1.7619469077621507e-6, 7.6081635924187819e-8, -2.6792535305576729e-9,
        7.8486963144794644e-11, -1.9438346867370166e-12, 4.1253205956343739e-14, -7.5885081254475463e-16,
        1.2218515873961411e-17,
    ))
    return jnp.where(jnp.abs(x) <= 8, series, bessel_far_0(jnp.abs(x))[0])


def bessel_j1(x: jax.Array) -> jax.Array:
    """Compute the Bessel function of the first kind, order 1, at finite ``x``."""
    near = jnp.clip(x, -8, 8)
    series = near * chebyshev_sum(near * near / 32 - 1, (
        0.081044846325658115, -0.14897514506765211, 0.1609992623572097, -0.082680491766817907,
        0.022213639654966035, -0.003646940600769276, 0.00040503377283548218, -3.2555548668572585e-5,
        1.9858774049915167e-6, -9.5219847567504362e-8, 3.6871337590971482e-9, -1.1780266226958848e-10,
        3.1601545803480033e-12, -7.2217552396517734e-14, 1.4232144003513942e-15, -2.4441972916190464e-17,
    ))
    return jnp.where(jnp.abs(x) <= 8, series, jnp.sign(x) * bessel_far_1(jnp.abs(x))[0])


def bessel_y0(x: jax.Array) -> jax.Array:
    """Compute the Bessel function of the second kind, order 0, at finite ``x``; NaN below 0."""
    near = jnp.minimum(x, 8)
    series = chebyshev_sum(near * near / 32 - 1, (
        -0.033146113203284942, -0.27447430552974527, 0.17903431407718266, 0.26156734625504664,
        -0.17730201278114358, 0.047196689595763387, -0.0072879624795520792, 0.00075311359325777423,
        -5.632079141056987e-5, 3.206532537654801e-6, -1.4407233274018699e-7, 5.2487947873305161e-9,
        -1.5837552541812015e-10, 4.0263308183061208e-12, -8.7473412033107696e-14, 1.6434898714919469e-15,
        -2.6977881152566836e-17,
    ))
    return jnp.where(x <= 8, series + 2 / jnp.pi * jnp.log(near) * bessel_j0(near), bessel_far_0(x)[1])


def bessel_y1(x: jax.Array) -> jax.Array:
    """Compute the Bessel function of the second kind, order 1, at finite ``x``; NaN below 0."""
    near = jnp.where(x == 0, 0.0, jnp.minimum(x, 8))
    series = near * chebyshev_sum(near * near / 32 - 1, (
        0.0025380132357417817, -0.01608717304766875, -0.095912045360830742, 0.084451972596523458,
        -0.028328123944594366, 0.005289897544167113, -0.0006414551451326356, 5.5059828733387438e-5,
        -3.5380800186893499e-6, 1.7707804556154403e-7, -7.1105500498992798e-9, 2.3443379059115164e-10,
        -6.4651518414115942e-12, 1.51429151205002e-13, -3.0511859694473253e-15, 5.3466803857286701e-17,
    ))
    logarithmic = jnp.where(near == 0, 0, jnp.log(near) * bessel_j1(near)) - 1 / near
    return jnp.where(x <= 8, series + 2 / jnp.pi * logarithmic, bessel_far_1(x)[1])


def bessel_k0e(x: jax.Array) -> jax.Array:
    """Compute ``exp(x) * K0(x)``; NaN below 0.

    K0 is the modified Bessel function of the second kind, order 0.
    """
    near = jnp.minimum(x, 2)
    series = chebyshev_sum(near * near / 2 - 1, (
        0.8433977275772223, 0.78707899085929595, 0.061525778602440722, 0.0019458946141853283,
        3.3247998700597629e-5, 3.5563825166277006e-7, 2.6056207418988498e-9, 1.3895141631982779e-11,
        5.6352146618418467e-14, 1.7966278703136083e-16,
    ))
    far = jnp.maximum(x, 2)
    beyond = chebyshev_sum(4 / far - 1, (
        1.2201515410329777, -0.031448101311964501, 0.0015698838857300534, -0.00012849549581627803,
        1.3949813718876499e-5, -1.8317555227191195e-6, 2.7668136394450151e-7, -4.6604898976879477e-8,
        8.5740340174142261e-9, -1.6975345093890615e-9, 3.5773972814003284e-10, -7.957489244477397e-11,
        1.8559491149549266e-11, -4.5145978833745192e-12, 1.1403405882073442e-12, -2.9800969231481784e-13,
        8.0328907750683744e-14, -2.2275133267462964e-14, 6.340076476276646e-15, -1.8485933779209072e-15,
        5.5120559994043334e-16, -1.6782311257549006e-16, 5.2103917776435541e-17,
    )) / jnp.sqrt(far)
    logarithmic = jnp.log(near) * jnp.exp(near) * lax.bessel_i0e(near)
    return jnp.where(x <= 2, jnp.exp(near) * (series - logarithmic), beyond)


def bessel_k1e(x: jax.Array) -> jax.Array:
    """Compute ``exp(x) * K1(x)``; NaN below 0.

    K1 is the modified Bessel function of the second kind, order 1.
    """
    near = jnp.where(x == 0, 0.0, jnp.minimum(x, 2))
    series = chebyshev_sum(near * near / 2 - 1, (
        -0.22928322884051061, -1.4514444639271789, -0.23313813375563941, -0.011231633227874834,
        -0.00025817602620063549, -3.4719237980698114e-6, -3.0646842833495655e-8, -1.9122674002717066e-10,
        -8.8827792930153982e-13, -3.1915543020248823e-15,
    )) / near
    logarithmic = jnp.where(near == 0, 0, jnp.log(near) * jnp.exp(near) * lax.bessel_i1e(near))
    far = jnp.maximum(x, 2)
    beyond = chebyshev_sum(4 / far - 1, (
        1.3603130952422213, 0.10392373657681724, -0.0028578168596227794, 0.00019521551847135163,
        -1.936197974166083e-5, 2.4064849478372171e-6, -3.5019606030878125e-7, 5.7410841254500493e-8,
        -1.0345762465678097e-8, 2.0150497551970346e-9, -4.1903547593419256e-10, 9.2183151876053141e-11,
        -2.129967838427791e-11, 5.1396396734823435e-12, -1.2891739609498229e-12, 3.3484196660522431e-13,
        -8.9767051820101461e-14, 2.4771544242195987e-14, -7.0198370892147689e-15, 2.0387031662398609e-15,
        -6.0570472706430178e-16, 1.8380935752430454e-16, -5.6894628491936484e-17,
    )) / jnp.sqrt(far)
    return jnp.where(x <= 2, jnp.exp(near) * (series + logarithmic), beyond)


# fmt: on
def bessel_k0(x: jax.Array) -> jax.Array:
    """Compute the modified Bessel function of the second kind, order 0; NaN below 0."""
    return jnp.exp(-x) * bessel_k0e(x)


def bessel_k1(x: jax.Array) -> jax.Array:
    """Compute the modified Bessel function of the second kind, order 1; NaN below 0."""
    return jnp.exp(-x) * bessel_k1e(x)


def airy_ai(x: jax.Array) -> jax.Array:
    """Compute the Airy function Ai by Chebyshev series; NaN where ``(-x) ** 1.5`` overflows."""
    series = airy_between(jnp.clip(x, -3, 3) / 3)
    return jnp.where(
        x < -3, airy_waves(jnp.maximum(-x, 3)), jnp.where(x > 3, airy_decay(jnp.maximum(x, 3)), series)
    )


def airy_decay(x: jax.Array) -> jax.Array:
    """Compute ``Ai(x)`` for ``x`` of at least 3."""
    return airy_far_right(2 * (3 / x) ** 1.5 - 1) * jnp.exp(-2 / 3 * x**1.5) / x**0.25


def airy_waves(x: jax.Array) -> jax.Array:
    """Compute ``Ai(-x)`` for ``x`` of at least 3 whose ``x ** 1.5`` is finite."""
    phase = 2 / 3 * x**1.5
    t = 24 / (phase * phase) - 1
    angle = phase + jnp.pi / 4
    return (airy_in_phase(t) * jnp.sin(angle) - airy_out_of_phase(t) / phase * jnp.cos(angle)) / x**0.25


def digamma(x: jax.Array) -> jax.Array:
    """Compute the logarithmic derivative of the gamma function; -inf at 0.0, inf at -0.0."""
    return jnp.where(x == 0, jnp.where(jnp.signbit(x), jnp.inf, -jnp.inf), lax.digamma(x))


def erfcx(x: jax.Array) -> jax.Array:
    """Compute ``exp(x ** 2) * erfc(x)``."""
    near, far = jnp.minimum(x, 2), jnp.maximum(x, 2)
    rest = far
    for k in range(60, 0, -1):
        rest = far + (k / 2) / rest
    return jnp.where(x < 2, jnp.exp(jnp.square(near)) * lax.erfc(near), 1 / (rest * math.sqrt(math.pi)))


def fmax(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute the maximum, ignoring NaN unless both are NaN. On ties the gradient goes to ``x1``."""
    return jnp.where((x1 >= x2) | jnp.isnan(x2), x1, x2)


def fmin(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute the minimum, ignoring NaN unless both are NaN. On ties the gradient goes to ``x1``."""
    return jnp.where((x1 <= x2) | jnp.isnan(x2), x1, x2)


def gammainc(a: jax.Array, x: jax.Array) -> jax.Array:
    """Compute the regularised lower incomplete gamma function ``P(a, x)``."""
    limit = jnp.where(a == 0, jnp.where(x > 0, 1, jnp.nan), jnp.where((x >= 0) & (x < jnp.inf), 0, jnp.nan))
    far, near_a, near_x = gamma_far(a, x, -1)
    value = jnp.where(jnp.isnan(far), special.gammainc(near_a, near_x), far)
    return jnp.where((a == 0) | (a == jnp.inf), limit, value)


def gammaincc(a: jax.Array, x: jax.Array) -> jax.Array:
    """Compute the regularised upper incomplete gamma function ``Q(a, x)``."""
    limit = jnp.where(a == 0, jnp.where(x > 0, 0, jnp.nan), jnp.where((x >= 0) & (x < jnp.inf), 1, jnp.nan))
    far, near_a, near_x = gamma_far(a, x, 1)
    value = jnp.where(jnp.isnan(far), special.gammaincc(near_a, near_x), far)
    return jnp.where((a == 0) | (a == jnp.inf), limit, value)


def gamma_far(a: jax.Array, x: jax.Array, sign: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Compute a regularised incomplete gamma function for large ``a`` and ``x`` near it; NaN elsewhere.

    ``sign`` is 1 for the upper function and -1 for the lower one. Also return ``a`` and ``x``, with 1 where
    the value was computed.
    """
    is_far = (a >= 200) & (jnp.abs(x - a) < (0.6 if jnp.finfo(x.dtype).bits <= 32 else 0.4) * a)
    far_a, far_x = jnp.where(is_far, a, 200), jnp.where(is_far, x, 200)
    mu = (far_x - far_a) / far_a
    excess = excess_of_logarithm(mu)
    eta = mu * jnp.sqrt(2 * excess)
    rest = jnp.exp(-far_a * mu * mu * excess) / jnp.sqrt(2 * jnp.pi * far_a) * temme_series(eta, far_a)
    value = lax.erfc(sign * eta * jnp.sqrt(far_a / 2)) / 2 + sign * rest
    # JAX's own implementation does not converge where the value was computed, so it gets 1 there.
    return jnp.where(is_far, value, jnp.nan), jnp.where(is_far, 1, a), jnp.where(is_far, 1, x)


def magnitudes(x1: jax.Array, x2: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the absolute values of two integer arrays as unsigned integers of their common width.

    A signed dtype cannot hold the absolute value of its smallest integer.
    """
    dtype = jnp.result_type(x1, x2)
    unsigned = dtype if jnp.issubdtype(dtype, jnp.unsignedinteger) else f"u{dtype}"
    one, other = (jnp.abs(jnp.asarray(x, dtype)).astype(unsigned) for x in (x1, x2))
    return one, other


def gcd(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute the greatest common divisor, which wraps around if it does not fit into the dtype."""
    # ``jnp.gcd`` alone does not end if an operand is the smallest integer.
    return jnp.gcd(*magnitudes(x1, x2)).astype(jnp.result_type(x1, x2))


def lcm(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute the least common multiple, which wraps around if it does not fit into the dtype."""
    return jnp.lcm(*magnitudes(x1, x2)).astype(jnp.result_type(x1, x2))


def i0(x: jax.Array) -> jax.Array:
    """Compute the modified Bessel function of the first kind, order 0, at finite ``x``.

    Its derivative at 0 is 0.
    """
    return jnp.exp(x * lax.sign(x)) * lax.bessel_i0e(x)


def i1(x: jax.Array) -> jax.Array:
    """Compute the modified Bessel function of the first kind, order 1, at finite ``x``.

    Its derivative at 0 is 0.5.
    """
    return with_slopes(special.i1, [lambda x: i0(x) - quotient_at(i1, x)], x)


def i1e(x: jax.Array) -> jax.Array:
    """Compute ``exp(-abs(x)) * i1(x)``, with derivative 0.5 at 0."""
    return with_slopes(
        special.i1e, [lambda x: special.i0e(x) - lax.sign(x) * i1e(x) - quotient_at(i1e, x)], x
    )


def quotient_at(function: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """Compute ``function(x) / x`` for a function that is 0 at 0 with derivative 1/2."""
    near = abs(x) < 1e-6
    safe = jnp.where(near, 1, x)
    return jnp.where(near, 0.5, function(safe) / safe)


def entr(x: jax.Array) -> jax.Array:
    """Compute ``-x * log(x)``, which is 0 at 0, with an infinite derivative, and -inf below 0."""
    return with_slopes(special.entr, [lambda x: -1 - jnp.log(x)], x)


def ndtri(x: jax.Array) -> jax.Array:
    """Compute the inverse of the cumulative distribution function of the standard normal distribution.

    Its derivatives at 0 and 1 are infinite.
    """
    return with_slopes(
        special.ndtri, [lambda x: math.sqrt(2 * math.pi) * jnp.exp(jnp.square(ndtri(x)) / 2)], x
    )


def logit(x: jax.Array, eps: float | None = None) -> jax.Array:
    """Compute ``log(x / (1 - x))``, with ``x`` clipped to [eps, 1 - eps] unless ``eps`` is None."""
    return special.logit(x if eps is None else jnp.where(x < eps, eps, jnp.where(x > 1 - eps, 1 - eps, x)))


def orthogonal_polynomial(x: jax.Array, n: jax.Array, kind: str) -> jax.Array:
    """Evaluate the polynomial of degree ``n`` of the family ``kind`` at ``x``.

    ``n`` is rounded towards 0. Where it is then negative or not finite, the result is 0.
    """
    x, n = jnp.broadcast_arrays(x, jnp.trunc(n))
    first = {
        "chebyshev_t": x, "chebyshev_u": 2 * x, "chebyshev_v": 2 * x - 1, "chebyshev_w": 2 * x + 1,
        "hermite_h": 2 * x, "hermite_he": x, "laguerre_l": 1 - x, "legendre_p": x,
    }[kind]  # fmt: skip

    def following(k: jax.Array, last: jax.Array, before: jax.Array) -> jax.Array:
        if kind.startswith("chebyshev"):
            return 2 * x * last - before
        if kind == "hermite_h":
            return 2 * x * last - 2 * (k - 1) * before
        if kind == "hermite_he":
            return x * last - (k - 1) * before
        if kind == "laguerre_l":
            return ((2 * k - 1 - x) * last - (k - 1) * before) / k
        return ((2 * k - 1) * x * last - (k - 1) * before) / k

    def step(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        k, last, before, result = state
        value = following(k, last, before)
        return k + 1, value, last, jnp.where(n == k, value, result)

    start = jnp.where(n == 0, jnp.ones_like(x), jnp.where(n == 1, first, jnp.zeros_like(x)))
    k = jnp.array(2, x.dtype)
    return lax.while_loop(
        lambda state: jnp.any((state[0] <= n) & jnp.isfinite(n)), step, (k, first, jnp.ones_like(x), start)
    )[-1]


def polygamma(x: jax.Array, n: int) -> jax.Array:
    """Compute the ``n``-th derivative of ``digamma`` at finite ``x``; ``n`` is at least 1."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    if n == 1:
        return trigamma(wide).astype(x.dtype)
    return ((-1) ** (n + 1) * math.factorial(n) * zeta(jnp.array(n + 1, wide.dtype), wide)).astype(x.dtype)


def spherical_bessel_j0(x: jax.Array) -> jax.Array:
    """Compute ``sin(x) / x``, which is 1 at 0, and 0 at infinity."""
    return jnp.where(jnp.isinf(x), 0, sine_quotient(x))


def sine_quotient(x: jax.Array) -> jax.Array:
    """Compute ``sin(x) / x``, near 0 by a series, so that the gradient is accurate there."""
    near = lax.abs(x) < 0.05
    far, square = jnp.where(near, 1, x), jnp.where(near, x, 0) ** 2
    return jnp.where(near, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), jnp.sin(far) / far)


def trigamma(x: jax.Array) -> jax.Array:
    # The reflection formula is valid for all arguments, but the zeta function needs positive ones.
    below = x < 0.5
    sine = jnp.sin(jnp.pi * jnp.where(below, x, 0.5))
    above = jnp.where(below, 1 - x, x)
    value = jnp.where(above == jnp.inf, 0, zeta(jnp.array(2, x.dtype), above))
    return jnp.where(below, jnp.pi**2 / (sine * sine) - value, value)


def xlog1py(x: jax.Array, y: jax.Array) -> jax.Array:
    """Compute ``x * log1p(y)``, or 0 where ``x`` is 0 and ``y`` is not NaN."""

    def value(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(jnp.isnan(y), jnp.nan, special.xlog1py(x, inside(x, y)))

    def inside(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) & (y <= -1), 0, y)

    return with_slopes(
        value, [lambda x, y: jnp.log1p(inside(x, y)), lambda x, y: x / (1 + y)], *jnp.broadcast_arrays(x, y)
    )


def xlogy(x: jax.Array, y: jax.Array) -> jax.Array:
    """Compute ``x * log(y)``, or 0 where ``x`` is 0 and ``y`` is not NaN."""

    def value(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(jnp.isnan(y), jnp.nan, special.xlogy(x, inside(x, y)))

    def inside(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) & (y <= 0), 1, y)

    return with_slopes(
        value, [lambda x, y: jnp.log(inside(x, y)), lambda x, y: x / y], *jnp.broadcast_arrays(x, y)
    )


def zeta(x: jax.Array, q: jax.Array) -> jax.Array:
    """Compute the Hurwitz zeta function, the sum of ``(k + q) ** -x`` over the integers ``k >= 0``.

    It is NaN where ``x`` is below 1, and infinite at its poles.
    """
    below = q < 0
    pole = (x == 1) | (x > 1) & (q <= 0) & (q == jnp.floor(q))
    slope = -x * (q - lax.stop_gradient(q)) * zeta_below(x + 1, q)
    value = jnp.where(below, zeta_below(x, q) + slope, special.zeta(x, jnp.where(below, 1, q)))
    return jnp.where(x < 1, jnp.nan, jnp.where(pole, jnp.inf, value))


def zeta_below(x: jax.Array, q: jax.Array) -> jax.Array:
    """Compute the Hurwitz zeta function for negative ``q`` that are no integers, without a gradient."""
    x, q = lax.stop_gradient(jnp.broadcast_arrays(x, q))

    # Terms are added until `q` is not negative. At integers, which are poles, that might never happen.
    def is_below(q: jax.Array) -> jax.Array:
        return (q < 0) & (q != jnp.floor(q))

    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, q = state
        return jnp.where(is_below(q), total + q**-x, total), jnp.where(is_below(q), q + 1, q)

    total, q = lax.while_loop(lambda state: jnp.any(is_below(state[1])), step, (jnp.zeros_like(q), q))
    return total + special.zeta(x, q)
