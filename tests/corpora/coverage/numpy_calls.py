"""Corpus of calls of NumPy functions, compared with NumPy at the recorded sizes and at others."""

from __future__ import annotations

import warnings
from typing import Any


def names() -> list[str]:
    from tests.frontends.numpy.test_samples import SAMPLES

    return list(SAMPLES)


def judge(name: str, target: str) -> dict[str, Any]:
    """Check a sample as ``tests/frontends/numpy/test_samples.py`` does. For the target NumPy, lift and lower
    the calls.
    """
    from tests.frontends.numpy.test_samples import SAMPLES, check

    with warnings.catch_warnings():
        # NumPy warns of NaN and of division by zero.
        warnings.simplefilter("ignore", RuntimeWarning)
        check(SAMPLES[name], "canonical" if target == "numpy" else target)
    return {}
