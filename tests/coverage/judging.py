"""When a target's result counts as right: as the table of tolerances says, or no further from float64 than torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from ..support.compare import arrays, assert_no_further, assert_same, assert_same_structure, dtype_name, expected_dtype, to_numpy


def assert_right(actual: Any, expected: Any, exact: Callable[[], Any]) -> None:
    """``exact()`` gives the same in float64; it is asked only where the table of tolerances does not hold."""
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
    """The same structure, dtypes and shapes: all that can be said where memory is not initialised."""
    assert_same_structure(actual, expected)
    found = arrays(actual)
    for path, array in arrays(expected).items():
        got = found[path]
        assert tuple(got.shape) == tuple(array.shape), f"shape {tuple(got.shape)}, expected {tuple(array.shape)}"
        assert dtype_name(got) == expected_dtype(got, array), f"dtype {dtype_name(got)}, expected {dtype_name(array)}"


def assert_same_distribution(draw: Callable[[], Any], draw_expected: Callable[[], Any], times: int = 40, least: float = 1e-5) -> None:
    """Two-sample Kolmogorov-Smirnov tests of all elements of each array, over some draws; draws must differ where torch's do."""
    drawn, expected = [draw() for _ in range(times)], [draw_expected() for _ in range(times)]
    assert_metadata(drawn[0], expected[0])
    for path in arrays(expected[0]):
        got, wanted = (np.stack([to_numpy(arrays(one)[path]) for one in many]) for many in (drawn, expected))
        if got[0].size:
            assert _varies(got) == _varies(wanted), "every draw is the same"
            assert scipy.stats.ks_2samp(_reals(got), _reals(wanted), method="asymp").pvalue > least, "another distribution"


def _varies(draws: np.ndarray[Any, Any]) -> bool:
    return bool((draws != draws[:1]).any())


def _reals(draws: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = draws.reshape(-1)
    return (np.concatenate([flat.real, flat.imag]) if np.iscomplexobj(flat) else flat).astype(np.float64)
