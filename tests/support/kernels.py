"""Calls of TensorFlow functions for which TensorFlow may have no kernel on this processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from graph_compiler.frontends.tensorflow.evaluation import MISSING, is_missing


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``, compiled by XLA if TensorFlow reports that it has no kernel for
    it.
    """
    try:
        return function(*args, **kwargs)
    except MISSING as problem:
        if not is_missing(problem):
            raise
    return tf.function(lambda *args: function(*args, **kwargs), jit_compile=True, autograph=False)(*args)
