"""Helpers that generated JAX source uses; each is copied into the source that needs it, one file a section here.

They are ordinary functions over arrays: no import of this package, only ``jax``, ``jnp``, ``lax``, ``np`` and ``math``.
"""

from ... import airy, positions, preludes, temme

preludes.hand_out(__name__, airy, positions, temme)
