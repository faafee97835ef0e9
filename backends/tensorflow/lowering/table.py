"""The table of rows that the other files of this package fill."""

from ...common.helper_calls import rows as helper_calls
from ...common.rows import Rows
from ..compute_dtypes import compute_dtype

UNSUPPORTED: dict[str, str] = {}
"""Operations that TensorFlow cannot compute, with the reason."""

CHANNELS_LAST = ("conv", "conv_transpose", "max_pool", "avg_pool")
"""Operations whose CPU kernels in TensorFlow support only the channels-last layout."""

rows = Rows("tensorflow", channels_last=CHANNELS_LAST, unrolls=64, compute_dtype=compute_dtype)
rows.include(
    helper_calls,
    without=("scaled_dot_product_attention", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
)
