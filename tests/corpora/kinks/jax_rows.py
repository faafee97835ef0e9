"""JAX functions at their kinks."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from . import AROUND, DOMAINS, FACTORS, NOTHING, TIES, Kink, kink, pairs

INF = math.inf
NAN = math.nan
COMPLEX = ([3.0, -1.0, 0.0], [4.0, 0.5, 2.0])
ORIGIN = ([0.0, 0.0, -0.0, 3.0, -1.0, 0.0], [0.0, -0.0, 0.0, 4.0, 0.0, 2.0])
SCATTERED = ([1.0, 3.0, 0.0, 5.0], [1.0, 3.0, 3.0, 2.0, 0.0, -0.0])
FACTORED = ([2.0, 0.0, 3.0, 5.0], [1.0, 3.0, 0.0, 2.0, 0.0, 0.0])
PLACES = [0, 1, 1, 1, 2, 2]
IMAGE = [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 3.0], [0.0, -0.0, 5.0, 5.0], [0.0, 0.0, 5.0, 4.0]]


def _parts(function: Any) -> Any:
    """Return a complex function as a function of real and imaginary parts."""

    def of_parts(x: Any, y: Any) -> Any:
        result = function(lax.complex(x, y))
        return jnp.stack([result.real, result.imag], -1) if jnp.iscomplexobj(result) else result

    return of_parts


_UNARY: dict[str, Any] = {
    "abs": jnp.abs, "sign": jnp.sign, "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "trunc": jnp.trunc,
    "sqrt": jnp.sqrt, "cbrt": jnp.cbrt, "rsqrt": lax.rsqrt, "square": jnp.square, "reciprocal": jnp.reciprocal, "log": jnp.log,
    "log2": jnp.log2, "log10": jnp.log10, "log1p": jnp.log1p, "expm1": jnp.expm1, "exp2": jnp.exp2, "arcsin": jnp.arcsin,
    "arccos": jnp.arccos, "arctanh": jnp.arctanh, "arccosh": jnp.arccosh, "tanh": jnp.tanh, "erf": special.erf, "erfc": special.erfc,
    "erfinv": special.erfinv, "lgamma": lax.lgamma, "digamma": special.digamma, "i0": special.i0, "i0e": special.i0e, "i1": special.i1,
    "i1e": special.i1e, "ndtri": special.ndtri, "log_ndtr": special.log_ndtr, "expit": special.expit, "angle": jnp.angle,
    "nan_to_num": jnp.nan_to_num, "relu": jax.nn.relu, "relu6": jax.nn.relu6, "softplus": jax.nn.softplus, "entr": special.entr,
    "logit": special.logit, "sinc": jnp.sinc, "elu": jax.nn.elu, "selu": jax.nn.selu, "celu": jax.nn.celu, "gelu": jax.nn.gelu,
    "silu": jax.nn.silu, "mish": jax.nn.mish, "soft_sign": jax.nn.soft_sign,
    "log_sigmoid": jax.nn.log_sigmoid, "leaky_relu": jax.nn.leaky_relu, "hard_tanh": jax.nn.hard_tanh, "hard_sigmoid": jax.nn.hard_sigmoid,
    "hard_swish": jax.nn.hard_swish, "squareplus": jax.nn.squareplus, "sparse_plus": jax.nn.sparse_plus,
}  # fmt: skip
# torch has no second derivative of its own function, and raises.
_ONCE = {"hard_sigmoid"}
_BINARY: dict[str, Any] = {
    "maximum": jnp.maximum, "minimum": jnp.minimum, "lax.max": lax.max, "lax.min": lax.min, "fmax": jnp.fmax, "fmin": jnp.fmin,
    "hypot": jnp.hypot, "arctan2": jnp.arctan2, "copysign": jnp.copysign, "logaddexp": jnp.logaddexp, "logaddexp2": jnp.logaddexp2,
    "power": jnp.power, "float_power": jnp.float_power,
      "heaviside": jnp.heaviside, "rel_entr": special.rel_entr,
    "kl_div": special.kl_div,
}  # fmt: skip
_OF_MULTIPLES: dict[str, Any] = {
    "remainder": jnp.remainder,
    "fmod": jnp.fmod,
    "lax.rem": lax.rem,
    "floor_divide": jnp.floor_divide,
}
_PAIRS = pairs(0.0, -0.0, 1.0, -1.0, 2.0, 0.5)

ROWS: dict[str, Kink] = {
    **{name: kink(function, DOMAINS.get(name, AROUND), orders=1 if name in _ONCE else 2) for name, function in _UNARY.items()},
    **{name: kink(function, *_PAIRS) for name, function in _BINARY.items()},
    **{name: kink(function, *pairs(1.0, -1.0, 2.0, 0.5)) for name, function in _OF_MULTIPLES.items()},
    # A second derivative is refused.
    **{name: kink(getattr(special, name), *_PAIRS, orders=1) for name in ("xlogy", "xlog1py")},
    "relu-product": kink(lambda x: jax.nn.relu(x) * x, AROUND),
    "relu6-bounds": kink(jax.nn.relu6, [6.0, 5.9, 6.1]),
    "logaddexp-infinite": kink(jnp.logaddexp, [-INF, -INF, 0.0, 1.0], [-INF, 0.0, -INF, 1.0]),
    "elu-2": kink(lambda x: jax.nn.elu(x, 2.0), AROUND),
    "celu-2": kink(lambda x: jax.nn.celu(x, 2.0), AROUND),
    "gelu-erf": kink(lambda x: jax.nn.gelu(x, approximate=False), AROUND),
    "clip": kink(lambda x: jnp.clip(x, -1.0, 2.0), AROUND),
    "clip-arrays": kink(jnp.clip, [0.0, 1.0, 2.0, 3.0, 1.0], [0.0, 1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 2.0, 2.0, 1.0]),
    "lax.clamp": kink(lambda x: lax.clamp(-1.0, x, 2.0), AROUND),
    "lax.clamp-arrays": kink(lax.clamp, [0.0, 1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0, 1.0], [0.0, 2.0, 2.0, 2.0, 1.0]),
    "maximum-0": kink(lambda x: jnp.maximum(x, 0), AROUND),
    "minimum-0": kink(lambda x: jnp.minimum(x, 0.0), AROUND),
    "power-2": kink(lambda x: x**2, AROUND),
    "power-0": kink(lambda x: x**0, AROUND),
    "power-1": kink(lambda x: x**1, AROUND),
    "power-3": kink(lambda x: x**3, AROUND),
    "power-half": kink(lambda x: x**0.5, AROUND),
    "power-fraction": kink(lambda x: x**1.5, AROUND),
    "power-negative": kink(lambda x: x**-1, AROUND),
    "power-of-0": kink(lambda x: 0.0**x, AROUND),
    "power-of-2": kink(lambda x: 2.0**x, AROUND),
    "where-nan": kink(lambda x: jnp.where(x > 0, jnp.sqrt(x), x * 2), [0.0, -1.0, 4.0]),
    "log-times-0": kink(lambda x: x * jnp.log(x), [0.0, 1.0, 2.0]),
    "nan_to_num-nan": kink(jnp.nan_to_num, [NAN, INF, -INF, 0.0, 1.0]),
    "polygamma": kink(lambda x: special.polygamma(1, x), [1.0, 2.0, 0.5]),
    # complex numbers
    "complex-abs": kink(_parts(jnp.abs), *ORIGIN),
    "complex-sign": kink(_parts(jnp.sign), *ORIGIN),
    "complex-angle": kink(_parts(jnp.angle), *ORIGIN),
    "complex-sqrt": kink(_parts(jnp.sqrt), *COMPLEX),
    "complex-square": kink(_parts(jnp.square), *ORIGIN),
    "complex-power-2": kink(_parts(lambda z: z**2), *ORIGIN),
    # along an axis
    **{f"{name}-axis": kink(lambda x, name=name: getattr(jnp, name)(x, axis=1), TIES) for name in ("max", "min", "sort", "median", "ptp", "cumsum")},
    **{name: kink(getattr(jnp, name), TIES) for name in ("max", "min")},
    **{f"lax.{name}": kink(lambda x, name=name: getattr(lax, name)(x, axis=1), TIES) for name in ("cummax", "cummin", "cumlogsumexp")},
    "logsumexp": kink(lambda x: jax.nn.logsumexp(x, axis=1), TIES),
    "logsumexp-infinite": kink(lambda x: jax.nn.logsumexp(x, axis=1), [[-INF, -INF], [0.0, -INF]]),
    "softmax": kink(lambda x: jax.nn.softmax(x, axis=1), TIES),
    "log_softmax": kink(lambda x: jax.nn.log_softmax(x, axis=1), TIES),
    "standardize": kink(lambda x: jax.nn.standardize(x, axis=1), NOTHING),
    "max-where": kink(lambda x: jnp.max(x, axis=1, where=x > 0, initial=0.0), TIES),
    "nanmin": kink(lambda x: jnp.nanmin(x, axis=1), [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "hinge": kink(lambda x: jnp.maximum(0.0, 1.0 - x).clip(0.0, 1.0), AROUND),
    "sort-descending": kink(lambda x: jnp.sort(x, axis=1, descending=True), TIES),
    "top_k": kink(lambda x: lax.top_k(x, 3)[0], TIES),
    "quantile": kink(lambda x: jnp.quantile(x, 0.5, axis=1), TIES),
    "percentile": kink(lambda x: jnp.percentile(x, 40.0, axis=1), TIES),
    "nanmax": kink(lambda x: jnp.nanmax(x, axis=1), [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "nansum": kink(lambda x: jnp.nansum(x, axis=1), [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "nanmean": kink(lambda x: jnp.nanmean(x, axis=1), [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "nanmedian": kink(lambda x: jnp.nanmedian(x, axis=1), [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "prod": kink(jnp.prod, [2.0, 0.0, 3.0]),
    "prod-axis": kink(lambda x: jnp.prod(x, axis=1), FACTORS),
    "cumprod": kink(lambda x: jnp.cumprod(x, axis=1), FACTORS),
    "var": kink(lambda x: jnp.var(x, axis=1), NOTHING),
    "std": kink(lambda x: jnp.std(x, axis=1), NOTHING),
    **{f"norm-{p}": kink(lambda x, p=p: jnp.linalg.norm(x, ord=p, axis=1), NOTHING) for p in (None, 0, 0.5, 1, 1.5, 2, 3, INF, -INF)},
    "norm": kink(jnp.linalg.norm, [0.0, 0.0]),
    "diff": kink(lambda x: jnp.abs(jnp.diff(x)), TIES),
    # scatter
    "at.max": kink(lambda x, y: x.at[jnp.array(PLACES)].max(y), *SCATTERED),
    "at.min": kink(lambda x, y: x.at[jnp.array(PLACES)].min(y), *SCATTERED),
    "at.add": kink(lambda x, y: abs(x.at[jnp.array(PLACES)].add(y)), *SCATTERED),
    "at.multiply": kink(lambda x, y: x.at[jnp.array([0, 1, 2, 3])].multiply(y[:4], unique_indices=True), *FACTORED),
    "segment_max": kink(lambda x: jax.ops.segment_max(x, jnp.array([0, 0, 1, 1]), num_segments=2), [1.0, 1.0, 2.0, 1.0]),
    "segment_sum": kink(lambda x: jnp.abs(jax.ops.segment_sum(x, jnp.array([0, 0, 1, 1]), num_segments=2)), [1.0, -1.0, 2.0, 1.0]),
    # windows
    "reduce_window-max": kink(lambda x: lax.reduce_window(x, -INF, lax.max, (2, 2), (2, 2), "VALID"), IMAGE),
    "reduce_window-overlapping": kink(lambda x: lax.reduce_window(x, -INF, lax.max, (3, 3), (1, 1), "SAME"), IMAGE),
    "reduce_window-min": kink(lambda x: lax.reduce_window(x, INF, lax.min, (2, 2), (2, 2), "VALID"), IMAGE),
    "resize": kink(lambda x: jax.image.resize(x, (8, 8), "bilinear"), IMAGE),
    "resize-cubic": kink(lambda x: jax.image.resize(x, (8, 8), "cubic"), IMAGE),
    "interp": kink(lambda x: jnp.interp(x, jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 3.0, 1.0])), [0.0, 1.0, 2.0, 0.5, -1.0, 3.0]),
}  # fmt: skip
