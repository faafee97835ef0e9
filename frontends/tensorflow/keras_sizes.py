"""Code of Keras that goes another way where it knows no size: it gets the numbers that it has eagerly, as symbols.

Other code of Keras, and TensorFlow's, hears that sizes of a traced tensor are not known, and computes with ``tf.shape``.
"""

from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf

# It goes through as many steps as there are samples where the number of steps is unknown.
_THROUGH_TIME = "keras.src.layers.rnn.time_distributed."
_MODULES = ("keras.src.backend.tensorflow.", "keras.src.layers.preprocessing.", _THROUGH_TIME)
_OTHERS = frozenset({("keras.src.backend.tensorflow.numpy", "add")})  # of these modules: it only looks for a bias, by sets of sizes


def wants_numbers(depth: int) -> bool:
    """Whether such code asks, ``depth`` frames above the caller."""
    module, function = _asking(depth + 1)
    return module.startswith(_MODULES) and (module.removesuffix("."), function) not in _OTHERS


def inside(traced: Any, depth: int) -> Any:
    """The shape of a tensor in a ``tf.function``, which may have to be known where it is asked for, ``depth`` frames above the caller."""
    return NeededShape(traced) if _asking(depth + 1)[0] == _THROUGH_TIME else traced


class NeededShape(tf.TensorShape):
    """A shape whose unknown sizes are errors, which sizes of the arguments that are fixed avoid."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if found is None:
            raise RuntimeError(f"a layer of Keras needs the number of axis {key}, which is unknown in a tf.function")
        return found


def _asking(depth: int) -> tuple[str, str]:
    frame = sys._getframe(depth + 1)
    return f"{frame.f_globals.get('__name__', '')}.", frame.f_code.co_name
