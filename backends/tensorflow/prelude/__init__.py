"""Helper functions that generated TensorFlow source uses.

Generated source contains a copy of each helper that it calls, so a helper imports only ``tf``, ``np``,
``math``, ``itertools`` and other helpers.
"""

from ...common import positions, prefixes, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.collect_helpers(__name__, airy, positions, prefixes, temme)
