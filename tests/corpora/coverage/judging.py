"""Criteria by which a target's result counts as right: the table of tolerances, or an error no larger than
that of the source framework.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from tests.support.compare import (
    arrays,
    assert_no_further,
    assert_same,
    assert_same_structure,
    dtype_name,
    expected_dtype,
    to_numpy,
)


def assert_right(actual: Any, expected: Any, exact: Callable[[], Any]) -> None:
    """Assert that ``actual`` agrees with ``expected`` within the table of tolerances, or else has an error no
    larger than twice that of ``expected``.

    ``exact`` returns the result in float64 and is called only in the second case. If it raises or returns
    None, the first failure is raised.
    """
    try:
        assert_same(actual, expected)
    except AssertionError:
        assert_metadata(actual, expected)
        try:
            reference = exact()
        except Exception:
            reference = None
        if reference is None:
            raise
        assert_no_further(actual, expected, reference)


def assert_metadata(actual: Any, expected: Any) -> None:
    """Assert equal structure, dtypes and shapes. Nothing more can be said of uninitialised memory."""
    assert_same_structure(actual, expected)
    found = arrays(actual)
    for path, array in arrays(expected).items():
        got = found[path]
        assert tuple(got.shape) == tuple(array.shape), (
            f"shape {tuple(got.shape)}, expected {tuple(array.shape)}"
        )
        assert dtype_name(got) == expected_dtype(got, array), (
            f"dtype {dtype_name(got)}, expected {dtype_name(array)}"
        )


def assert_same_distribution(
    draw: Callable[[], Any], draw_expected: Callable[[], Any], times: int = 40, least: float = 1e-5
) -> None:
    """Assert by two-sample Kolmogorov-Smirnov tests that arrays of random numbers have the expected
    distribution.

    An array must vary from call to call if and only if the expected one does. Elements of one call may
    depend on each other (dropout of whole channels), which the test of all elements does not allow for. If
    that fails, eight elements are tested separately over ten times as many calls.
    """
    drawn, expected = _drawn(draw, times), _drawn(draw_expected, times)
    assert_metadata(drawn[1], expected[1])
    for path, got in drawn[0].items():
        assert _varies(got) == _varies(expected[0][path]), "every draw is the same"
    if all(_pvalue(got, expected[0][path]) > least for path, got in drawn[0].items()):
        return
    drawn, expected = _drawn(draw, 10 * times), _drawn(draw_expected, 10 * times)
    for path, got in drawn[0].items():
        flat, wanted = (draws.reshape(len(draws), -1) for draws in (got, expected[0][path]))
        for place in np.unique(np.linspace(0, flat.shape[1] - 1, 8).astype(int)):
            assert _pvalue(flat[:, place], wanted[:, place]) > least, "another distribution"


def _drawn(draw: Callable[[], Any], times: int) -> Any:
    """Return (path -> stacked results of ``times`` calls for each non-empty array, one result)."""
    draws = [draw() for _ in range(times)]
    stacked = {path: np.stack([to_numpy(arrays(one)[path]) for one in draws]) for path in arrays(draws[0])}
    return {path: array for path, array in stacked.items() if array[0].size}, draws[0]


def _pvalue(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> float:
    """Return the p-value after rounding, so that numbers that differ by rounding errors count as equal."""
    left, right = _reals(got), _reals(wanted)
    step = (
        np.abs(np.concatenate([left, right])[np.isfinite(np.concatenate([left, right]))]).max(initial=0.0)
        or 1.0
    ) * 1e-5
    return float(scipy.stats.ks_2samp(np.round(left / step), np.round(right / step), method="asymp").pvalue)


def _varies(draws: np.ndarray[Any, Any]) -> bool:
    return bool((draws != draws[:1]).any())


def _reals(draws: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = draws.reshape(-1)
    return (np.concatenate([flat.real, flat.imag]) if np.iscomplexobj(flat) else flat).astype(np.float64)
