"""Samples of element-wise functions and operators."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.scipy import special

from tests.support.samples import Array, array, ints

from .table import (
    BOOLS,
    COMPLEX,
    INTS,
    OTHER_BOOLS,
    OTHER_COMPLEX,
    OTHER_INTS,
    OTHER_POSITIVE,
    OTHER_UNIT,
    POSITIVE,
    UNIT,
    X,
    Y,
    calls,
    each,
)

EDGES = np.array([0.0, -0.0, -1.0, -0.5, np.inf, -np.inf, np.nan], np.float32)

SAMPLES = [
    *each(
        jnp,
        "abs arctan arcsinh ceil cos cosh deg2rad exp exp2 expm1 fabs floor negative positive rad2deg rint sign sin sinc sinh square tan "
        "tanh trunc "
        "isfinite isinf isnan signbit logical_not nan_to_num cbrt i0",
        (X,),
        (Y,),
    ),
    *each(jnp, "sqrt log log1p log2 log10 reciprocal", (POSITIVE,), (OTHER_POSITIVE,)),
    *each(jnp, "arcsin arccos arctanh", (UNIT,), (OTHER_UNIT,)),
    *each(
        jnp,
        "abs negative sign square sqrt exp sin bitwise_not invert logical_not",
        (ints(3, 4, low=1),),
        (ints(5, 2, low=1),),
    ),
    *each(jnp, "abs angle conj real imag exp square", (COMPLEX,), (OTHER_COMPLEX,)),
    *each(
        jnp,
        "add subtract multiply divide maximum minimum fmax fmin arctan2 hypot copysign logaddexp logaddexp2 nextafter heaviside",
        (X, X),
        (Y, Y),
    ),
    *each(jnp, "floor_divide remainder mod fmod divmod", (X, POSITIVE), (Y, OTHER_POSITIVE)),
    *each(jnp, "power float_power", (POSITIVE, X), (OTHER_POSITIVE, Y)),
    *each(
        jnp,
        "equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor isclose",
        (X, X),
        (Y, Y),
    ),
    *each(
        jnp,
        "add subtract multiply divide maximum bitwise_and bitwise_or bitwise_xor gcd lcm",
        (INTS, INTS),
        (OTHER_INTS, OTHER_INTS),
    ),
    *each(
        jnp, "floor_divide remainder fmod power", (INTS, ints(3, 4, low=1)), (OTHER_INTS, ints(5, 2, low=1))
    ),
    *each(
        jnp,
        "left_shift right_shift",
        (INTS, ints(3, 4, low=0, high=4)),
        (OTHER_INTS, ints(5, 2, low=0, high=4)),
    ),
    *each(jnp, "add multiply logical_and maximum", (BOOLS, BOOLS), (OTHER_BOOLS, OTHER_BOOLS)),
    *each(jnp, "add multiply divide", (X, INTS), (Y, OTHER_INTS)),
    *each(jnp, "add multiply", (Array((3, 4), "bfloat16"), X), (Array((5, 2), "bfloat16"), Y)),
    *each(jnp, "add multiply maximum", (X, array(4)), (Y, array(2))),
    *each(
        lax,
        "erf erfc lgamma digamma rsqrt cbrt logistic tanh is_finite round",
        (POSITIVE,),
        (OTHER_POSITIVE,),
    ),
    *each(lax, "erf_inv asin atanh", (UNIT,), (OTHER_UNIT,)),
    *each(
        lax, "population_count clz", (ints(3, 4, low=1, dtype="int32"),), (ints(5, 2, low=1, dtype="int32"),)
    ),
    *each(
        special,
        "zeta",
        (array(3, 4, kind="positive"), POSITIVE),
        (array(5, 2, kind="positive"), OTHER_POSITIVE),
    ),
    *each(lax, "rem div", (INTS, ints(3, 4, low=1)), (OTHER_INTS, ints(5, 2, low=1))),
    *each(lax, "rem div pow atan2", (POSITIVE, POSITIVE), (OTHER_POSITIVE, OTHER_POSITIVE)),
    *each(
        lax,
        "shift_right_logical shift_right_arithmetic",
        (INTS, ints(3, 4, low=0, high=4)),
        (OTHER_INTS, ints(5, 2, low=0, high=4)),
    ),
    *each(
        special,
        "erf erfc gammaln digamma expit log_ndtr ndtr i0 i0e i1 i1e entr",
        (POSITIVE,),
        (OTHER_POSITIVE,),
    ),
    *(row for n in (1, 2) for row in each(special, "polygamma", (n, POSITIVE), (n, OTHER_POSITIVE))),
    # These points are poles.
    *(
        row
        for n in (1, 2)
        for row in each(
            special, "polygamma", (n, ints(3, 4, low=-9, high=1)), (n, ints(5, 2, low=-9, high=1))
        )
    ),
    *each(
        special, "xlogy xlog1py gammainc gammaincc", (POSITIVE, POSITIVE), (OTHER_POSITIVE, OTHER_POSITIVE)
    ),
    *each(special, "gammainc gammaincc", (POSITIVE, 2.0), (OTHER_POSITIVE, 2.0)),
    *each(
        special,
        "betainc",
        (POSITIVE, array(4, kind="positive"), array(3, 1, kind="fraction")),
        (OTHER_POSITIVE, array(2, kind="positive"), array(5, 1, kind="fraction")),
    ),
    *each(
        nn,
        "relu relu6 sigmoid silu swish soft_sign hard_tanh hard_sigmoid hard_silu selu mish log_sigmoid gelu elu celu leaky_relu softplus "
        "softmax "
        "log_softmax logsumexp standardize squareplus glu sparse_plus",
        (X,),
        (Y,),
    ),
    *calls(
        [
            (
                "polygamma at edges",
                lambda x: [
                    *(special.polygamma(n, jnp.concatenate([x[0], EDGES])) for n in range(4)),
                    lax.digamma(jnp.concatenate([x[0], EDGES])),
                ],
                (POSITIVE,),
                (OTHER_POSITIVE,),
            ),
            (
                "polygamma of a float",
                lambda x: [lax.polygamma(jnp.full_like(x, n), x) for n in (-1.0, 0.0, 1.5, 2.0, jnp.inf)],
                (POSITIVE,),
                (OTHER_POSITIVE,),
            ),
            (
                "number first",
                lambda x: [
                    function(7.5, x.sum()) for function in (lax.rem, lax.atan2, lax.nextafter, lax.pow)
                ],
                (POSITIVE,),
                (OTHER_POSITIVE,),
            ),
            (
                "operators",
                lambda x, y: (x + y, x - y, x * y, x / y, -x, abs(x), x**2, 2**x, x**-1, 1 - x, 2 / x),
                (POSITIVE, X),
                (OTHER_POSITIVE, Y),
            ),
            (
                "comparisons",
                lambda x, y: (x < y, x <= 0, x == y, x != y, (x > 0) & (y > 0), ~(x > 0), (x > 0) | (y > 0)),
                (X, X),
                (Y, Y),
            ),
            (
                "integers",
                lambda x: (x // 2, x % 3, x / 2, x**2, -x, x << 1, x >> 1, x & 3, x | 1, x ^ 5, ~x, x * 1.5),
                (INTS,),
                (OTHER_INTS,),
            ),
            (
                "astype",
                lambda x: (
                    x.astype(jnp.int32),
                    x.astype(bool),
                    x.astype(jnp.bfloat16),
                    x.astype(jnp.complex64),
                    x.astype(int),
                ),
                (X,),
                (Y,),
            ),
            (
                "clip",
                lambda x: (
                    jnp.clip(x, -0.5, 0.5),
                    jnp.clip(x, None, 0.3),
                    x.clip(0.1),
                    jnp.clip(x, x.mean(), 1),
                ),
                (X,),
                (Y,),
            ),
            ("clip integers", lambda x: jnp.clip(x, -2, 2), (INTS,), (OTHER_INTS,)),
            (
                "round",
                lambda x: (jnp.round(x), jnp.round(x, 1), jnp.around(x * 10, -1), x.round(2)),
                (X,),
                (Y,),
            ),
            (
                "where",
                lambda x, y: (jnp.where(x > 0, x, y), jnp.where(x > 0, 1, 0), jnp.where(x > 0, x, 0.0)),
                (X, X),
                (Y, Y),
            ),
            (
                "where broadcast",
                lambda c, x: jnp.where(c, x[:, None], x),
                (Array((4, 4), "bool"), array(4)),
                (Array((3, 3), "bool"), array(3)),
            ),
            ("select", lambda x: jnp.select([x > 1, x > 0], [x, x * 2], -1.0), (X,), (Y,)),
            ("piecewise", lambda x: lax.select(x > 0, x, -x), (X,), (Y,)),
            (
                "select_n",
                lambda i, x: lax.select_n(i, x, x * 2, x * 3),
                (ints(3, 4, low=0, high=3, dtype="int32"), X),
                (ints(5, 2, low=0, high=3, dtype="int32"), Y),
            ),
            ("clamp", lambda x: lax.clamp(-0.3, x, 0.3), (X,), (Y,)),
            (
                "integer_pow of a number",
                lambda x: jax.jit(lambda base, x: lax.integer_pow(base, 4) + x)(-2.0, x),
                (X,),
                (Y,),
            ),
            (
                "integer_pow",
                lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, -2), x**5),
                (POSITIVE,),
                (OTHER_POSITIVE,),
            ),
            (
                "complex",
                lambda x, y: (
                    lax.complex(x, y),
                    jnp.abs(x + 1j * y),
                    (x + 1j * y).real,
                    jnp.conj(x + 1j * y),
                ),
                (X, X),
                (Y, Y),
            ),
            ("stop_gradient", lambda x: lax.stop_gradient(x) * x, (X,), (Y,)),
            ("reduce_precision", lambda x: lax.reduce_precision(x, 8, 7), (X,), (Y,)),
            ("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), (X,), (Y,)),
            ("sizes", lambda x: x / x.shape[0] + x.shape[1] ** 0.5 + x.size, (X,), (Y,)),
            (
                "ufunc outer",
                lambda x, y: jnp.add(x[:, None], y[None, :]),
                (array(3), array(4)),
                (array(2), array(5)),
            ),
            (
                "weak types",
                lambda x: (x * 2, x * 2.5, x + 1j, jnp.float32(2) * x, x > 1),
                (Array((3,), "bfloat16"),),
                (Array((5,), "bfloat16"),),
            ),
            (
                "int8 and floats",
                lambda x: (x * 2, x * 2.0, x + jnp.int32(3)),
                (ints(3, dtype="int8"),),
                (ints(5, dtype="int8"),),
            ),
            (
                "bits",
                lambda k: (lax.population_count(k), lax.clz(k)),
                (ints(3, 4, dtype="int32"),),
                (ints(5, 2, dtype="int32"),),
            ),
            ("sign of NaN", lambda x: jnp.sign(jnp.where(x > 0, jnp.nan, x)), (X,), (Y,)),
            ("product of truth values", lambda x: (x > 0) @ (x > 1).T, (X,), (Y,)),
            (
                "gradient of a product",
                lambda x: jax.grad(lambda u: lax.stop_gradient(u) @ u)(x),
                (array(3),),
                (array(5),),
            ),
            ("apply at", lambda x: (x.at[1:].apply(jnp.exp), x.at[0, 0].apply(lambda v: v * 2)), (X,), (Y,)),
            (
                "uint32",
                lambda a, c: (
                    a + a,
                    a - c,
                    a * c,
                    a // c,
                    a % 7,
                    a << 3,
                    a >> 2,
                    ~a,
                    a > c,
                    a[::-1],
                    jnp.maximum(a, c),
                    a.sum(),
                    a.max(),
                    jnp.sort(a),
                ),
                (ints(6, low=0, high=2**30, dtype="uint32"), ints(6, low=1, high=9, dtype="uint32")),
                (ints(8, low=0, high=2**30, dtype="uint32"), ints(8, low=1, high=9, dtype="uint32")),
            ),
            ("polyval", lambda p, x: jnp.polyval(p, x), (array(3), X), (array(3), Y)),
            (
                "betainc at the ends",
                lambda a, x: [
                    special.betainc(p, q, x)
                    for p, q in ((0.0, a), (a, 0.0), (jnp.inf, a), (a, jnp.inf), (a, jnp.nan), (-a, a))
                ],
                (array(2, 1, kind="positive"), ints(5, low=-1, high=3)),
                (array(3, 1, kind="positive"), ints(9, low=-1, high=3)),
            ),
            (
                "betainc of large parameters, and its slope",
                lambda a, x: (
                    special.betainc(100 * a, 30 * a, x),
                    jax.grad(lambda y: special.betainc(a, 2 * a, y).sum())(x),
                ),
                (array(4, kind="positive"), array(4, kind="fraction")),
                (array(7, kind="positive"), array(7, kind="fraction")),
            ),
            ("gelu exact", lambda x: nn.gelu(x, approximate=False), (X,), (Y,)),
            ("custom_jvp", lambda x: jax.nn.relu(jax.nn.silu(x)), (X,), (Y,)),
            ("jit inside", lambda x: jax.jit(lambda y: jnp.sin(y) * 2)(x), (X,), (Y,)),
            ("checkpoint", lambda x: jax.checkpoint(lambda y: jnp.sin(y) * 2)(x), (X,), (Y,)),
        ]
    ),
]
