"""Helpers that generated TensorFlow source uses; each is copied into the source that needs it, one file a
section here.

They are ordinary functions over arrays: no import of this package, only ``tf``, ``np``, ``math`` and
``itertools``.
"""

from ...common import positions, prefixes, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.hand_out(__name__, airy, positions, prefixes, temme)
