"""Samples that a target refuses, those that are recorded again at other sizes, and those whose gradients are not compared."""

from __future__ import annotations

UNSUPPORTED: dict[tuple[str, str], tuple[type[BaseException], str]] = {}

RECORDED_AGAIN: set[str] = set()

_NOT_EXACT = (
    "images-CropAndResize-nearest-3",
    "images-CropAndResize-nearest-1",
    "elementwise-SoftmaxCrossEntropyWithLogits-broadcast",
    "windows-DepthwiseConv2dNative-1-SAME-2",
)  # in TensorFlow itself

WITHOUT_GRADIENTS: set[str] = set()  # TensorFlow has no gradient

OTHER_GRADIENTS: set[tuple[str, str]] = {
    *((name, to) for name in _NOT_EXACT for to in ("torch", "jax")),
    ("images-CropAndResize-bilinear-3", "jax"),  # at a position that is an element
    ("linear_algebra-Eig", "jax"),  # refuses
    ("elementwise-NextAfter", "jax"),  # refuses
    ("elementwise-NextAfter-scalar", "jax"),
}
