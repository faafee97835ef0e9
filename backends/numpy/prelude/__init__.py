"""Helpers that generated numpy source uses; each is copied into the source that needs it, one file a section
here.

They are ordinary functions over arrays: no import of this package, only ``np``, ``math``, ``reduce``,
``sliding_window_view`` and ``scipy.special``. Half precision never reaches them, nor do they write to their
arguments.
"""

import numpy as np

from ... import array_code
from ...common import positions, prefixes, preludes

preludes.hand_out(
    __name__, positions, prefixes, *array_code.FILES, xp=np, spelled={"xp": "np", "Array": "np.ndarray"}
)
