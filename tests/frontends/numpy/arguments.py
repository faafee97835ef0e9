"""Samples of rarely used arguments: weights, methods, modes, several indices at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Sample, b, c, d, f, i, sample

X, K, M, V = d(3, 4), i(3, 4), b(3, 4), d(4)
POSITIVE, SORTED, COUNTS = d(4, kind="positive"), d(4, kind="sorted"), i(4, low=1, high=4)
_METHODS = ("hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf")
# Since this version ``np.pad`` takes a dict of axes.
_TAKES_NAMED_AXES = np.lib.NumpyVersion(np.__version__) >= "2.4.0"


def _placed(x: Any, mask: Any, values: Any) -> Any:
    np.place(x, mask, values)
    return x


def _put_where(x: Any, mask: Any, values: Any) -> Any:
    np.putmask(x, mask, values[:3])
    return x


def _whole_steps(k: Any) -> Any:
    """NumPy converts the first two numbers to the integer dtype, and their difference is the step."""
    n = k.shape[0]
    return (
        np.arange(0.5, n + 0.5, 1.5, dtype=np.int64) * k[0, 0],
        np.arange(-0.9, n, 2.0, dtype=np.int32) + k[0, 0],
        np.arange(n + 0.1, -2.9, -1.0, dtype=np.int8) * (k[0, 0] > 0),
        np.arange(-2.5, n, dtype=int) + np.arange(n / 2, dtype=int).sum(),
    )


SAMPLES: list[Sample] = [
    # ---- statistics
    *(sample(f"quantile {method}", lambda x, m=method: (np.quantile(x, [0.02, 0.6], axis=1, method=m), np.percentile(x, 31, method=m)), X) for method in _METHODS),
    sample("std with where", lambda x, m: (np.std(x, where=m), np.var(x, axis=1, where=m, ddof=-1, keepdims=True)), X, M),
    sample("std about a mean", lambda x: (np.std(x, axis=0, mean=x.mean(axis=0, keepdims=True), ddof=1), np.var(x, mean=0.5)), X),
    sample("var of ints with where", lambda k, m: np.var(k, where=m), K, M),
    sample("average returned", lambda x, w: (np.average(x, axis=1, weights=w, returned=True), np.average(x, returned=True)), X, POSITIVE),
    sample("nanmax with initial", lambda x, m: (np.nanmax(x, axis=0, initial=0.0), np.nanmin(x, initial=9.0, where=m)), d(3, 4, kind="holes"), M),
    sample("cov with weights", lambda x, w, n: (np.cov(x, aweights=w), np.cov(x, fweights=n, aweights=w, ddof=0), np.cov(x, fweights=n)), X, POSITIVE, COUNTS),
    sample("correlate with the longer one second", lambda x, z: (np.correlate(x[:2], x), np.correlate(z[0, :2], z[1], "full"), np.correlate(x[:3], x, "same")), V, c(2, 4)),
    sample((
        "convolve, then with the longer one second"
    ), lambda x, y: (np.convolve(x, y, "same"), np.correlate(x, y, "full")), d(8), d(6), again=True),
    sample((
        "convolve, first with the longer one second"
    ), lambda x, y: (np.convolve(x, y, "same"), np.correlate(x, y, "same")), d(8), d(12), again=True),
    sample("interp with a period", lambda x, xp, fp: (np.interp(x, xp, fp, period=2.5), np.interp(x, xp, fp, period=-3)), d(8), V, V),
    sample(
        "bitwise reductions",
        lambda k, m: (np.bitwise_or.reduce(k, axis=0), np.bitwise_xor.reduce(k), np.bitwise_and.reduce(m, axis=1, keepdims=True)),
        K,
        M,
    ),
    # ---- slopes
    sample("gradient at points", lambda x, p: (np.gradient(x, p, axis=1), np.gradient(x, p, axis=1, edge_order=2), np.gradient(x, 2.0, p)), X, SORTED),
    sample("gradient of ints to the second order", lambda k: np.gradient(k, 0.5, axis=0, edge_order=2), K),
    # ---- polynomials
    sample("polyfit of float32", lambda x, y, w: (np.polyfit(x, y, 2), np.polyfit(x, y, 1, w=w)), f(8), f(8), f(8, kind="positive")),
    # ---- elements put in and left out
    sample("delete by masks", lambda x, m: (np.delete(x, m, axis=1), np.delete(x.ravel(), x.ravel() > 0)), X, b(4), again=True),
    sample("delete by a list of truth values", lambda x: np.delete(x, [False, True, False], axis=0), X, grows=False),
    sample("delete by indices that are bools in part", lambda x: (np.delete(x, [True, 2], axis=0), np.delete(x, (0, True))), X),
    sample("delete at computed places", lambda x, k: np.delete(x, k % 3 - 1, axis=1), X, i(3)),
    sample("delete of slices", lambda x: (np.delete(x, slice(1, None), axis=0), np.delete(x, slice(None, -1)), np.delete(x[0], slice(1, 99)), np.delete(x[0], slice(2, 1))), X, again=True),
    sample("insert at several places", lambda x: (np.insert(x[0], [3, 1, 1], [7, 8, 9]), np.insert(x, (0, 2), x[0], axis=0), np.insert(x, [-1, -2], 5.0)), X),
    sample("resize", lambda x, k: (np.resize(x, (2, 7)), np.resize(k, 5), np.resize(x, x.shape[::-1])), X, K),
    sample("place", _placed, X, M, V),
    sample("place of no values", lambda x: (_placed(x, x > 99, []), _placed(x, x < -99, x[x < -99]), x), X),
    sample("place of the selected values", lambda x, y, m: _placed(x, m, y[m]), X, X, M),
    sample("putmask of fewer values", _put_where, X, M, V),
    # ---- padding
    sample("pad with other numbers on each side", lambda x: (np.pad(x, ((1, 2), (2, 1)), constant_values=((1, 2), (3, 4))), np.pad(x, 1, constant_values=x[0, 0])), X),
    sample("pad with a ramp", lambda x: np.pad(x, ((1, 2), (3, 0)), mode="linear_ramp", end_values=(1, -2)), X),
    sample("pad by some of the elements", lambda x, k: (np.pad(x, ((1, 2), (3, 0)), mode="minimum", stat_length=((1, 2), (2, 9))), np.pad(k, 2, mode="mean")), X, K, again=True),
    *([sample("pad of named axes", lambda x: (np.pad(x, {-1: 2, 0: (1, 0)}, mode="edge"), np.pad(x, {1: 1})), X)] if _TAKES_NAMED_AXES else []),
    # ---- numbers and places
    sample("linspace along an axis", lambda x: np.linspace(x, x + 1, 5, axis=-1, endpoint=False), X),
    sample("linspace with its step", lambda x: (np.linspace(0, x[0, 0], 4, retstep=True), np.linspace(x[0], 1, 3, retstep=True, endpoint=False)), X),
    sample("round of ints to tens", lambda k: (np.round(k * 15, -1), (k * 17).round(-1)), K),
    sample("sort_complex", lambda k, x, z: (np.sort_complex(k[0]), np.sort_complex(x[0]), np.sort_complex(z)), K, f(3, 4), c(3, 4)),
    sample("arange of ints between floats", _whole_steps, K),
    sample("bartlett", lambda x: (np.bartlett(x.shape[0])[:, None] * x, np.bartlett(1) * x[0]), X),
    sample("diag_indices_from", lambda x: x[np.diag_indices_from(x)], d(3, 3)),
    sample("apply_over_axes", lambda x: (np.apply_over_axes(np.max, x, (0, -1)), np.apply_over_axes(np.mean, x, 1)), X),
    sample("array_equiv", lambda x: x + (np.array_equiv(x[0], x[:1]) and not np.array_equiv(x, x[0]) and not np.array_equiv(x, x[0, :3])), X, again=True),
    sample("delete by a list with NumPy's truth values", lambda x: (np.delete(x, [False, np.True_, False], axis=0), np.delete(x, [np.True_, 2], axis=0)), X, grows=False),
]  # fmt: skip
