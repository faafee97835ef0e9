"""Torch functions at their kinks."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from . import AROUND, DOMAINS, FACTORS, NOTHING, TIES, Kink, kink, pairs

INF = math.inf
NAN = math.nan
special = torch.special


def _parts(function: Any) -> Any:
    """Return a complex function as a function of real and imaginary parts."""

    def of_parts(x: Any, y: Any) -> Any:
        result = function(torch.complex(x, y))
        return torch.view_as_real(result) if result.is_complex() else result

    return of_parts


def _scattered(reduce: str, include_self: bool = True) -> Any:
    def function(x: Any, source: Any) -> Any:
        index = torch.tensor([0, 1, 1, 1, 2, 2])
        return x.scatter_reduce(0, index, source, reduce, include_self=include_self)

    return function


def _labels(function: Any, **options: Any) -> Any:
    return lambda x: function(x, torch.tensor([0, 1, 2, 1]), **options)


COMPLEX = ([0.0, 0.0, -0.0, 3.0, -1.0, 0.0], [0.0, -0.0, 0.0, 4.0, 0.0, 2.0])
SCATTERED = ([1.0, 3.0, 0.0, 5.0], [1.0, 3.0, 3.0, 2.0, 0.0, -0.0])
FACTORED = ([2.0, 0.0, 3.0, 5.0], [1.0, 3.0, 0.0, 2.0, 0.0, 4.0])
PROBABILITIES = ([0.0, 1.0, 0.0, 1.0, 0.5, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0, 0.5, 0.5, 0.5])
EQUAL_ROWS = [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [0.0, 0.0]]
OTHER_ROWS = [[1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [0.0, 0.0]]
IMAGE = [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 3.0], [0.0, -0.0, 5.0, 5.0], [0.0, 0.0, 5.0, 4.0]]]]
GRID = [[[[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]], [[-1.0 / 3, 1.0 / 3], [1.0, -1.0], [0.5, 1.5]]]]
MULTIPLES = pairs(1.0, -1.0, 2.0, 0.5)
MARGINS = [0.0, 1.0, 2.0, -1.0, 0.5, 3.0]

_UNARY: dict[str, Any] = {
    "abs": torch.abs, "sign": torch.sign, "sgn": torch.sgn, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
    "trunc": torch.trunc, "frac": torch.frac, "sinc": torch.sinc, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "square": torch.square,
    "reciprocal": torch.reciprocal, "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p,
    "expm1": torch.expm1, "exp2": torch.exp2, "asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh, "acosh": torch.acosh,
    "tanh": torch.tanh, "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv, "erfcx": special.erfcx, "lgamma": torch.lgamma,
    "digamma": torch.digamma, "i0": torch.i0, "i0e": special.i0e, "i1": special.i1, "i1e": special.i1e, "entr": special.entr,
    "ndtri": special.ndtri, "log_ndtr": special.log_ndtr, "logit": torch.logit, "sigmoid": torch.sigmoid, "angle": torch.angle,
    "nan_to_num": torch.nan_to_num, "relu": torch.relu, "relu6": F.relu6, "elu": F.elu, "selu": F.selu, "celu": F.celu, "gelu": F.gelu,
    "silu": F.silu, "mish": F.mish, "softplus": F.softplus, "softsign": F.softsign, "logsigmoid": F.logsigmoid, "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh, "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "hardshrink": F.hardshrink, "softshrink": F.softshrink,
    "tanhshrink": F.tanhshrink, "rrelu": F.rrelu,
}  # fmt: skip
_ONCE = {"hardsigmoid"}
_BINARY: dict[str, Any] = {
    "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax, "fmin": torch.fmin, "hypot": torch.hypot, "atan2": torch.atan2,
    "copysign": torch.copysign, "xlogy": torch.xlogy, "xlog1py": special.xlog1py, "pow": torch.pow, "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2, "prelu": F.prelu, "heaviside": lambda x, y: torch.where(x == 0, y, torch.sign(x)),
    "l1_loss": lambda x, y: F.l1_loss(x, y, reduction="none"), "smooth_l1_loss": lambda x, y: F.smooth_l1_loss(x, y, reduction="none"),
    "smooth_l1_loss-2": lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=2.0),
    "huber_loss": lambda x, y: F.huber_loss(x, y, reduction="none"), "ldexp": torch.ldexp, "lerp": lambda x, y: torch.lerp(x, y, 0.5),
}  # fmt: skip
_PAIRS = pairs(0.0, -0.0, 1.0, -1.0, 2.0, 0.5)

ROWS: dict[str, Kink] = {
    **{name: kink(function, DOMAINS.get(name, AROUND), orders=1 if name in _ONCE else 2) for name, function in _UNARY.items()},
    **{name: kink(function, *_PAIRS) for name, function in _BINARY.items() if name not in ("prelu",)},
    "prelu": kink(F.prelu, AROUND, [0.25]),
    "softplus-threshold": kink(lambda x: F.softplus(x, 2.0, 4.0), [2.0, 1.9, 2.1, 0.0, 10.0, 20.0, 25.0]),
    "softplus-20": kink(F.softplus, [20.0, 19.9, 20.1, 30.0]),
    "relu6-bounds": kink(F.relu6, [6.0, 5.9, 6.1]),
    "elu-2": kink(lambda x: F.elu(x, 2.0), AROUND),
    "celu-2": kink(lambda x: F.celu(x, 2.0), AROUND),
    "gelu-tanh": kink(lambda x: F.gelu(x, approximate="tanh"), AROUND),
    "threshold": kink(lambda x: F.threshold(x, 0.5, 0.1), AROUND),
    "clamp": kink(lambda x: x.clamp(-1.0, 2.0), AROUND),
    "clamp-tensors": kink(torch.clamp, [0.0, 1.0, 2.0, 3.0, 1.0], [0.0, 1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 2.0, 2.0, 1.0]),
    "clamp_min": kink(lambda x: x.clamp_min(0.0), AROUND),
    "clamp_max": kink(lambda x: x.clamp_max(0.0), AROUND),
    "logit-eps": kink(lambda x: torch.logit(x, 0.25), [0.25, 0.75, 0.0, 1.0, 0.5]),
    "pow-2": kink(lambda x: x**2, AROUND),
    "pow-0": kink(lambda x: x**0, AROUND),
    "pow-1": kink(lambda x: x**1, AROUND),
    "pow-3": kink(lambda x: x**3, AROUND),
    "pow-half": kink(lambda x: x**0.5, AROUND),
    "pow-fraction": kink(lambda x: x**1.5, AROUND),
    "pow-negative": kink(lambda x: x**-1, AROUND),
    "pow-of-0": kink(lambda x: 0.0**x, AROUND),
    "pow-of-2": kink(lambda x: 2.0**x, AROUND),
    "lgamma-poles": kink(torch.lgamma, [0.0, -1.0, -2.0]),
    "digamma-poles": kink(torch.digamma, [0.0, -0.0]),
    "remainder": kink(torch.remainder, *MULTIPLES),
    "fmod": kink(torch.fmod, *MULTIPLES),
    "polygamma": kink(lambda x: torch.polygamma(1, x), [1.0, 2.0, 0.5]),
    "where-nan": kink(lambda x: torch.where(x > 0, x.sqrt(), x * 2), [0.0, -1.0, 4.0]),
    "log-times-0": kink(lambda x: x * torch.log(x), [0.0, 1.0, 2.0]),
    "nan_to_num-nan": kink(torch.nan_to_num, [NAN, INF, -INF, 0.0, 1.0]),
    "logaddexp-infinite": kink(torch.logaddexp, [-INF, -INF, 0.0, 1.0], [-INF, 0.0, -INF, 1.0]),
    "maximum-nan": kink(torch.fmax, [NAN, 1.0, 2.0], [1.0, NAN, 2.0]),
    # complex numbers
    "complex-abs": kink(_parts(torch.abs), *COMPLEX),
    "complex-sgn": kink(_parts(torch.sgn), *COMPLEX),
    "complex-angle": kink(_parts(torch.angle), *COMPLEX),
    "complex-sqrt": kink(_parts(torch.sqrt), [3.0, -1.0, 0.0], [4.0, 0.0, 2.0]),
    "complex-square": kink(_parts(torch.square), *COMPLEX),
    "complex-pow-2": kink(_parts(lambda z: z**2), *COMPLEX),
    "complex-reciprocal": kink(_parts(torch.reciprocal), [3.0, -1.0, 0.0], [4.0, 0.0, 2.0]),
    "polar": kink(lambda x, y: torch.view_as_real(torch.polar(x, y)), [0.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    # along an axis
    **{f"{name}-dim": kink(lambda x, name=name: getattr(torch, name)(x, 1).values, TIES) for name in ("max", "min", "cummax", "cummin", "median", "nanmedian", "mode")},
    **{name: kink(getattr(torch, name), TIES) for name in ("max", "min", "median", "nanmedian")},
    **{name: kink(lambda x, name=name: getattr(torch, name)(x, 1), TIES) for name in ("amax", "amin", "logsumexp", "logcumsumexp", "softmax", "log_softmax", "cumsum")},
    "amax-axes": kink(lambda x: x.amax((0, 1)), TIES),
    "max-keepdim": kink(lambda x: x.max(0, keepdim=True)[0] * x.min(0)[0], TIES),
    "amax-all": kink(torch.amax, TIES),
    "aminmax": kink(lambda x: torch.stack(torch.aminmax(x, dim=1)), TIES),
    "sort": kink(lambda x: torch.sort(x, dim=1, stable=True).values, TIES),
    "sort-descending": kink(lambda x: torch.sort(x, dim=1, descending=True, stable=True).values, TIES),
    "msort": kink(torch.msort, TIES),
    "topk": kink(lambda x: x.topk(3, 1).values.sum(1), [[1.0, 3.0, 3.0, 2.0], [2.0, 1.0, 4.0, 3.0]]),
    "kthvalue": kink(lambda x: x.kthvalue(2, 1).values, [[1.0, 3.0, 4.0, 2.0], [2.0, 1.0, 4.0, 3.0]]),
    "quantile": kink(lambda x: torch.quantile(x, 0.5, 1), [[1.0, 3.0, 3.0, 2.0, 5.0], [2.0, 1.0, 4.0, 3.0, 7.0]]),
    "nanquantile": kink(lambda x: torch.nanquantile(x, 0.4, 1), [[1.0, 3.0, NAN, 2.0, 5.0], [2.0, 1.0, 4.0, 3.0, 7.0]]),
    "nanmedian-nan": kink(lambda x: torch.nanmedian(x, 1).values, [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "nansum": kink(lambda x: torch.nansum(x, 1), [[1.0, NAN, 3.0, 3.0], [NAN, NAN, NAN, NAN]]),
    "nanmean": kink(lambda x: torch.nanmean(x, 1), [[1.0, NAN, 3.0, 3.0], [NAN, 2.0, NAN, 2.0]]),
    "prod": kink(torch.prod, [2.0, 0.0, 3.0]),
    "prod-zeros": kink(torch.prod, [2.0, 0.0, 3.0, 0.0]),
    "prod-dim": kink(lambda x: x.prod(1), FACTORS),
    "cumprod": kink(lambda x: x.cumprod(1), FACTORS),
    "var": kink(lambda x: x.var(1), NOTHING),
    "std": kink(lambda x: x.std(1), NOTHING),
    "std-0": kink(lambda x: x.std(1, correction=0), NOTHING),
    **{f"norm-{p}": kink(lambda x, p=p: torch.linalg.vector_norm(x, p, dim=1), NOTHING) for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF)},
    "matrix_norm": kink(torch.linalg.matrix_norm, [[0.0, 0.0], [0.0, 0.0]]),
    "norm-ties": kink(lambda x: torch.linalg.vector_norm(x, INF, dim=1), [[1.0, -3.0, 3.0, 2.0], [0.0, -0.0, 0.0, 0.0]]),
    "matrix_norm-1": kink(lambda x: torch.linalg.matrix_norm(x, 1), [[1.0, -1.0], [-1.0, 1.0]]),
    "matrix_norm-1-zeros": kink(lambda x: torch.linalg.matrix_norm(x, 1), [[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]]),
    "matrix_norm-inf": kink(lambda x: torch.linalg.matrix_norm(x, INF), [[1.0, 0.0, -1.0], [2.0, 0.0, 0.0]]),
    "renorm": kink(lambda x: torch.renorm(x, 2, 0, 1.0), [[0.0, 0.0], [0.6, 0.8], [3.0, 4.0]]),
    "dist": kink(torch.dist, [1.0, 2.0], [1.0, 2.0]),
    "diff": kink(lambda x: x.diff().abs(), TIES),
    # scatter
    **{f"scatter_reduce-{reduce}": kink(_scattered(reduce), *(FACTORED if reduce == "prod" else SCATTERED)) for reduce in ("amax", "amin", "prod", "mean", "sum")},
    "scatter_reduce-amax-alone": kink(_scattered("amax", include_self=False), *SCATTERED),
    "index_reduce-amax": kink(lambda x, y: x.index_reduce(0, torch.tensor([0, 1, 1, 1, 2, 2]), y, "amax"), *SCATTERED),
    "index_reduce-amin": kink(lambda x, y: x.index_reduce(0, torch.tensor([0, 1, 1, 1, 2, 2]), y, "amin"), *SCATTERED),
    "index_put": kink(lambda x, y: x.index_put((torch.tensor([0, 1, 2, 3, 3, 3]),), y, accumulate=True).abs(), *SCATTERED),
    # distances
    **{f"cdist-{p}": kink(lambda x, y, p=p: torch.cdist(x, y, p), EQUAL_ROWS, OTHER_ROWS, orders=1) for p in (1.0, 1.5, 2.0, 3.0, INF)},
    **{f"pdist-{p}": kink(lambda x, p=p: F.pdist(x, p), EQUAL_ROWS, orders=1) for p in (1.0, 2.0, 3.0, INF)},
    "pairwise_distance": kink(lambda x, y: F.pairwise_distance(x, y, eps=0.0), EQUAL_ROWS, OTHER_ROWS),
    "pairwise_distance-eps": kink(F.pairwise_distance, EQUAL_ROWS, OTHER_ROWS, tolerance=1e-6),
    "cosine_similarity": kink(F.cosine_similarity, [*EQUAL_ROWS, [0.0, 0.0]], [*OTHER_ROWS, [1.0, 2.0]]),
    "normalize-1": kink(lambda x: F.normalize(x, 1.0, 1), NOTHING),
    "embedding_bag-max": kink(lambda x: F.embedding_bag(torch.tensor([[0, 1], [1, 2]]), x, mode="max"), [[1.0, 1.0], [1.0, 2.0], [1.0, 2.0]], orders=1),
    "normalize": kink(lambda x: F.normalize(x, dim=1), NOTHING),
    # losses
    "kl_div": kink(lambda x, y: F.kl_div(x, y, reduction="none"), [0.0, -1.0, 0.5, -INF], [0.0, 0.0, 0.5, 0.0]),
    "kl_div-log": kink(lambda x, y: F.kl_div(x, y, reduction="none", log_target=True), [0.0, -1.0, 0.5], [0.0, -30.0, 0.5]),
    "bce": kink(lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), *PROBABILITIES),
    "bce-logits": kink(lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"), [0.0, -0.0, 1.0, -50.0, 50.0], [0.0, 1.0, 0.5, 0.0, 0.0]),
    "poisson_nll": kink(lambda x, y: F.poisson_nll_loss(x, y, log_input=False, full=True, reduction="none"), [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 2.0]),
    "gaussian_nll": kink(lambda x, y, v: F.gaussian_nll_loss(x, y, v, reduction="none", eps=0.5), [0.0, 1.0, 2.0], [0.0, 1.0, 1.0], [0.5, 0.25, 2.0]),
    "huber_loss-2": kink(lambda x, y: F.huber_loss(x, y, reduction="none", delta=2.0), *_PAIRS),
    "hinge_embedding": kink(lambda x: F.hinge_embedding_loss(x, torch.tensor([-1.0, -1.0, 1.0, 1.0, -1.0, -1.0]), reduction="none"), MARGINS),
    "margin_ranking": kink(lambda x, y: F.margin_ranking_loss(x, y, torch.ones(4), margin=1.0, reduction="none"), [0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 1.0]),
    "soft_margin": kink(lambda x: F.soft_margin_loss(x, torch.ones(6), reduction="none"), MARGINS),
    "multi_margin": kink(_labels(F.multi_margin_loss, reduction="none"), [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]], orders=1),
    "multilabel_margin": kink(lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, 1, -1]]), reduction="none"), [[0.0, 1.0, 1.0]], orders=1),
    "triplet_margin": kink(lambda a, p, n: F.triplet_margin_loss(a, p, n, eps=0.0, reduction="none"), [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 3.0], [0.0, 0.0]]),
    "cosine_embedding": kink(lambda x, y: F.cosine_embedding_loss(x, y, torch.tensor([1, -1, -1, 1]), reduction="none"), [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]),
    "cross_entropy": kink(_labels(F.cross_entropy, reduction="none"), [[0.0, 0.0, 0.0], [INF, 1.0, 2.0], [2.0, 0.0, 1.0], [-INF, 1.0, 0.0]]),
    # windows and images
    "max_pool2d": kink(lambda x: F.max_pool2d(x, 2), IMAGE),
    "max_pool2d-overlapping": kink(lambda x: F.max_pool2d(x, 3, 1, 1), IMAGE),
    "max_pool1d": kink(lambda x: F.max_pool1d(x, 2), [[[1.0, 1.0, 3.0, 2.0]]]),
    "adaptive_max_pool2d": kink(lambda x: F.adaptive_max_pool2d(x, 2), IMAGE),
    "lp_pool2d": kink(lambda x: F.lp_pool2d(x, 2.0, 2), IMAGE),
    "lp_pool1d": kink(lambda x: F.lp_pool1d(x, 1.0, 2), [[[1.0, -1.0, 0.0, 0.0, -3.0, 0.0]]]),
    **{
        f"grid_sample-{mode}-{padding}": kink(
            lambda x, grid, mode=mode, padding=padding: F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=True), IMAGE,
            GRID,
            orders=1 if mode == "bicubic" else 2,
        )
        for mode, padding in (("bilinear", "zeros"), ("bilinear", "border"), ("bilinear", "reflection"), ("nearest", "zeros"), ("bicubic", "zeros"))
    },
    "interpolate-bilinear": kink(lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), IMAGE),
    "interpolate-nearest": kink(lambda x: F.interpolate(x, scale_factor=2.0), IMAGE),
    "interpolate-bicubic": kink(lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"), IMAGE),
    "layer_norm-constant": kink(lambda x: F.layer_norm(x, (3,), eps=0.5), NOTHING),
    "heads-of-attention": kink(lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), NOTHING),
}  # fmt: skip
