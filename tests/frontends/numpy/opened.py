"""Samples of functions with callbacks, of polynomials and eigenvalues, and of unusual forms of arguments."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy import hypot as hypot_by_name
from numpy import max as max_by_name
from numpy import mean as mean_by_name
from numpy.polynomial import chebyshev, polynomial

from .arrays import Array, Sample, b, c, d, i, sample

_FACTORS = {np.add: 2.0, np.multiply: 3.0, np.mean: 4.0, np.zeros: 5.0}


def _compared(x: Any, stat: Any, op: Any) -> Any:
    return (
        x.mean() if stat is np.mean else x.sum(),
        x * _FACTORS[op],
        op is np.multiply and op == np.multiply,
        x * _FACTORS[np.mean] * _FACTORS[np.zeros],
        np.zeros == [np.zeros][0] and np.zeros != np.ones,
    )


def _mean_of(line: Any, weight: float = 1.0) -> Any:
    return (line * weight).sum() / line.shape[0]


@np.vectorize
def _rounded_down(v: Any) -> Any:
    return v // 2 * 3 - 1


@np.vectorize(otypes=[np.float32, bool], excluded=["power"])
def _two_results(v: Any, w: Any, power: Any = 1) -> Any:
    return v**power - w, v > w


def _vectorised(x: Any, k: Any) -> Any:
    return (
        # ``vectorize`` gives all results the dtype of the first.
        np.vectorize(lambda v: -1 if v < 0 else v)(x),
        np.vectorize(lambda v: v * np.float32(1.1) + 2)(x.astype(np.float32)),
        np.vectorize(lambda v: v * 9000 // 9)(k.astype(np.int16)),
        np.vectorize(lambda v, w: v / w)(k[:, None] + 1, w=k + 2),
        np.vectorize(_TABLE.__getitem__)(k),
        np.vectorize({place: place * 2 for place in range(4)}.get)(k),
        _rounded_down(x),
        _rounded_down(k),
        # The function gets Python numbers.
        np.vectorize(lambda v: v if isinstance(v, int) else -v, otypes=[float])(k),
        _two_results(x, 0.5, power=2),
        _two_results(x[:0], 0.5)[0].shape,
    )


def _vectorised_with_signatures(x: Any, y: Any) -> Any:
    normal = np.vectorize(lambda line: (line / line.sum(), line.max()), signature="(n)->(n),()")
    return (
        normal(x),
        np.vectorize(np.matmul, signature="(n),(n,m)->(m)")(x, y),
        np.vectorize(lambda v: v + 1)(y.sum()),
    )


_TABLE = np.arange(4.0)


def _enumerated(x: Any) -> Any:
    result = np.zeros_like(x)
    for (row, column), element in np.ndenumerate(x):
        result[row, 2 - column] = element * 2 + row
    return result


def _polynomials(c: Any, x: Any) -> Any:
    p, q = np.poly1d(c), np.poly1d(c[:2])
    zeros = np.concatenate([c[:1] * 0, c, c[:2] * 0])
    return p(x), (p * q).coeffs, (p + q)(x), p.deriv()(x), np.trim_zeros(zeros), np.trim_zeros(zeros, "b")


SAMPLES: list[Sample] = [
    sample("poly1d", _polynomials, d(4), d(3), again=True),
    sample("trim_zeros of zeros", lambda x: np.trim_zeros(x * 0), d(3)),
    sample("vectorize", _vectorised, d(6), i(4, low=0, high=4), again=True),
    sample("vectorize with signatures", _vectorised_with_signatures, d(3, 4), d(4, 2), again=True),
    sample("piecewise", lambda x: np.piecewise(x, [x < -1, x >= 1], [-1, 1, lambda v: v**3]), d(6)),
    sample("piecewise of one condition", lambda x: np.piecewise(x, x > 0, [np.sqrt, 0.0]), d(6)),
    sample("apply_along_axis", lambda x: np.apply_along_axis(_mean_of, 1, x, 2.0), d(3, 4), again=True),
    sample(
        "apply_along_axis of vectors",
        lambda x: np.apply_along_axis(lambda line: line[::-1] * 2, 0, x),
        d(3, 4, 2),
        again=True,
    ),
    sample("ndenumerate", _enumerated, d(2, 3), again=True),
    sample(
        "fromfunction",
        lambda x: x + np.fromfunction(lambda row, column: row * 10 - column, (3, 4)),
        d(3, 4),
        grows=False,
    ),
    sample("polyfit", lambda x, y: np.polyfit(x, y, 2), d(8, kind="unit"), d(8)),
    sample(
        "polyfit weighted",
        lambda x, y, w: np.polyfit(x, y, 1, w=w),
        d(8, kind="unit"),
        d(8, 2),
        d(8, kind="positive"),
    ),
    sample(
        "numpy.polynomial",
        lambda x, c: (polynomial.polyval(x, c), chebyshev.chebval(x, c), polynomial.polymul(c, c[:3])),
        d(6),
        d(4),
        again=True,
    ),
    sample(
        "numpy.polynomial of two variables",
        lambda x, c: polynomial.polyval2d(x, x**2, c),
        d(6),
        d(4, 3),
        again=True,
    ),
    sample(
        "Polynomial",
        lambda x, c: (
            np.polynomial.Polynomial(c).deriv()(x),
            np.polynomial.Polynomial([1, 2], domain=[0, 4])(x),
        ),
        d(6),
        d(4),
        again=True,
    ),
    sample(
        "Polynomial.fit",
        lambda x, y: np.polynomial.Polynomial.fit(x, y, 2)(x),
        d(8, kind="unit"),
        d(8),
        again=True,
    ),
    sample("a table of numpy", lambda x: x if x.dtype.char in np.typecodes["Complex"] else 2 * x, d(6)),
    sample(
        "polyadd",
        lambda p, q: (np.polyadd(p, q), np.polysub(q, p), np.polyadd(p, 2.0), np.polysub([1, 2], p)),
        d(6),
        i(3),
    ),
    sample("polyadd, then of a longer first one", np.polyadd, d(8), d(12)),
    sample("polymul", lambda p, q: (np.polymul(p, q), np.polymul(q, [2, 1]), np.polymul(p, 3.0)), d(6), d(3)),
    sample("polymul of ints", lambda p: np.polymul(p, [1, -2]), i(4, low=1)),
    sample("poly", lambda p: (np.poly(p), np.poly(p.astype(np.int64))), d(4), again=True),
    sample(
        "roots",
        lambda p: (
            np.sort(np.roots(p[:3] * [0, 1, 1] - [0, 0, 9])),
            np.sort(abs(np.roots(p * [1, 1, 1, 1, 1, 0]))),
        ),
        d(6),
        grows=False,
    ),
    sample(
        "roots of ints", lambda p: np.sort_complex(np.roots(p * 0 + np.array([1, 2, 5]))), i(3), grows=False
    ),
    sample(
        "polydiv",
        lambda p: (np.polydiv(p, [1.0, 2.0]), np.polydiv(p[:2], p), np.polydiv(p, 2.0)),
        d(6),
        again=True,
    ),
    sample(
        "polydiv without a rest",
        lambda p: np.polydiv(p.cumsum() * 0 + [1, 5, 6], np.array([1, 2])),
        i(3),
        grows=False,
    ),
    sample(
        "eigvals",
        lambda x: (np.sort(np.linalg.eigvals(x @ x.T)), np.sort(abs(np.linalg.eigvals(x - x.T)))),
        d(4, 4),
    ),
    sample("polyder", lambda p: (np.polyder(p), np.polyder(p, 2), np.polyint(p)), d(6)),
    sample("kaiser", lambda x: x * np.kaiser(x.shape[0], 3.0), d(6)),
    sample("sort of complex", lambda z: (np.sort(z, axis=1), np.argsort(z.round(0), axis=0)), c(3, 4)),
    sample("searchsorted of a list", lambda x: np.searchsorted(np.sort(x), [0, 1.5]), d(6)),
    sample(
        "partition",
        lambda x: (np.partition(x, 2)[2], np.sort(np.partition(x, 2)[:2]), x[np.argpartition(x, 3)[3]]),
        d(6),
    ),
    sample(
        "list of elements",
        lambda x: (np.max([x[0], x[1]]), np.mean([x, x * 2], axis=0), np.sort([x[1], x[0], 0.5])),
        d(6),
    ),
    sample(
        "list of elements and imported functions",
        lambda x: (max_by_name([x[0], x[1]]), mean_by_name([x, x * 2], axis=0), max_by_name(x)),
        d(6),
    ),
    sample(
        "ufuncs of lists of elements",
        lambda x: (
            np.sqrt([x[0] ** 2, x[1] ** 2]),
            np.maximum([x[0], 2.0], x[1]),
            hypot_by_name((x[0], x[1]), 3),
            np.add.reduce(x) * isinstance(np.exp, np.ufunc),
        ),
        d(6),
    ),
    sample(
        "methods of ufuncs, and linear algebra, of lists of elements",
        lambda x: (
            np.add.reduce([x[0], x[1]]),
            np.maximum.reduce([x, x * 2, 3 - x]),
            np.multiply.outer([x[0], x[1]], x),
            np.linalg.norm([x[0], x[2]]),
            np.linalg.norm((x, x), axis=0),
        ),
        d(6),
    ),
    sample("function that is compared", lambda x: _compared(x, np.mean, np.multiply), d(6)),
    sample("functions as keys", lambda x: x * {np.add: 2.0, np.sqrt: 3.0}[np.sqrt], d(6)),
    sample("copy of a ufunc", lambda x: copy.deepcopy({"root": np.sqrt})["root"](x**2), d(6)),
    sample("range as an index", lambda x: (x[range(2)], x[range(2), [1, 0]]), d(3, 4)),
    sample("power of truth values", lambda p: (p**2, np.power(p, 2)), b(3, 4)),
    sample("array_split", lambda x: np.array_split(x, 3), d(6)),
    sample("array_split with a rest", lambda x: np.array_split(x, 3, axis=1), d(2, 4), again=True),
    sample(
        "logaddexp with a number", lambda x: (np.logaddexp(x, 0), np.hypot(x, 1), np.copysign(x, -1)), d(3, 4)
    ),
    *(
        sample(
            f"{dtype}",
            lambda a, c: (
                a + a,
                a - c,
                a * c,
                a // (c + 1),
                a % 7,
                a << 1,
                a >> 2,
                ~a,
                -a,
                a > c,
                a[::-1],
                np.maximum(a, c),
                a.sum(),
                a.max(),
            ),
            Array((6,), dtype, low=0, high=2**15),
            Array((6,), dtype, low=0, high=9),
        )
        for dtype in ("uint16", "uint32")
    ),
    sample(
        "poly1d of elements",
        lambda c, x: (np.poly1d([c[0], 2, c[1]])(x), np.poly1d([c[0], c[2]], r=True).coeffs),
        d(4),
        d(3),
        again=True,
    ),
]
