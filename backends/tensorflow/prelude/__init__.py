"""Helpers that generated TensorFlow source uses; each is copied into the source that needs it, one file a section here.

They are ordinary functions over arrays: no import of this package, only ``tf``, ``np``, ``math`` and ``itertools``.
"""

from ... import airy, positions, prefixes, preludes, temme

preludes.hand_out(__name__, airy, positions, prefixes, temme)
