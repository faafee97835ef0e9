"""What numpy as a target cannot do."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}

DTYPES = {("elementwise-Tensor.logaddexp 0-d", "complex128"): "numpy.logaddexp takes no complex numbers, and says so"}
