"""Helper functions that generated torch source uses.

Generated source contains a copy of each helper that it calls. So a helper may use other helpers, and only
those imported names that the source may import or define, too, such as ``torch``, ``F`` and ``math``.
"""

from ...common import prefixes, preludes

preludes.collect_helpers(__name__, prefixes)
