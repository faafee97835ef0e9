"""Helper functions that generated torch source uses.

Generated source contains a copy of each helper that it calls, so a helper imports only ``torch``, ``F``,
``math`` and other helpers.
"""

from ...common import prefixes, preludes

preludes.collect_helpers(__name__, prefixes)
