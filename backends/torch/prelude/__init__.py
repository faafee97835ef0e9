"""Helpers that generated torch source uses; each is copied into the source that needs it, one file a section
here.

They are ordinary functions over tensors: no import of this package, only ``torch``, ``F`` and ``math``.
"""

from ...common import prefixes, preludes

preludes.hand_out(__name__, prefixes)
