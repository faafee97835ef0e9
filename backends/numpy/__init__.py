"""NumPy as a target: canonical operations in ``numpy``, or in ``scipy`` for functions that NumPy lacks.

NumPy has no compiler and no derivatives, so graphs run operation by operation.
"""

from __future__ import annotations

import numpy as np

from ...contracts.modules import calls_at_first_use
from ...errors import FrameworkNotInstalled
from . import prelude as prelude
from .dialect import NumpyDialect, dtype_text
from .lowering import rows as rows
from .native import copy_overwritable_values as copy_overwritable_values
from .native import target as target

# From NumPy 2 on, Python numbers adopt the dtype of arrays (NEP 50), as in other frameworks.
if int(np.__version__.partition(".")[0]) < 2:
    raise FrameworkNotInstalled(
        f"graphs for numpy need numpy 2 or newer, and {np.__version__} is installed; install it with: pip "
        "install 'numpy>=2'"
    )

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
as_module = calls_at_first_use(__name__, "module:as_module")


# NumPy has no derivatives, runs on one device, and so cannot train.
def derivatives() -> None: ...


def parallelism() -> None: ...


def training_engine() -> None: ...
