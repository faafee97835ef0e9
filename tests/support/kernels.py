"""Calls of TensorFlow's functions on any processor: which kernels TensorFlow has depends on it, and XLA has
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from graph_compiler.frontends.tensorflow.evaluation import MISSING, is_missing


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``, compiled by XLA if TensorFlow says that it has no kernel for
    something in it.
    """
    try:
        return function(*args, **kwargs)
    except MISSING as problem:
        if not is_missing(problem):
            raise
    return tf.function(lambda *args: function(*args, **kwargs), jit_compile=True, autograph=False)(*args)
