"""NumPy as a target: canonical operations written in ``numpy``, and ``scipy.special`` where numpy has no such function.

There is no compiler and no differentiation: a graph runs as it is written, one array function after the other.
"""

from __future__ import annotations

from . import prelude as prelude
from .dialect import NumpyDialect, dtype_text
from .lowering import rows as rows
from .memory import own_results as own_results
from .native import target as target

name = "numpy"
imports = {
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "linalg": "from scipy import linalg",
    "ml_dtypes": "import ml_dtypes",
    "np": "import numpy as np",
    "reduce": "from functools import reduce",
    "sliding_window_view": "from numpy.lib.stride_tricks import sliding_window_view",
    "special": "from scipy import special",
}
dialect = NumpyDialect(rows, imports, prelude, dtype_text)
