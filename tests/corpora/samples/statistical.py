"""Samples of statistics: sums, moments, extrema, order statistics, cumulative statistics, histograms,
distances.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import Array, ErrorSample, Sample, array, bools, ints, quietly


def with_nan(function: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    return function(torch.where(x > 0.5, math.nan, x), *args, **kwargs)


def _over(functions: tuple[Any, ...], x: Array, other: Array, *options: dict[str, Any]) -> list[Sample]:
    return [Sample(function, (x,), given, other=(other,)) for function in functions for given in options]


_AXES: tuple[dict[str, Any], ...] = (
    {},
    {"dim": 0},
    {"dim": -1, "keepdim": True},
    {"dim": (0, 2)},
    {"dim": (-1, 0), "keepdim": True},
)
_ONE_AXIS: tuple[dict[str, Any], ...] = ({"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True})


def _wrapping_integrals() -> list[Sample]:
    """Return integrals of integers that are so large that torch's sums of neighbours wrap around."""
    byte, later = ints(3, 6, low=-128, high=128, dtype="int8"), ints(2, 4, low=-128, high=128, dtype="int8")
    line, shorter = (ints(size, high=256, dtype="uint8") for size in (6, 4))
    large, fewer = (ints(size, low=2**31 - 9, high=2**31 - 1, dtype="int32") for size in (5, 3))
    return [
        Sample(torch.trapezoid, (line,), {"dx": 2}, other=(shorter,)),
        Sample(torch.trapezoid, (byte,), {"dim": 0}, other=(later,)),
        Sample(torch.trapezoid, (byte, line), {"dim": 1}, other=(later, shorter)),
        Sample(torch.trapezoid, (byte, array(3, 6)), other=(later, array(2, 4))),
        Sample(torch.trapezoid, (array(3, 6), byte), {"dim": 0}, other=(array(2, 4), later)),
        Sample(torch.cumulative_trapezoid, (large,), other=(fewer,)),
        Sample(torch.cumulative_trapezoid, (byte, byte), {"dim": 0}, other=(later, later)),
        Sample(torch.cumulative_trapezoid, (line, line), other=(shorter, shorter)),
    ]


# ------------------------------------------------------------------------------------------- sums and moments
def _sums() -> list[Sample]:
    x, other = array(3, 4, 5), array(2, 6, 4)
    samples = _over(
        (torch.sum, torch.mean, torch.nansum, torch.nanmean, torch.Tensor.sum, torch.logsumexp),
        x,
        other,
        *_AXES[1:],
    )
    samples += _over((torch.sum, torch.mean, torch.prod, torch.nansum, torch.nanmean), x, other, {})
    samples += _over((torch.prod,), x, other, *_ONE_AXIS)
    for dtype in ("int32", "uint8", "int64", "bool"):
        whole, later = Array((3, 4), dtype), Array((5, 2), dtype)
        samples += _over(
            (torch.sum, torch.prod),
            whole,
            later,
            {},
            {"dim": 1},
            {"dtype": torch.float32},
            {"dtype": torch.bool},
        )
        samples += _over((torch.cumsum, torch.cumprod), whole, later, {"dim": 0})
        samples += [Sample(torch.nansum, (whole,), other=(later,))]
    return samples + [
        Sample(torch.sum, (x, (0, 1)), other=(other, (0, 1))),
        Sample(torch.sum, (x,), {"dim": ()}, other=(other,)),
        Sample(torch.sum, (x, 1, True), {"dtype": torch.float64}, other=(other, 1, True)),
        Sample(torch.sum, (array(),)),
        Sample(torch.sum, (array(), -1)),
        Sample(torch.sum, (array(0, 3), 0)),
        Sample(torch.mean, (ints(3, 4),), {"dtype": torch.float32}),
        Sample(torch.mean, (array(4, 5, dtype="bfloat16"),)),
        Sample(torch.sum, (array(40, 50, dtype="float16"), 1)),
        Sample(torch.sum, (array(3, 4, dtype="complex64"), 1)),
        Sample(torch.prod, (array(),)),
        Sample(with_nan, (torch.nansum, x, 1), other=(torch.nansum, other, 1)),
        Sample(with_nan, (torch.nanmean, x, (0, 1)), other=(torch.nanmean, other, (0, 1))),
        Sample(with_nan, (torch.sum, x, 1), other=(torch.sum, other, 1)),
        Sample(torch.logsumexp, (ints(3, 4), 1), other=(ints(2, 5), 1)),
        Sample(
            torch.logsumexp, (array(3, 4, dtype="complex64"), 1), other=(array(2, 5, dtype="complex64"), 1)
        ),
        Sample(
            torch.logsumexp,
            (array(3, 4, dtype="complex64"), (0, 1), True),
            other=(array(2, 5, dtype="complex64"), (0, 1), True),
        ),
        Sample(torch.special.logsumexp, (x, -1), other=(other, -1)),
        Sample(torch.Tensor.mean, (x, -1, True), other=(other, -1, True)),
    ]


def _moments() -> list[Sample]:
    x, other = array(3, 4, 5), array(2, 6, 4)
    functions = (torch.var, torch.std, torch.var_mean, torch.std_mean)
    samples = _over(
        functions,
        x,
        other,
        *_AXES,
        {"dim": 1, "correction": 0},
        {"dim": 1, "correction": 2},
        {"unbiased": False},
    )
    return samples + [
        Sample(torch.var, (x, False), other=(other, False)),
        Sample(torch.std, (x, 1, False, True), other=(other, 1, False, True)),
        Sample(torch.var, (x, (0, 1), True), other=(other, (0, 1), True)),
        Sample(torch.var, (x,), {"dim": (0, 2), "correction": 1.5}, other=(other,)),
        Sample(quietly, (torch.var, array(2)), {"correction": 2}, other=(torch.var, array(3))),
        Sample(quietly, (torch.var, array(2)), {"correction": 3}),
        Sample(quietly, (torch.std, array(1))),
        Sample(torch.std, (array(4, 3, dtype="complex64"), 0), other=(array(5, 3, dtype="complex64"), 0)),
        Sample(torch.std, (array(4, 3, dtype="bfloat16"), 0)),
        Sample(torch.Tensor.std, (x, -1), other=(other, -1)),
    ]


# ----------------------------------------------------------------------------------------- extremes and truth
def _extremes() -> list[Sample]:
    x, other = array(3, 4, 5, kind="distinct"), array(2, 6, 4, kind="distinct")
    samples = _over(
        (torch.max, torch.min, torch.argmax, torch.argmin, torch.aminmax), x, other, {}, *_ONE_AXIS
    )
    samples += _over((torch.amax, torch.amin), x, other, *_AXES)
    samples += _over((torch.cummax, torch.cummin), x, other, {"dim": 0}, {"dim": -1})
    repeated, later = ints(4, 6, low=0, high=3), ints(5, 3, low=0, high=3)
    samples += _over(
        (torch.max, torch.min, torch.argmax, torch.argmin, torch.cummax, torch.cummin),
        repeated,
        later,
        {"dim": 1},
    )
    for function in (torch.max, torch.min, torch.argmax, torch.argmin, torch.cummax, torch.cummin):
        samples.append(Sample(with_nan, (function, array(4, 6), 1), other=(function, array(3, 7), 1)))
        samples.append(Sample(function, (array(), 0)))
    return samples + [
        Sample(torch.max, (array(3, 4), array(4)), other=(array(5, 2), array(2))),
        Sample(torch.min, (ints(3, 4), array(4))),
        Sample(torch.max, (bools(3, 4),)),
        Sample(torch.max, (bools(3, 4), 1), other=(bools(2, 7), 1)),
        Sample(torch.amin, (bools(3, 4), 1)),
        Sample(torch.cummax, (bools(3, 4), 1), other=(bools(2, 7), 1)),
        Sample(torch.argmax, (x,), {"keepdim": True}, other=(other,)),
        Sample(torch.Tensor.max, (x, 1, True), other=(other, 1, True)),
        Sample(torch.Tensor.amax, (x, (-1, 0)), other=(other, (-1, 0))),
        Sample(with_nan, (torch.amax, array(3, 4)), other=(torch.amax, array(5, 4))),
        Sample(torch.aminmax, (array(3, 4),), {"dim": 0, "keepdim": True}),
    ]


def _truth() -> list[Sample]:
    x, other = bools(3, 4, 5), bools(2, 6, 4)
    samples = _over((torch.any, torch.all), x, other, *_AXES, {"dim": ()})
    samples += _over(
        (torch.any, torch.all, torch.count_nonzero),
        ints(3, 4, low=0, high=2),
        ints(5, 2, low=0, high=2),
        {},
        {"dim": 1},
    )
    return samples + [
        Sample(
            torch.any,
            (ints(3, 4, low=0, high=2, dtype="uint8"), 1),
            other=(ints(2, 3, low=0, high=2, dtype="uint8"), 1),
        ),
        Sample(torch.all, (ints(3, 4, low=0, high=2, dtype="uint8"),)),
        Sample(torch.all, (array(0),)),
        Sample(torch.any, (array(),)),
        Sample(torch.any, (array(), 0)),
        Sample(with_nan, (torch.any, array(3, 4), 1)),
        Sample(torch.count_nonzero, (x, (0, 2)), other=(other, (0, 2))),
    ]


# ------------------------------------------------------------------------------- order and running statistics
def _order() -> list[Sample]:
    x, other = array(3, 6, 5, kind="distinct"), array(2, 7, 4, kind="distinct")
    samples = _over((torch.median, torch.nanmedian), x, other, {}, *_ONE_AXIS)
    samples += _over(
        (torch.mode,),
        ints(4, 9, low=0, high=4),
        ints(3, 8, low=0, high=4),
        {},
        {"dim": 0},
        {"dim": 1, "keepdim": True},
    )
    for way in ("linear", "lower", "higher", "midpoint", "nearest"):
        options = {"interpolation": way}
        samples.append(Sample(torch.quantile, (x, 0.3), options, other=(other, 0.3)))
        samples.append(_quantiles(way))
    for function in (torch.median, torch.nanmedian):
        samples.append(Sample(with_nan, (function, array(4, 6), 1), other=(function, array(3, 7), 1)))
        samples.append(Sample(function, (array(), 0)))
        samples.append(Sample(function, (array(),)))
    return samples + [
        Sample(with_nan, (torch.quantile, array(4, 6), 0.4, 1), other=(torch.quantile, array(3, 7), 0.4, 1)),
        Sample(
            with_nan, (torch.nanquantile, array(4, 6), 0.4, 1), other=(torch.nanquantile, array(3, 7), 0.4, 1)
        ),
        Sample(torch.quantile, (array(3, 4), 0.5, -1, True), other=(array(5, 7), 0.5, -1, True)),
        Sample(torch.quantile, (array(), 0.5, 0, True)),
        Sample(torch.mode, (array(),)),
        Sample(torch.median, (ints(3, 6),), other=(ints(5, 2),)),
    ]


def quantiles(x: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.quantile(x, torch.tensor([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), **options)


def _quantiles(interpolation: str) -> Sample:
    return Sample(quantiles, (array(6, 4),), {"dim": 0, "interpolation": interpolation}, other=(array(9, 3),))


def logcumsumexp_with_nan(x: torch.Tensor) -> torch.Tensor:
    """The result is NaN from the first NaN on."""
    return torch.logcumsumexp(torch.where(x > 0.5, torch.nan, x), -1)


def _running() -> list[Sample]:
    x, other = array(3, 4, 5), array(2, 6, 4)
    samples = _over((torch.cumsum, torch.cumprod, torch.logcumsumexp), x, other, {"dim": 0}, {"dim": -1})
    samples += _over((torch.diff,), x, other, {}, {"n": 2}, {"dim": 0}, {"n": 0}, {"n": 9, "dim": 1})
    return samples + [
        Sample(torch.cumsum, (array(), 0)),
        Sample(torch.cumsum, (array(3, 50, dtype="bfloat16"), 1)),
        Sample(torch.cumsum, (array(3, 5, dtype="float16"), 1), {"dtype": torch.float32}),
        Sample(torch.cumprod, (array(3, 5, dtype="complex64"), 1)),
        Sample(torch.logcumsumexp, (array(),), {"dim": 0}),
        Sample(logcumsumexp_with_nan, (x,), other=(other,)),
        Sample(torch.diff, (bools(3, 6),), other=(bools(2, 4),)),
        Sample(torch.diff, (x,), {"prepend": array(3, 4, 1), "append": array(3, 4, 2)}),
        Sample(torch.diff, (ints(4),), {"append": array(2)}),
        Sample(torch.diff, (x,), {"n": 0, "prepend": array(3, 4, 1)}, name="diff of none"),
        Sample(torch.trapezoid, (x,), other=(other,)),
        Sample(torch.trapezoid, (x,), {"dx": 0.5, "dim": 1}, other=(other,)),
        Sample(torch.trapezoid, (x, array(5)), other=(other, array(4))),
        Sample(torch.trapezoid, (x, array(4)), {"dim": 1}, other=(other, array(6))),
        Sample(torch.trapezoid, (x, array(4, 5)), other=(other, array(6, 4))),
        Sample(torch.trapz, (x, x), other=(other, other)),
        Sample(torch.trapezoid, (ints(4), ints(4)), other=(ints(6), ints(6))),
        Sample(torch.trapezoid, (array(0),)),
        Sample(torch.trapezoid, (array(4, dtype="float64"),), {"dx": 0.3}),
        Sample(torch.cumulative_trapezoid, (x,), {"dim": 0}, other=(other,)),
        Sample(torch.cumulative_trapezoid, (x, array(4)), {"dim": 1}, other=(other, array(6))),
        Sample(torch.cumulative_trapezoid, (x, x), {"dim": 1}, other=(other, other)),
        Sample(torch.cumulative_trapezoid, (ints(5),), {"dx": 2}, other=(ints(3),)),
        *_wrapping_integrals(),
    ]


# ----------------------------------------------------------------------------------- counting and correlation
def histogram_over(x: torch.Tensor, weight: torch.Tensor) -> Any:
    return tuple(torch.histogram(x, torch.tensor([-1.0, -0.2, 0.3, 2.0]), weight=weight))


def histogram_of(x: torch.Tensor, **options: Any) -> Any:
    return tuple(torch.histogram(x, 5, **options))


def boxes_of(x: torch.Tensor, bins: Any, **options: Any) -> Any:
    counts, edges = torch.histogramdd(x, bins, **options)
    return counts, tuple(edges)


def boxes_between(x: torch.Tensor, *edges: torch.Tensor) -> torch.Tensor:
    return torch.histogramdd(x, [torch.sort(edge).values for edge in edges])[0]


def _segments() -> list[Sample]:
    x, lengths, other, others = array(6, 4), ints(3, low=2, high=3), array(8, 5), ints(4, low=2, high=3)
    return [
        *(
            Sample(segments, (x, lengths, kind), other=(other, others, kind))
            for kind in ("sum", "mean", "max", "min", "prod")
        ),
        *(Sample(segments, (x, lengths, kind), {"initial": 0.5}) for kind in ("sum", "mean", "max", "prod")),
        Sample(
            segments,
            (array(2, 6), ints(2, 3, low=2, high=3), "mean"),
            {"axis": 1},
            other=(array(3, 8), ints(3, 4, low=2, high=3), "mean"),
        ),
        *(Sample(with_an_empty_segment, (x, kind)) for kind in ("sum", "mean", "max", "min", "prod")),
    ]


def segments(x: torch.Tensor, lengths: torch.Tensor, kind: str, **options: Any) -> torch.Tensor:
    return torch.segment_reduce(x, kind, lengths=lengths, **options)


def with_an_empty_segment(x: torch.Tensor, kind: str) -> torch.Tensor:
    return torch.segment_reduce(x, kind, offsets=torch.tensor([0, 2, 2, 6]))


def _counting() -> list[Sample]:
    counts, later = ints(20, low=0, high=6), ints(33, low=0, high=9)
    return [
        Sample(torch.bincount, (counts,), other=(later,)),
        Sample(torch.bincount, (counts, array(20)), {"minlength": 9}, other=(later, array(33))),
        Sample(torch.bincount, (counts, ints(20)), other=(later, ints(33))),
        Sample(torch.bincount, (ints(0),)),
        Sample(torch.histc, (array(40),), {"bins": 7}, other=(array(55),)),
        Sample(torch.histc, (array(40),), {"bins": 7, "min": -1, "max": 1.5}, other=(array(59),)),
        Sample(torch.histc, (array(0),), {"bins": 3}),
        Sample(histogram_of, (array(40),), other=(array(55),)),
        Sample(histogram_of, (array(4, 10),), {"range": (-1.0, 1.0), "density": True}, other=(array(7, 9),)),
        Sample(boxes_of, (array(40, 2), [3, 4]), other=(array(55, 2), [3, 4])),
        Sample(
            boxes_of,
            (array(2, 20, 2), 3),
            {"range": (-1.0, 1.0, -0.5, 2.0), "density": True},
            other=(array(3, 9, 2), 3),
        ),
        Sample(boxes_of, (array(30, 1), 4), {"weight": array(30, kind="positive")}),
        Sample(boxes_between, (array(40, 2), array(4), array(3)), other=(array(55, 2), array(6), array(2))),
        Sample(
            histogram_over,
            (array(40), array(40, kind="positive")),
            other=(array(55), array(55, kind="positive")),
        ),
    ]


def _grid(count: int) -> Array:
    return Array((count,), "float32", "distinct")


def _correlation() -> list[Sample]:
    x, other = array(3, 20), array(4, 31)
    frequencies = ints(20, low=1, high=4)
    return [
        Sample(torch.cov, (x,), other=(other,)),
        Sample(torch.cov, (x,), {"correction": 0}, other=(other,)),
        Sample(torch.cov, (array(9),), other=(array(5),)),
        Sample(torch.cov, (ints(3, 8),)),
        Sample(torch.cov, (x,), {"fweights": frequencies, "aweights": array(20, kind="positive")}),
        Sample(torch.cov, (array(3, 9, dtype="complex64"),)),
        Sample(
            torch.cov,
            (array(3, 9),),
            {"aweights": array(9, kind="positive", dtype="float64")},
            name="cov-wider-weights",
        ),
        Sample(torch.corrcoef, (x,), other=(other,)),
        Sample(torch.corrcoef, (array(9),)),
        Sample(torch.corrcoef, (array(1, 9),), other=(array(1, 5),)),
        Sample(torch.cov, (array(1, 9),), other=(array(1, 5),)),
        *(
            Sample(torch.gradient, (array(4, 5),), {"edge_order": order}, other=(array(3, 6),))
            for order in (1, 2)
        ),
        Sample(torch.gradient, (array(4, 5),), {"spacing": None, "dim": 1}),
        Sample(torch.gradient, (array(4, 5),), {"spacing": 0.5, "dim": 1}, other=(array(3, 6),)),
        Sample(torch.gradient, (array(4, 5),), {"spacing": [2, 0.25], "dim": (0, 1)}),
        *(
            Sample(
                lambda x, a, b, order: torch.gradient(x, spacing=(a, b), edge_order=order),
                (array(4, 5), _grid(4), _grid(5), order),
                other=(array(3, 4), torch.tensor([0.0, 0.0, 2.0]), torch.tensor([1.0, 2.0, 2.0, 5.0]), order),
                name="gradient_at",
            )
            for order in (1, 2)
        ),
        Sample(torch.corrcoef, (ints(3, 8),)),
    ]


# ---------------------------------------------------------------------------------------- norms and distances
def _norms() -> list[Sample]:
    x, other = array(3, 4, 5), array(2, 6, 4)
    vector, matrix = torch.linalg.vector_norm, torch.linalg.matrix_norm
    samples = [
        Sample(vector, (x, order), {"dim": 1}, other=(other, order))
        for order in (0, 0.5, 1, 2, 3.5, -1, math.inf, -math.inf)
    ]
    samples += _over(
        (vector, torch.linalg.norm, torch.norm),
        x,
        other,
        {},
        {"keepdim": True},
        {"dim": -1},
        {"dim": (0, 2), "keepdim": True},
    )
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        samples.append(Sample(matrix, (x, order), other=(other, order)))
        samples.append(
            Sample(torch.linalg.norm, (x, order), {"dim": (2, 0), "keepdim": True}, other=(other, order))
        )
        samples.append(Sample(torch.linalg.norm, (array(4, 5), order), other=(array(6, 3), order)))
    return samples + [
        Sample(torch.linalg.norm, (array(5), 3), other=(array(8), 3)),
        Sample(torch.norm, (x, "nuc"), {"dim": (0, 1)}, other=(other, "nuc")),
        Sample(torch.norm, (x, 1, 1), other=(other, 1, 1)),
        Sample(torch.norm, (x, math.inf), other=(other, math.inf)),
        Sample(torch.Tensor.norm, (x,), {"p": 2, "dim": -1, "keepdim": True}, other=(other,)),
        Sample(torch.norm, (array(4, dtype="float16"),), {"dtype": torch.float32}),
        Sample(torch.norm, (array(),)),
        Sample(
            vector, (array(3, 4, dtype="complex64"),), {"dim": 0}, other=(array(2, 5, dtype="complex64"),)
        ),
        Sample(vector, (array(300, dtype="float16"),)),
        Sample(vector, (array(0),)),
        Sample(torch.renorm, (x, 2, 0, 1.0), other=(other, 2, 0, 1.0)),
        Sample(torch.renorm, (x, 1, -1, 2.5), other=(other, 1, -1, 2.5)),
        Sample(torch.renorm, (array(3, 4, dtype="complex64"), 2, 1, 1.0)),
    ]


def _distances() -> list[Sample]:
    x, y, other_x, other_y = array(3, 4), array(5, 4), array(2, 6), array(7, 6)
    unknown = torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, math.nan, 4.0]])
    samples = [
        Sample(torch.cdist, (x, y, p), other=(other_x, other_y, p)) for p in (0.0, 1.0, 2.0, 2.5, math.inf)
    ]
    samples += [
        Sample(torch.dist, (x, array(4), p), other=(other_x, array(6), p)) for p in (0, 1, 2, 3.5, math.inf)
    ]
    samples += [Sample(F.pdist, (y, p), other=(other_y, p)) for p in (0.0, 1.0, 2.0, math.inf)]
    return samples + [
        Sample(torch.cdist, (array(2, 1, 3, 4), array(6, 5, 4)), other=(array(3, 1, 2, 5), array(2, 3, 5))),
        Sample(torch.cdist, (array(30, 4), array(30, 4)), {"compute_mode": "use_mm_for_euclid_dist"}),
        Sample(torch.cdist, (array(3, 0), array(2, 0))),
        Sample(torch.dist, (ints(4), array(4))),
        Sample(F.cosine_similarity, (x, array(3, 4)), other=(other_x, array(2, 6))),
        Sample(
            F.cosine_similarity,
            (array(3, 1, 4), array(5, 4)),
            {"dim": -1, "eps": 1e-3},
            other=(array(2, 1, 3), array(6, 3)),
        ),
        Sample(torch.cosine_similarity, (array(3, 4), ints(3, 4))),
        Sample(torch.cosine_similarity, (array(), array()), {"dim": 0}),
        Sample(F.pairwise_distance, (x, array(3, 4)), other=(other_x, array(2, 6))),
        Sample(F.pairwise_distance, (x, array(4)), {"p": 1.0, "keepdim": True}, other=(other_x, array(6))),
        Sample(F.pairwise_distance, (array(4), array(4))),
        Sample(torch.cdist, (unknown, y, 0.0)),
        Sample(F.pdist, (unknown, 0.0)),
    ]


SAMPLES: list[Sample] = [
    *_sums(), *_moments(), *_extremes(), *_truth(), *_order(), *_running(), *_counting(), *_segments(), *_correlation(), *_norms(),
    *_distances(),
]  # fmt: skip

ERRORS: list[ErrorSample] = [
    ErrorSample(torch.logcumsumexp, (array(3, dtype="complex64"), 0), {}, Exception, "phase"),
]
