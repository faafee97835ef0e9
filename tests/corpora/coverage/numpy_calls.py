"""Calls of NumPy functions: what each gives in a target, recorded at some sizes, is what NumPy gives at these
and at others.
"""

from __future__ import annotations

import warnings
from typing import Any


def names() -> list[str]:
    """The samples of NumPy."""
    from tests.frontends.numpy.test_samples import SAMPLES

    return list(SAMPLES)


def judge(name: str, target: str) -> dict[str, Any]:
    """As the tests of the samples do; from NumPy to NumPy through the operations of the vocabulary."""
    from tests.frontends.numpy.test_samples import SAMPLES, check

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's own, of NaN and of division by zero
        check(SAMPLES[name], "canonical" if target == "numpy" else target)
    return {}
