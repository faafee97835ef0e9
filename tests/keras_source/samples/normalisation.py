"""Samples of normalisation, in training too."""

from __future__ import annotations

import keras

from ..layer_sample import Array, samples
from .core import BOTH, ROWS, SEQUENCES

L = keras.layers
IMAGES = (Array((2, 4, 5, 6), (3, 5, 3, 6)),)
MASKED = (*SEQUENCES, Array((2, 5), (3, 7), dtype="bool"))

SAMPLES = [
    *samples(
        "BatchNormalization",
        ROWS,
        {},
        {"center": False, "momentum": 0.7},
        {"scale": False, "epsilon": 0.01},
        {"dtype": "float64"},
        training=BOTH,
    ),
    *samples("BatchNormalization", IMAGES, {}, {"dtype": "mixed_bfloat16"}, {"dtype": "mixed_float16"}, training=BOTH),
    *samples("BatchNormalization", (Array((2, 6, 4, 5), (3, 6, 5, 3)),), {"axis": 1}, training=BOTH),
    *samples("BatchNormalization", ROWS, {"renorm": True}, training=BOTH),
    *(
        row
        for mode in BOTH
        for row in samples(
            "BatchNormalization",
            MASKED,
            {},
            call=lambda layer, x, mask, mode=mode, **given: layer(x, mask=mask, training=mode),
            masked=mode,
        )
    ),
    *samples(
        "LayerNormalization", SEQUENCES, {}, {"axis": -1, "center": False, "scale": False}, {"epsilon": 0.1, "dtype": "mixed_float16"}
    ),
    *samples("LayerNormalization", (Array((2, 5, 6), (3, 5, 6)),), {"axis": (1, 2)}, {"axis": 1}),
    *samples("RMSNormalization", SEQUENCES, {}, {"epsilon": 0.1}, {"dtype": "mixed_bfloat16"}),
    *samples("GroupNormalization", IMAGES, {"groups": 3}, {"groups": -1}, {"groups": 1, "center": False}, {"groups": 6, "scale": False}),
    *samples("GroupNormalization", (Array((2, 6, 4, 5), (3, 6, 5, 3)),), {"groups": 2, "axis": 1}),
    *samples("UnitNormalization", SEQUENCES, {}, {"axis": 1}, {"axis": (1, 2)}),
    *samples("SpectralNormalization", ROWS, {"layer": L.Dense(4)}, {"layer": L.Dense(4), "power_iterations": 3}, training=BOTH),
    *samples("SpectralNormalization", IMAGES, {"layer": L.Conv2D(4, 2)}, training=BOTH),
    *samples(
        "Normalization",
        ROWS,
        {"mean": [0.5] * 6, "variance": [2.0] * 6},
        {"mean": 0.5, "variance": 2.0, "axis": None},
        {"mean": 0.5, "variance": 2.0, "axis": None, "invert": True},
    ),
]
