"""Code of Keras that goes another way where it knows no size: it gets the numbers that it has eagerly, as symbols.

Other code of Keras, and TensorFlow's, hears that sizes of a traced tensor are not known, and computes with ``tf.shape``.
"""

from __future__ import annotations

import sys

_MODULES = ("keras.src.backend.tensorflow.", "keras.src.layers.preprocessing.", "keras.src.layers.rnn.time_distributed.")
_OTHERS = frozenset({("keras.src.backend.tensorflow.numpy", "add")})  # of these modules: it only looks for a bias, by sets of sizes


def wants_numbers(depth: int) -> bool:
    """Whether such code asks, ``depth`` frames above the caller."""
    frame = sys._getframe(depth + 1)
    module = frame.f_globals.get("__name__", "")
    return f"{module}.".startswith(_MODULES) and (module, frame.f_code.co_name) not in _OTHERS
