"""Helpers that generated NumPy source uses, one file for each section of the vocabulary.

Each is copied into the source that needs it, so it imports nothing from this package: it uses only ``np``,
``math``, ``reduce``, ``sliding_window_view`` and ``scipy.special``. Arguments of generated calls are never
modified. Half-precision arrays are converted to float32 before they are passed to most helpers.
"""

import numpy as np

from ...common import array_code, positions, prefixes, preludes

preludes.collect_helpers(
    __name__, positions, prefixes, array_code, xp=np, spelled={"xp": "np", "Array": "np.ndarray"}
)
