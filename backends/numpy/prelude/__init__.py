"""Helper functions that generated NumPy source uses, one file for each section of the operations.

Generated source contains a copy of each helper that it calls. So a helper uses other helpers, and imported
names only if the source may import them, too (``np``, ``math``, ``reduce``, ``sliding_window_view``,
``scipy.special``). Arguments of generated calls are never modified. Half-precision arrays are converted to
float32 before they are passed to most helpers.
"""

import numpy as np

from ...common import array_code, positions, prefixes, preludes

preludes.collect_helpers(
    __name__, positions, prefixes, array_code, xp=np, spelled={"xp": "np", "Array": "np.ndarray"}
)
