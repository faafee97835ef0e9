"""Keras layers and small models, with the shapes of the recorded call and of another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

L = keras.layers
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A layer or model and its shapes.

    make: returns a callable of arrays with the given shapes.
    shapes, others: shapes of the recorded call and of another one.
    most: if not 0, the arguments are integers below it.
    """

    make: Callable[[], Any]
    shapes: tuple[Shape, ...]
    others: tuple[Shape, ...]
    most: int = 0

    def arrays(self, other: bool = False) -> list[Any]:
        random = np.random.default_rng(3)
        shapes = self.others if other else self.shapes
        drawn = (
            random.integers(0, self.most, shape) if self.most else random.standard_normal(shape)
            for shape in shapes
        )
        return [tf.constant(array.astype("int32" if self.most else "float32")) for array in drawn]


def called_twice() -> Any:
    attention = L.MultiHeadAttention(2, 4)
    return lambda query, value: attention(query, value) + attention(query, value, value)


def causal() -> Any:
    attention = L.MultiHeadAttention(2, 4)
    return lambda x: attention(x, x, use_causal_mask=True)


def residual() -> Any:
    image = keras.Input((None, None, 3))
    x = L.ReLU()(L.BatchNormalization()(L.Conv2D(8, 3, padding="same", use_bias=False)(image)))
    x = L.Add()([x, L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(x))])
    x = L.GlobalAveragePooling2D()(L.MaxPooling2D()(x))
    return keras.Model(image, L.Dense(5, activation="softmax")(x))


def translator() -> Any:
    return keras.Sequential(
        [
            L.Embedding(10, 6, mask_zero=True),
            L.LSTM(5, return_sequences=True),
            L.LayerNormalization(),
            L.Dense(3),
        ]
    )


IMAGES = ((2, 8, 8, 3),), ((3, 9, 7, 3),)
SEQUENCES = ((2, 5, 3),), ((3, 7, 3),)
CASES: dict[str, Case] = {
    "dense": Case(lambda: L.Dense(4, activation="gelu"), ((2, 3),), ((5, 3),)),
    "dense of sequences": Case(lambda: L.Dense(4, activation="silu"), *SEQUENCES),
    "convolution": Case(lambda: L.Conv2D(4, 3, strides=2, padding="same"), *IMAGES),
    "convolution in time": Case(lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2), *SEQUENCES),
    "transposed convolution": Case(lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same"), *IMAGES),
    "depthwise convolution": Case(lambda: L.DepthwiseConv2D(3), *IMAGES),
    "separable convolution": Case(lambda: L.SeparableConv2D(4, 3), *IMAGES),
    "batch normalisation": Case(L.BatchNormalization, ((4, 3),), ((5, 3),)),
    "layer normalisation": Case(L.LayerNormalization, *SEQUENCES),
    "layer normalisation over two axes": Case(
        lambda: L.LayerNormalization(axis=(1, 2)), ((2, 5, 3),), ((4, 5, 3),)
    ),
    "group normalisation": Case(lambda: L.GroupNormalization(3), *IMAGES),
    "embedding": Case(lambda: L.Embedding(10, 4), ((2, 5),), ((3, 4),), most=10),
    "lstm": Case(lambda: L.LSTM(4), *SEQUENCES),
    "lstm backwards": Case(
        lambda: L.LSTM(4, return_sequences=True, return_state=True, go_backwards=True), *SEQUENCES
    ),
    "gru": Case(lambda: L.GRU(4), *SEQUENCES),
    "recurrence": Case(lambda: L.SimpleRNN(4, return_sequences=True), *SEQUENCES),
    "both directions": Case(lambda: L.Bidirectional(L.LSTM(4)), *SEQUENCES),
    "attention": Case(called_twice, ((2, 5, 8), (2, 6, 8)), ((3, 4, 8), (3, 7, 8))),
    "causal attention": Case(causal, ((2, 5, 8),), ((3, 4, 8),)),
    "pooling": Case(lambda: L.AveragePooling2D(2, padding="same"), *IMAGES),
    "upsampling": Case(lambda: L.UpSampling2D(interpolation="bilinear"), *IMAGES),
    "flatten": Case(L.Flatten, *SEQUENCES),
    "dropout": Case(lambda: L.Dropout(0.5), *SEQUENCES),
    "residual network": Case(residual, *IMAGES),
    "pooling to one window": Case(lambda: L.AdaptiveAveragePooling2D(1), ((2, 8, 7, 3),), ((3, 8, 7, 3),)),
    "resized integers": Case(lambda: L.Resizing(4, 2), ((2, 8, 8, 3),), ((3, 16, 4, 3),), most=10),
    "squeezed": Case(lambda: lambda x: keras.ops.squeeze(x[:, :1], 1), *SEQUENCES),
    "sparsemax": Case(lambda: L.Activation("sparsemax"), *SEQUENCES),
    "masked sequences": Case(translator, ((2, 5),), ((3, 4),), most=10),
}
