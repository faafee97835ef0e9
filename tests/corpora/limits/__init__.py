"""What each target cannot do, as data with reasons.

``SAMPLES`` maps the id of a sample (as pytest prints it, without the target) to the reason, ``DTYPES``
(id, dtype) of a call of ``tests/corpora/test_dtypes.py``. The lists are strict: a listed sample that works
fails the tests, and it must raise an error that says what is missing, never return another number.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

TARGETS = ("jax", "numpy", "tensorflow", "torch")


def unsupported_samples(target: str) -> Mapping[str, str]:
    """Map the id of each sample that the target does not support to the reason."""
    found: Mapping[str, str] = importlib.import_module(f"{__name__}.{target}").SAMPLES
    return found


def unsupported_dtypes(target: str) -> Mapping[tuple[str, str], str]:
    """Map (sample id, dtype) of each call that the target does not support to the reason."""
    return {**UNRAISED_DTYPES, **getattr(importlib.import_module(f"{__name__}.{target}"), "DTYPES", {})}


_COMPLEX_HALF = "complex32 is no type of the vocabulary"
_POWERS = "torch averages the powers of integers in integers"
UNRAISED_DTYPES = {
    ("creation-complex", "float16"): _COMPLEX_HALF,
    ("creation-view_as_complex", "float16"): _COMPLEX_HALF,
    ("pooling-lp_pool1d", "int64"): _POWERS,
    ("pooling-lp_pool2d-stride=2-ceil_mode=True", "int32"): _POWERS,
    ("pooling-lp_pool2d-stride=2-ceil_mode=True", "int8"): _POWERS,
    ("pooling-lp_pool3d", "int64"): _POWERS,
    ("statistical-logcumsumexp-dim=0", "complex128"): "torch follows the phase of complex sums",
}
"""What no target can do, as it is refused on the way there."""
