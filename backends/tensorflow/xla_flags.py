"""XLA as TensorFlow compiles with it in this process, and whether it computes what TensorFlow's kernels do."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

_VARIABLE = "XLA_FLAGS"
# Both are true by default: one leaves NaN out of maxima on a CPU, the other leaves out casts to half precision between two operations.
_FLAGS = ("xla_cpu_enable_fast_min_max", "xla_allow_excess_precision")


@functools.cache
def why_not_exact() -> str:
    """Return why compiled functions would return other numbers than TensorFlow's kernels; empty if they do not.

    TensorFlow reads ``XLA_FLAGS`` when it first compiles in a process, so the flags are set around that compilation. Where
    something else was compiled before, without them, they have no effect.
    """
    with tf.init_scope(), _flags_set():
        maximum, rounded = tf.function(_probe, jit_compile=True, autograph=False)(tf.constant([np.nan, 0.1]), tf.constant([1.0, np.nan]))
    kept = {
        "NaN in maxima": np.isnan(maximum.numpy()).all(),
        "casts to half precision": rounded.numpy()[1] == np.float32(np.float16(0.1)),
    }
    lost = " and ".join(what for what, is_kept in kept.items() if not is_kept)
    return f"XLA, which this process has used before, leaves out {lost}: set XLA_FLAGS from the start" if lost else ""


def _probe(x: Any, y: Any) -> Any:
    return tf.maximum(x, y), tf.cast(tf.cast(x, tf.float16), tf.float32)


@contextmanager
def _flags_set() -> Iterator[None]:
    before = os.environ.get(_VARIABLE)
    more = [f"--{flag}=false" for flag in _known() if flag not in (before or "")]
    if more:
        os.environ[_VARIABLE] = " ".join([*([before] if before else []), *more])
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before


def _known() -> list[str]:
    """Return the flags that TensorFlow's XLA has: it ends the process at flags that it does not know."""
    header = Path(tf.sysconfig.get_include(), "xla", "xla.pb.h")
    text = header.read_text(errors="replace") if header.is_file() else ""
    return [flag for flag in _FLAGS if f" {flag}(" in text]
