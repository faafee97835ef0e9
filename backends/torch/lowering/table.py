"""The table of rows that the other files of this package fill."""

from ..compute_dtypes import TorchRows

UNSUPPORTED: dict[str, str] = {}
"""Operations that torch cannot compute, with the reason; see docs/support.md."""

CHANNELS_FIRST = ("conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_avg_pool", "interpolate")

rows = TorchRows("torch", UNSUPPORTED, channels_first=CHANNELS_FIRST, counts=True, rolls=4)
