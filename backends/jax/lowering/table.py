"""The table of rows that the other files of this package fill."""

from ...common.rows import Rows

UNSUPPORTED: dict[str, str] = {}
"""Operation -> why JAX cannot have it; strict, see docs/support.md."""

CHANNELS_LAST = ("conv", "conv_transpose")
"""XLA for CPU convolves in this layout, and transposes arrays in another one before and after."""

rows = Rows("jax", UNSUPPORTED, CHANNELS_LAST, bounded=True, stacks=True, forward_while=True)
