"""Samples of ``scipy.special``, of ``outer`` and ``accumulate`` of ufuncs, and of functions that other
samples rarely call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .arrays import Sample, b, c, f, i, sample

X, Y, P, U = f(3, 4), f(4), f(3, 4, kind="positive"), f(3, 4, kind="unit")
_OF_ANY = ("erf", "erfc", "erfcx", "expit", "i0", "i0e", "i1", "i1e", "j0", "j1", "log_ndtr", "ndtr")
_OF_POSITIVE = ("entr", "gammaln", "psi", "y0", "y1")
_OF_UNIT = ("erfinv", "log1p")
_OUTER = ("add", "arctan2", "copysign", "divide", "equal", "float_power", "floor_divide", "fmax", "fmin", "fmod", "greater", "greater_equal",
          "heaviside", "hypot", "less", "less_equal", "logaddexp", "logaddexp2", "maximum", "minimum", "nextafter", "not_equal", "power",
          "remainder")  # fmt: skip
_OUTER_OF_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "left_shift", "right_shift")
_OUTER_OF_BOOLS = ("logical_and", "logical_or", "logical_xor")


def _of(name: str) -> Any:
    return getattr(special, name)


def _at_infinity(name: str, change: Any) -> Any:
    return lambda x: _of(name)(np.full_like(x, np.inf), change(x))


def _at_0(name: str, change: Any) -> Any:
    return lambda x: _of(name)(change(x), np.zeros_like(x))


def _outer(name: str) -> Any:
    return getattr(np, name).outer


SAMPLES: list[Sample] = [
    *(sample(f"special.{name}", _of(name), X) for name in _OF_ANY),
    *(sample(f"special.{name}", _of(name), P) for name in _OF_POSITIVE),
    *(sample(f"special.{name}", _of(name), U) for name in _OF_UNIT),
    sample("special.ndtri", lambda x: special.ndtri(0.5 + x / 2), U),
    sample("special.gammainc", special.gammainc, P, f(4, kind="positive")),
    sample("special.gammaincc", special.gammaincc, P, f(4, kind="positive")),
    *(
        sample(f"special.{name}.infinite{kind}", _at_infinity(name, change), X)
        for name in ("gammainc", "gammaincc")
        for kind, change in (("", np.positive), (".nan", np.sqrt))
    ),
    *(
        sample(f"special.{name}.at_0{kind}", _at_0(name, change), X)
        for name in ("gammainc", "gammaincc")
        for kind, change in (("", np.positive), (".nan", np.sqrt))
    ),
    sample("special.xlogy", special.xlogy, X, f(4, kind="positive")),
    sample("special.xlog1py", special.xlog1py, X, f(4, kind="positive")),
    *(
        sample(f"{name}.outer", _outer(name), f(3, 4, kind="positive"), f(4, kind="positive"))
        for name in _OUTER
    ),
    *(sample(f"{name}.outer", _outer(name), i(3, 4, low=1), i(4, low=1)) for name in _OUTER_OF_INTEGERS),
    *(sample(f"{name}.outer", _outer(name), b(3), b(4)) for name in _OUTER_OF_BOOLS),
    sample("multiply.accumulate", lambda x: np.multiply.accumulate(x, axis=1), X),
    sample("logaddexp.accumulate", lambda x: np.logaddexp.accumulate(x, axis=1), X),
    sample("logical_and.reduce", lambda x: np.logical_and.reduce(x, axis=1), b(3, 4)),
    sample("logical_and.reduceat", lambda x: np.logical_and.reduceat(x, [0, 2, 3]), b(4)),
    sample("atleast_1d", lambda x: np.atleast_1d(x.sum()), X),
    sample("cumulative_prod", lambda x: np.cumulative_prod(x, axis=1), X),
    sample("hsplit", lambda x: np.hsplit(x, 2), f(3, 4)),
    sample("vsplit", lambda x: np.vsplit(x, 2), f(4, 3)),
    sample("dsplit", lambda x: np.dsplit(x, 2), f(2, 3, 4)),
    sample("ifftn", np.fft.ifftn, c(4, 6)),
    sample("ihfft", np.fft.ihfft, f(8)),
    sample("irfft2", np.fft.irfft2, c(4, 6)),
    sample("irfftn", np.fft.irfftn, c(4, 6)),
    sample("histogram_bin_edges", lambda x: np.histogram_bin_edges(x, bins=5), f(12)),
    sample("histogram_bin_edges of nothing", lambda x: np.histogram_bin_edges(x, bins=4), f(0)),
    sample("ix_", lambda x, k, m: x[np.ix_(k, m)], f(5, 5), i(3, low=0, high=5), i(2, low=0, high=5)),
    sample("linalg.diagonal", np.linalg.diagonal, f(3, 4)),
    sample("linalg.matmul", np.linalg.matmul, f(3, 4), f(4, 3)),
    sample("linalg.matrix_norm", lambda x: np.linalg.matrix_norm(x, ord=1), X),
    sample("linalg.svdvals", np.linalg.svdvals, f(3, 4)),
    sample(
        "linalg.tensorinv",
        lambda x: np.linalg.tensorinv((x + 4 * np.eye(6)).reshape(6, 2, 3), ind=1),
        f(6, 6),
        grows=False,
    ),
    sample("linalg.vecdot", np.linalg.vecdot, f(3, 4), f(3, 4)),
    sample("linalg.vector_norm", lambda x: np.linalg.vector_norm(x, axis=1, ord=3), X),
    sample(
        "nanargmin", lambda x: np.nanargmin(np.where(x > 0, np.nan, x) - 9 * (x < -0.5), axis=None), f(3, 4)
    ),
    sample("nancumprod", lambda x: np.nancumprod(x, axis=1), f(3, 4, kind="holes")),
    sample("nanmedian", lambda x: np.nanmedian(x, axis=1), f(3, 12, kind="holes")),
    sample("nanquantile", lambda x: np.nanquantile(x, 0.3, axis=1), f(3, 12, kind="holes")),
    sample("compress method", lambda x: x.compress([True, False, True], axis=0), X, again=True),
    sample("tril_indices of a size", lambda x: x[np.tril_indices(x.shape[0])], f(3, 3)),
    sample("unique_values", lambda x: np.sort(np.unique_values(x)), i(12)),
]
