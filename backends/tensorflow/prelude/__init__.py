"""Helper functions that generated TensorFlow source uses.

Generated source contains a copy of each helper that it calls. A helper may use other helpers, and names that
generated source imports or defines, such as ``tf``, ``np`` and ``math``.
"""

from ...common import positions, prefixes, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.collect_helpers(__name__, airy, positions, prefixes, temme)
