"""Samples that a target refuses, those that are recorded again at other sizes, and those whose gradients are not compared."""

from __future__ import annotations

UNSUPPORTED: dict[tuple[str, str], tuple[type[BaseException], str]] = {}

RECORDED_AGAIN: set[str] = set()

_NOT_EXACT = ("elementwise-SoftmaxCrossEntropyWithLogits-broadcast", "windows-DepthwiseConv2dNative-1-SAME-2")  # in TensorFlow itself

WITHOUT_GRADIENTS: set[str] = set()

OTHER_GRADIENTS: set[tuple[str, str]] = {
    *((name, to) for name in _NOT_EXACT for to in ("torch", "jax")),
    ("elementwise-NextAfter", "jax"),  # refuses
    ("elementwise-NextAfter-scalar", "jax"),
}
