"""Helper functions that generated torch source uses.

Generated source contains a copy of each helper that it calls. So a helper uses other helpers, and imported
names only if the source may import them, too (``torch``, ``F``, ``math``).
"""

from ...common import prefixes, preludes

preludes.collect_helpers(__name__, prefixes)
