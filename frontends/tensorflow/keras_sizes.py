"""Code that goes another way where it knows no size: Keras' gets the numbers that it has eagerly, as symbols, and what a ``tf.function``
inside asks has to be known.

Other code of Keras, and TensorFlow's, hears that sizes of a traced tensor are not known, and computes with ``tf.shape``.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

from .folders import PACKAGES
from .shapes import NeededShape

# It goes through as many steps as there are samples where the number of steps is unknown.
_THROUGH_TIME = "keras.src.layers.rnn.time_distributed."
_MODULES = ("keras.src.backend.tensorflow.", "keras.src.layers.preprocessing.", _THROUGH_TIME)
_CALL, _CONCRETE = (inspect.unwrap(method).__code__ for method in (Function.__call__, Function.get_concrete_function))
_OTHERS = frozenset({("keras.src.backend.tensorflow.numpy", "add")})  # of these modules: it only looks for a bias, by sets of sizes


def wants_numbers(depth: int) -> bool:
    """Whether such code asks, ``depth`` frames above the caller."""
    module, function = _asking(depth + 1)
    return module.startswith(_MODULES) and (module.removesuffix("."), function) not in _OTHERS


def inside(traced: Any, depth: int) -> Any:
    """The shape of a tensor in a ``tf.function``, which may have to be known where it is asked for, ``depth`` frames above the caller."""
    module = _asking(depth + 1)[0]
    is_needed = module == _THROUGH_TIME or not module.startswith(PACKAGES) and not _has_signature(sys._getframe(depth + 1))
    return NeededShape(traced) if is_needed else traced


def _has_signature(frame: FrameType | None) -> bool:
    """Whether the ``tf.function`` that is being traced says itself which sizes are unknown."""
    while frame is not None:
        if frame.f_code in (_CALL, _CONCRETE):
            return frame.f_code is _CONCRETE or frame.f_locals["self"].input_signature is not None
        frame = frame.f_back
    return False


def _asking(depth: int) -> tuple[str, str]:
    frame = sys._getframe(depth + 1)
    return f"{frame.f_globals.get('__name__', '')}.", frame.f_code.co_name
