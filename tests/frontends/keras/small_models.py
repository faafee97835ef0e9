"""Small Keras models of images, sequences and tokens, built under the current dtype policy and data format."""

from __future__ import annotations

from typing import Any

import keras

L = keras.layers


def residual(data_format: str = "channels_last") -> Any:
    axis = -1 if data_format == "channels_last" else 1
    images = keras.Input((8, 8, 3) if axis == -1 else (3, 8, 8))
    options = {"padding": "same", "data_format": data_format}
    x = L.ReLU()(
        L.BatchNormalization(axis=axis, name="first_norm")(L.Conv2D(4, 3, name="first", **options)(images))
    )
    y = L.BatchNormalization(axis=axis)(L.Conv2D(4, 1, **options)(L.DepthwiseConv2D(3, **options)(x)))
    x = L.MaxPooling2D(2, data_format=data_format)(L.Add()([x, y]))
    x = L.ZeroPadding2D(1, data_format=data_format)(L.SeparableConv2D(6, 3, activation="swish", **options)(x))
    x = L.Conv2DTranspose(5, 2, strides=2, **options)(x)
    return keras.Model(images, L.Dense(5, name="head")(L.GlobalAveragePooling2D(data_format=data_format)(x)))


def attention() -> Any:
    given = keras.Input((6, 8))
    x = L.LayerNormalization()(given + L.MultiHeadAttention(2, 4, name="attended")(given, given))
    wide = L.Dense(16, activation="gelu", name="wide")(x)
    return keras.Model(given, L.Dense(3, name="head")(L.LayerNormalization()(x + L.Dense(8)(wide))[:, 0]))


def recurrent() -> Any:
    given = keras.Input((6, 8))
    x = L.GRU(5, name="second")(L.Bidirectional(L.LSTM(4, return_sequences=True))(given))
    return keras.Model(given, L.Dense(3, name="head")(x))
