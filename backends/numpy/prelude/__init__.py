"""Helper functions that generated NumPy source uses.

Generated source contains a copy of each helper that it calls. Helpers may use each other, and imported names
that the source may import, too, such as ``np``, ``math`` and ``special`` of scipy.
"""

import numpy as np

from ...common import array_code, positions, prefixes, preludes

# Helpers do not modify arguments of generated calls. Half-precision arrays are converted to float32 before
# they are passed to most helpers.
preludes.collect_helpers(
    __name__, positions, prefixes, array_code, xp=np, spelled={"xp": "np", "Array": "np.ndarray"}
)
