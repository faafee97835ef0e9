"""Samples of reductions, statistics, sorting and searching."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.support.samples import Array, array, ints

from .table import BOOLS, INTS, OTHER_BOOLS, OTHER_INTS, X, Y, calls, each

_NAN = array(3, 4, kind="positive")
_DISTINCT, _OTHER_DISTINCT = array(3, 4, kind="distinct"), array(5, 2, kind="distinct")


def _of_bits(x: Any) -> Any:
    return (
        lax.reduce_xor(x, (1,)),
        lax.reduce_and(x, (0,)),
        lax.reduce_or(x, (0, 1)),
        lax.reduce_xor(x > 3, (0,)),
    )


def _reduced(x: Any, start: Any) -> Any:
    """The initial values are arrays, which JAX cannot read while it traces."""
    zero, one = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    return (
        lax.reduce(x, zero, lax.add, (1,)),
        lax.reduce(x, one, jnp.multiply, (0,)),
        lax.reduce(x, start, lax.max, (0, 1)),
        lax.reduce(x, start, lax.add, (0,)),
        lax.reduce(x > 0, False, lax.bitwise_or, (1,)),
    )


def _by_windows(x: Any, start: Any) -> Any:
    windows = ((2, 3), (2, 1), "SAME")
    return (
        lax.reduce_window(x, jnp.zeros((), x.dtype), lax.add, *windows),
        lax.reduce_window(x, start, lax.add, *windows),
        lax.reduce_window(x, start, lax.mul, *windows),
        lax.reduce_window(x, 0.5, lax.max, *windows),
        lax.reduce_window(x, start, lax.min, *windows),
        lax.reduce_window(x, 0.0, lax.add, (2, 1), (1, 1), "VALID", window_dilation=(2, 1)),
    )


def _extremes(x: Any) -> Any:
    """The initial values are the limits of integer dtypes, which cannot be negated."""
    least, most = (False, True) if x.dtype == bool else (jnp.iinfo(x.dtype).min, jnp.iinfo(x.dtype).max)
    numbers = ((x.dtype.type(most), lax.min), (x.dtype.type(least), lax.max))
    return [lax.reduce_window(x, begin, by, (2, 2), (1, 1), "SAME") for begin, by in numbers]


def _windows_without_edges(x: Any) -> Any:
    """Negative padding cuts elements off."""
    windows = ((2, 2), (1, 1), ((-1, 0), (1, -1)))
    return (
        lax.reduce_window(x, -jnp.inf, lax.max, *windows),
        lax.reduce_window(x, jnp.inf, lax.min, *windows),
        lax.reduce_window(x, 0.0, lax.add, *windows),
        lax.reduce_window(x, 1.0, lax.mul, *windows),
        lax.reduce_window(
            x[None, ..., None], -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), ((0, 0), *windows[2], (0, 0))
        ),
    )


def over_names(x):
    """Use collectives over an axis of ``vmap``, which it replaces."""
    each = jax.vmap(
        lambda row: (
            row - lax.pmean(row, "i"),
            lax.psum((row, 1), "i"),
            lax.pmax(row > 0, "i"),
            lax.pmin(row, "i"),
        ),
        axis_name="i",
    )
    return each(x), jax.vmap(lambda row: lax.axis_index("j") * row / lax.psum(row, "j"), 1, axis_name="j")(x)


SAMPLES = [
    *each(
        jnp,
        "sum prod mean var std max min all any argmax argmin cumsum cumprod ptp median nansum nanmean nanmax nanstd nanvar",
        (X,),
        (Y,),
    ),
    *each(
        jnp,
        "sum prod max min mean var std all any argmax argmin count_nonzero median average nanmean",
        (X,),
        (Y,),
        axis=1,
    ),
    *each(jnp, "cumsum cumprod sort argsort", (X,), (Y,), axis=0),
    *each(jnp, "sum mean var max min", (X,), (Y,), axis=(0, 1), keepdims=True),
    *each(jnp, "var std", (X,), (Y,), axis=0, ddof=1),
    *each(jnp, "sum prod max min mean argmax cumsum sort", (INTS,), (OTHER_INTS,)),
    *each(jnp, "sum all any max argmax mean cumsum", (BOOLS,), (OTHER_BOOLS,)),
    *each(jnp, "sum mean max", (array(3, 4, dtype="bfloat16"),), (array(5, 2, dtype="bfloat16"),)),
    *calls(
        [
            (
                "methods",
                lambda x: (
                    x.sum(),
                    x.mean(0),
                    x.var(),
                    x.std(axis=1),
                    x.max(),
                    x.min(0),
                    x.argmax(1),
                    x.prod(),
                    x.cumsum(0),
                ),
                (X,),
                (Y,),
            ),
            (
                "truth",
                lambda x: ((x > 0).all(), (x > 0).any(axis=0), jnp.count_nonzero(x > 0, axis=1)),
                (X,),
                (Y,),
            ),
            ("where=", lambda x: jnp.sum(x, where=x > 0), (X,), (Y,)),
            ("mean where=", lambda x: jnp.mean(x, axis=1, where=x > -9), (X,), (Y,)),
            (
                "average weights",
                lambda x, w: jnp.average(x, axis=0, weights=w),
                (X, array(3, kind="positive")),
                (Y, array(5, kind="positive")),
            ),
            (
                "quantile",
                lambda x: (jnp.quantile(x, 0.3), jnp.quantile(x, 0.7, axis=1), jnp.percentile(x, 20, axis=0)),
                (X,),
                (Y,),
            ),
            ("sort descending", lambda x: jnp.sort(x, descending=True), (X,), (Y,)),
            (
                "argsort",
                lambda x: (jnp.argsort(x), jnp.argsort(x, axis=0), jnp.argsort(-x)),
                (_DISTINCT,),
                (_OTHER_DISTINCT,),
            ),
            ("sort pairs", lambda x, y: lax.sort((x, y), num_keys=1), (_DISTINCT, X), (_OTHER_DISTINCT, Y)),
            (
                "sort two keys",
                lambda x, y: lax.sort((x, y), num_keys=2),
                (ints(3, 4, low=0, high=2), X),
                (ints(5, 2, low=0, high=2), Y),
            ),
            (
                "lexsort",
                lambda x, y: jnp.lexsort((y, x)),
                (ints(6, low=0, high=2), array(6)),
                (ints(4, low=0, high=2), array(4)),
            ),
            ("top_k", lambda x: lax.top_k(x, 2), (_DISTINCT,), (_OTHER_DISTINCT,)),
            (
                "approx_max_k",
                lambda x: (lax.approx_max_k(x, 2), lax.approx_min_k(x, 2, reduction_dimension=0)),
                (_DISTINCT,),
                (_OTHER_DISTINCT,),
            ),
            (
                "reductions of bits",
                _of_bits,
                (ints(3, 4, low=0, high=90, dtype="uint8"),),
                (ints(5, 2, low=0, high=90, dtype="uint8"),),
            ),
            (
                "reductions of bits below 0",
                _of_bits,
                (ints(3, 4, low=-90, high=90, dtype="int32"),),
                (ints(5, 2, low=-90, high=90, dtype="int32"),),
            ),
            ("lax.reduce", _reduced, (X, array()), (Y, array())),
            ("reduce_window", _by_windows, (X, array()), (array(5, 6), array())),
            *(
                (
                    f"reduce_window of {dtype}",
                    _extremes,
                    (Array((3, 4), dtype, kind, *span),),
                    (Array((5, 6), dtype, kind, *span),),
                )
                for dtype, kind, span in (
                    ("int8", "integers", (-128, 128)),
                    ("uint8", "integers", (0, 256)),
                    ("bool", "bools", (0, 1)),
                )
            ),
            (
                "top_k ties",
                lambda x: lax.top_k(x, 2),
                (ints(3, 4, low=0, high=2),),
                (ints(5, 6, low=0, high=2),),
            ),
            (
                "searchsorted",
                lambda x, v: (
                    jnp.searchsorted(jnp.sort(x), v),
                    jnp.searchsorted(jnp.sort(x), v, side="right"),
                ),
                (array(7), X),
                (array(5), Y),
            ),
            ("digitize", lambda x, v: jnp.digitize(v, jnp.sort(x)), (array(7), X), (array(5), Y)),
            (
                "interp",
                lambda x, v: jnp.interp(v, jnp.sort(x), x),
                (array(7), array(3)),
                (array(7), array(4)),
            ),
            (
                "logsumexp",
                lambda x: (
                    jax.nn.logsumexp(x),
                    jax.nn.logsumexp(x, axis=0),
                    jax.nn.logsumexp(x, axis=1, keepdims=True),
                ),
                (X,),
                (Y,),
            ),
            (
                "softmax axis",
                lambda x: (jax.nn.softmax(x, axis=0), jax.nn.log_softmax(x, axis=0)),
                (X,),
                (Y,),
            ),
            (
                "cummax",
                lambda x: (
                    lax.cummax(x, 1),
                    lax.cummin(x, 0),
                    lax.cumsum(x, 0, reverse=True),
                    lax.cumlogsumexp(x, 1),
                ),
                (X,),
                (Y,),
            ),
            ("diff", lambda x: (jnp.diff(x), jnp.diff(x, n=2, axis=0), jnp.ediff1d(x)), (X,), (array(5, 3),)),
            ("cov", lambda x: (jnp.cov(x), jnp.corrcoef(x)), (X,), (array(5, 6),)),
            ("histogram", lambda x: jnp.histogram(x, bins=5, range=(-2.0, 2.0)), (array(20),), (array(9),)),
            (
                "bincount",
                lambda x: jnp.bincount(x, length=6),
                (ints(9, low=0, high=6),),
                (ints(4, low=0, high=6),),
            ),
            ("trapezoid", lambda x: jnp.trapezoid(x, dx=0.5), (X,), (array(5, 3),)),
            ("nanmedian", lambda x: jnp.nanmedian(x, axis=0), (X,), (Y,)),
            ("argmax keepdims", lambda x: jnp.argmax(x, axis=1, keepdims=True), (X,), (Y,)),
            ("named axes", over_names, (X,), (Y,)),
            (
                "segment_sum",
                lambda x, i: jax.ops.segment_sum(x, i, num_segments=3),
                (X, ints(3, low=0, high=3)),
                (Y, ints(5, low=0, high=3)),
            ),
            (
                "segment_max",
                lambda x, i: jax.ops.segment_max(x, i, num_segments=2),
                (X, ints(3, low=0, high=1)),
                (Y, ints(5, low=0, high=2)),
            ),
            (
                "nonzero size=",
                lambda x: jnp.nonzero(x > 0, size=4, fill_value=-1)[0],
                (array(6),),
                (array(9),),
            ),
            ("allclose", lambda x: jnp.allclose(x, x + 1e-9), (X,), (Y,)),
            ("array_equal", lambda x: jnp.array_equal(x, x), (X,), (Y,)),
            ("isin", lambda x, y: jnp.isin(x, y), (INTS, ints(3)), (OTHER_INTS, ints(4))),
            (
                "norm",
                lambda x: (
                    jnp.linalg.norm(x),
                    jnp.linalg.norm(x, axis=1),
                    jnp.linalg.norm(x, ord=1, axis=0),
                    jnp.linalg.norm(x, "fro"),
                ),
                (X,),
                (Y,),
            ),
            ("reduce_window without edges", _windows_without_edges, (X,), (array(5, 6),)),
        ]
    ),
]
