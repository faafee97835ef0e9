"""What TensorFlow as a target cannot do."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}

_NO_KERNEL = "TensorFlow has no kernel for this type, and says so"
DTYPES = {
    ("recurrent-rnn_relu-{}", "int8"): _NO_KERNEL,
    ("recurrent-rnn_relu-{}", "int16"): _NO_KERNEL,
}
