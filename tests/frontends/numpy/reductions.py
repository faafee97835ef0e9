"""Samples of reductions, statistics and searching."""

from __future__ import annotations

import numpy as np

from .arrays import Sample, b, c, d, f, i, sample

X, N, H = f(3, 4), i(3, 4), f(3, 4, kind="holes")
_EACH = ("sum", "mean", "std", "var", "max", "min", "prod", "ptp", "amax", "amin")
_NAN = ("nansum", "nanmean", "nanmax", "nanmin", "nanprod")

SAMPLES: list[Sample] = [
    *(sample(name, lambda x, name=name: getattr(np, name)(x), X) for name in _EACH),
    *(
        sample(f"{name} axis", lambda x, name=name: getattr(np, name)(x, axis=-1, keepdims=True), X)
        for name in _EACH
    ),
    *(
        sample(f"{name} axes", lambda x, name=name: getattr(np, name)(x, axis=(0, 2)), f(3, 4, 2))
        for name in _EACH[:7]
    ),
    *(sample(f"{name} of ints", lambda x, name=name: getattr(np, name)(x, axis=0), N) for name in _EACH),
    *(
        sample(name, lambda x, name=name: getattr(np, name)(x, axis=0), f(8, 3, kind="holes"), grows=False)
        for name in _NAN
    ),
    sample("nanvar", lambda x: (np.nanvar(x), np.nanstd(x)), f(8, 4, kind="holes")),
    sample("nancumsum", lambda x: np.nancumsum(x, axis=1), H),
    sample(
        "methods", lambda x: (x.sum(0), x.mean(), x.std(1), x.var(ddof=1), x.max(1), x.min(), x.prod(0)), X
    ),
    sample("sum of bools", lambda x: (x > 0).sum(axis=1), X),
    sample("mean of bools", lambda x: (x > 0).mean(), X),
    sample("sum of uint8", lambda x: x.sum(), i(3, 4, dtype="uint8")),
    sample("sum dtype", lambda x: x.sum(dtype=np.float64), X),
    sample("sum where", lambda x: np.sum(x, where=x > 0), X),
    sample("sum initial", lambda x: np.sum(x, axis=0, initial=3), X),
    sample("max initial", lambda x: np.max(x, axis=0, initial=0.5), X),
    sample("max where", lambda x: np.max(x, axis=0, initial=-9.0, where=x < 1), X),
    sample(
        "arguments after out",
        lambda x: (np.mean(x, 0, None, None, True), np.quantile(x, 0.3, 1, None, False, "hazen")),
        X,
    ),
    sample("mean where", lambda x: np.mean(x, where=x > -9), X),
    sample("sum out", lambda x: np.sum(x, axis=0, out=np.zeros(x.shape[1], np.float32)), X),
    *(
        sample(
            f"{name} over no axes",
            lambda x, name=name: (
                getattr(np, name)(x, axis=()),
                getattr(np, name)(x, axis=(), keepdims=True),
            ),
            f(1, 4),
        )
        for name in (
            "sum",
            "prod",
            "mean",
            "max",
            "min",
            "var",
            "std",
            "all",
            "any",
            "nansum",
            "count_nonzero",
        )
    ),
    sample("std of complex", np.std, c(3, 4)),
    sample("average", lambda x, w: np.average(x, axis=1, weights=w), X, f(4, kind="positive")),
    sample("average plain", np.average, X),
    sample(
        "all and any",
        lambda x: (x.all(), x.any(axis=0), np.all(x, axis=1), np.any(x, keepdims=True)),
        b(3, 4),
    ),
    sample("any of floats", np.any, X),
    sample("argmax", lambda x: (x.argmax(), np.argmax(x, axis=1), np.argmax(x, axis=0, keepdims=True)), X),
    sample("argmin", lambda x: (x.argmin(), np.argmin(x, axis=-1)), N),
    sample(
        "nanargmax", lambda x: np.nanargmax(np.where(np.isnan(x), x, abs(x)), axis=0), f(12, 2, kind="holes")
    ),
    sample("cumsum", lambda x: (np.cumsum(x), np.cumsum(x, axis=0), x.cumsum(axis=1)), X),
    sample("cumsum of ints", lambda x: np.cumsum(x, axis=1), i(3, 4, dtype="int32")),
    sample("cumprod", lambda x: np.cumprod(x, axis=1), X),
    sample("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), X),
    sample(
        "count_nonzero",
        lambda x: (np.count_nonzero(x > 0, axis=0), np.count_nonzero(x > 0, axis=1, keepdims=True)),
        X,
    ),
    sample("trace", lambda x: np.trace(x, offset=1), X),
    sample("median", lambda x: (np.median(x), np.median(x, axis=1), np.median(x, axis=(0, 1))), X),
    sample("median of ints", lambda x: np.median(x, axis=0), N),
    sample("percentile", lambda x: (np.percentile(x, 30), np.percentile(x, [25, 75], axis=0)), d(8, 3)),
    sample("quantile", lambda x: np.quantile(x, 0.4, axis=1, keepdims=True), d(3, 8)),
    sample("quantile lower", lambda x: np.quantile(x, 0.4, method="lower"), X),
    sample("nanpercentile", lambda x: np.nanpercentile(x, 50, axis=0), f(12, 2, kind="holes")),
    sample("bincount", lambda x: np.bincount(x, minlength=8), i(12, low=0, high=7)),
    sample(
        "bincount weights", lambda x, w: np.bincount(x, weights=w, minlength=8), i(12, low=0, high=7), d(12)
    ),
    sample("histogram", lambda x: np.histogram(x, bins=5, range=(-2, 2)), d(12)),
    sample("histogram edges", lambda x: np.histogram(x, bins=[-2.0, -1.0, 0.0, 1.5]), d(12)),
    sample("histogram2d", lambda x, y: np.histogram2d(x, y, bins=3, range=[(-2, 2), (-1, 1)]), d(12), d(12)),
    sample(
        "histogramdd",
        lambda x: np.histogramdd(x[:, :3], bins=(3, 2, 4), range=[(-2, 2), (-1, 1), (-2, 2)])[0],
        d(12, 3),
    ),
    sample(
        "histogramdd edges",
        lambda x, y: np.histogramdd([x, y], bins=(4, [-1.0, 0.0, 2.0]), weights=y),
        d(12),
        d(12),
    ),
    sample(
        "reduceat",
        lambda x: (np.add.reduceat(x, [0, 3, 1, 4]), np.maximum.reduceat(x, [2, 0], axis=1)),
        d(6, 5),
    ),
    sample(
        "reduceat by indices",
        lambda x, k: (np.multiply.reduceat(x, k % 6), np.add.reduceat(x > 0, k % 6)),
        d(6),
        i(4),
    ),
    sample(
        "reduceat of truth",
        lambda x: (np.logical_or.reduceat(x, [1, 2]), np.minimum.reduceat(x.astype(np.int32), [0, 2, 2])),
        i(6),
    ),
    sample(
        "histogram2d edges",
        lambda x, y: np.histogram2d(x, y, bins=(4, [-1.0, 0.0, 2.0]), weights=y),
        d(12),
        d(12),
    ),
    sample(
        "histogram2d edges that repeat",
        lambda x: np.histogram2d(x, x[::-1], bins=([-1, 0, 0, 1, 1], np.array([0.0, 1.0, 1.0]))),
        i(12, low=-1, high=3),
    ),
    sample(
        "histogramdd edges that repeat",
        lambda x: np.histogramdd([x, x], bins=([0, 1, 1], [0, 0, 1, 1]))[0],
        i(12, low=-1, high=3),
    ),
    sample("histogram density", lambda x: np.histogram(x, bins=4, density=True), d(12)),
    sample(
        "histogram density of float32", lambda x: np.histogram(x, bins=4, range=(-2, 2), density=True), f(12)
    ),
    sample(
        "trapezoid",
        lambda y, x: (np.trapezoid(y, x), np.trapezoid(y, dx=0.5, axis=0)),
        f(3, 4),
        f(4, kind="sorted"),
    ),
    sample("gradient", lambda x: (np.gradient(x, axis=0), np.gradient(x, 0.5, axis=1)), f(3, 4)),
    sample("gradient of all axes", np.gradient, f(3, 4)),
    sample("diff", lambda x: (np.diff(x), np.diff(x, n=2, axis=0), np.diff(x, prepend=0)), X),
    sample("ediff1d", lambda x: np.ediff1d(x, to_begin=0.0), f(8)),
    sample("cov", lambda x: (np.cov(x), np.cov(x, ddof=0)), d(3, 8)),
    sample("corrcoef", np.corrcoef, d(8), d(8)),
    sample(
        "convolve",
        lambda x, k: (np.convolve(x, k), np.convolve(x, k, "same"), np.convolve(x, k, "valid")),
        f(8),
        f(3),
    ),
    sample("convolve even", lambda x, k: np.convolve(x, k, "same"), f(8), f(2)),
    sample(
        "correlate",
        lambda x, k: (np.correlate(x, k, "full"), np.correlate(x, k, "same"), np.correlate(x, k)),
        f(8),
        f(3),
    ),
    sample("interp", np.interp, d(8), d(4, kind="sorted"), d(4)),
    sample(
        "interp edges",
        lambda x, xp, fp: np.interp(x, xp, fp, left=-1.0, right=9.0),
        d(8),
        d(4, kind="sorted"),
        d(4),
    ),
    sample("polyval", lambda p, x: (np.polyval([1.0, -2.0, 3.0], x), np.polyval(p, x)), d(2), d(4)),
    # ---- searching and sorting
    sample("where", lambda x, y: np.where(x > 0, x, y), X, f(4)),
    sample("where with numbers", lambda x: np.where(x > 0, 1, -1), X),
    sample("where keeps float32", lambda x: np.where(x > 0, x, 0.0), X),
    sample("where of one", lambda x: np.where(x > 0), X),
    sample("nonzero", lambda x: (np.nonzero(x > 0), (x > 0).nonzero()), X),
    sample("flatnonzero", lambda x: np.flatnonzero(x > 0), X),
    sample("argwhere", lambda x: np.argwhere(x > 0), X),
    sample("sort", lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None)), X),
    sample("sort in place", lambda x: (y := x.copy(), y.sort(axis=0))[0], X),
    sample("argsort", lambda x: (np.argsort(x, axis=1), x.argsort(axis=0)), f(3, 4, kind="distinct")),
    sample("lexsort", lambda x, y: np.lexsort((x, y)), i(8, low=0, high=3), i(8, low=0, high=3)),
    sample(
        "searchsorted",
        lambda x, v: (np.searchsorted(x, v), x.searchsorted(v, side="right")),
        d(8, kind="sorted"),
        d(4),
    ),
    sample("digitize", lambda x: np.digitize(x, np.array([-1.0, 0.0, 1.0])), d(8)),
    sample(
        "digitize in bins that descend",
        lambda x, y: (
            np.digitize(x, [1.5, 1.5, 0, -1]),
            np.digitize(x, -y, right=True),
            np.digitize(x, y[:0]),
        ),
        d(8),
        d(4, kind="sorted"),
    ),
    sample("unique", np.unique, i(12)),
    sample(
        "unique with all",
        lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
        i(12),
    ),
    sample("isin", lambda x: np.isin(x, [1, 2, 3]), i(3, 4)),
    sample("union1d", np.union1d, i(8), i(3)),
    sample("setdiff1d", lambda x, y: (np.setdiff1d(x, y), np.intersect1d(x, y)), i(12), i(3)),
    sample("setxor1d", np.setxor1d, i(12), i(8)),
    sample("unique_all", lambda x: (*np.unique_all(x), *np.unique_counts(x), *np.unique_inverse(x)), i(3, 4)),
    sample("extract", lambda x: np.extract(x > 0, x), X),
    sample("compress", lambda x: np.compress([True, False, True], x, axis=0), X, again=True),
    sample("select", lambda x: np.select([x > 1, x > 0], [x, -x], default=9.0), X),
    sample("choose", lambda k, x: np.choose(k, [x, -x, x * 2]), i(4, low=0, high=3), f(4)),
    sample(
        "choose clipped", lambda k, x: np.choose(k, [x, -x, x * 2], mode="clip"), i(4, low=-3, high=7), f(4)
    ),
    sample(
        "choose wrapped",
        lambda k, x: np.choose(k, x, mode="wrap"),
        i(4, low=-3, high=7),
        f(3, 4),
        grows=False,
    ),
]
