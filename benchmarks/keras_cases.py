"""The Keras models that are measured.

They run on any backend of Keras, which all read their weights from one file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

VOCABULARY, TOKENS, WIDTH, HEADS, LAYERS = 8000, 128, 512, 8, 6


def _keras() -> Any:
    # Keras chooses its backend when it is imported, so this is done as late as possible.
    return importlib.import_module("keras")


def _resnet() -> Any:
    return _keras().applications.ResNet50(weights=None)


def _efficientnet() -> Any:
    return _keras().applications.EfficientNetB0(weights=None)


def _bert() -> Any:
    """Build a BERT classifier of two classes from Keras layers.

    Its inputs are tokens, positions, and a mask of the valid tokens.
    """
    keras = _keras()
    layers = keras.layers
    tokens, places, counts = (
        keras.Input((None,), dtype="int32"),
        keras.Input((None,), dtype="int32"),
        keras.Input((None,), dtype="bool"),
    )
    x = layers.LayerNormalization()(
        layers.Embedding(VOCABULARY, WIDTH)(tokens) + layers.Embedding(TOKENS, WIDTH)(places)
    )
    for _ in range(LAYERS):
        attended = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(
            x, x, attention_mask=keras.ops.expand_dims(counts, 1)
        )
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(attended))
        wide = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(wide))
    return keras.Model([tokens, places, counts], layers.Dense(2)(x[:, 0]))


CASES: dict[str, Callable[[], Any]] = {
    "Keras ResNet-50": _resnet,
    "Keras EfficientNet-B0": _efficientnet,
    "Keras BERT, 6 layers": _bert,
}


def arrays(case: str) -> list[Any]:
    """Return the inputs of one call as NumPy arrays."""
    numpy = importlib.import_module("numpy")
    random = numpy.random.default_rng(0)
    if CASES[case] is not _bert:
        return [random.uniform(0, 1 if CASES[case] is _resnet else 255, (1, 224, 224, 3)).astype("float32")]
    places = numpy.arange(TOKENS, dtype="int32")[None]
    return [
        random.integers(0, VOCABULARY, (1, TOKENS)).astype("int32"),
        places,
        numpy.ones((1, TOKENS), bool),
    ]
