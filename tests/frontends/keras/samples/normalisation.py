"""Samples of normalisation, in inference and training."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from tests.frontends.keras.layer_sample import Array, LayerSample, named, plainly, samples

from .core import BOTH, ROWS, SEQUENCES

L = keras.layers
IMAGES = (Array((2, 4, 5, 6), (3, 5, 3, 6)),)
MASKED = (*SEQUENCES, Array((2, 5), (3, 7), dtype="bool"))


def adapted() -> Any:
    layer = L.Normalization()
    layer.adapt(np.random.default_rng(0).normal(2.0, 3.0, (20, 6)).astype("float32"))
    return layer


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
    *samples(
        "BatchNormalization",
        IMAGES,
        {},
        {"dtype": "mixed_bfloat16"},
        {"dtype": "mixed_float16"},
        training=BOTH,
    ),
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
        "LayerNormalization",
        SEQUENCES,
        {},
        {"axis": -1, "center": False, "scale": False},
        {"epsilon": 0.1, "dtype": "mixed_float16"},
    ),
    *samples("LayerNormalization", (Array((2, 5, 6), (3, 5, 6)),), {"axis": (1, 2)}, {"axis": 1}),
    *samples("RMSNormalization", SEQUENCES, {}, {"epsilon": 0.1}, {"dtype": "mixed_bfloat16"}),
    *samples(
        "GroupNormalization",
        IMAGES,
        {"groups": 3},
        {"groups": -1},
        {"groups": 1, "center": False},
        {"groups": 6, "scale": False},
    ),
    *samples("GroupNormalization", (Array((2, 6, 4, 5), (3, 6, 5, 3)),), {"groups": 2, "axis": 1}),
    *samples("UnitNormalization", SEQUENCES, {}, {"axis": 1}, {"axis": (1, 2)}),
    *samples(
        "SpectralNormalization",
        ROWS,
        {"layer": L.Dense(4)},
        {"layer": L.Dense(4), "power_iterations": 3},
        training=BOTH,
    ),
    *samples("SpectralNormalization", IMAGES, {"layer": L.Conv2D(4, 2)}, training=BOTH),
    *samples(
        "Normalization",
        ROWS,
        {"mean": [0.5] * 6, "variance": [2.0] * 6},
        {"mean": 0.5, "variance": 2.0, "axis": None},
        {"mean": 0.5, "variance": 2.0, "axis": None, "invert": True},
    ),
    *samples(
        "BatchNormalization",
        SEQUENCES,
        {"axis": -1, "momentum": 0.0},
        {"axis": 2, "center": False, "scale": False},
        training=BOTH,
    ),
    *samples(
        "BatchNormalization",
        IMAGES,
        {"renorm": True, "renorm_clipping": {"rmax": 2.0, "rmin": 0.5, "dmax": 1.0}},
        training=BOTH,
    ),
    *samples("BatchNormalization", ROWS, {"renorm": True, "renorm_momentum": 0.5}, training=BOTH),
    *samples(
        "BatchNormalization",
        IMAGES,
        {"trainable": False},
        {"synchronized": False, "dtype": "float64"},
        training=BOTH,
    ),
    *samples(
        "LayerNormalization",
        IMAGES,
        {"axis": -1},
        {"axis": [-1], "center": False, "dtype": "float64"},
        {"scale": False, "dtype": "mixed_bfloat16"},
    ),
    *samples(
        "LayerNormalization",
        (Array((2, 5, 6), (3, 5, 6)),),
        {"axis": [1, 2], "scale": False},
        {"axis": (-2, -1), "center": False},
    ),
    *samples(
        "RMSNormalization",
        (Array((2, 5, 6), (3, 5, 6)),),
        {"axis": (1, 2)},
        {"dtype": "mixed_float16"},
        {"dtype": "float64"},
    ),
    *samples(
        "GroupNormalization",
        SEQUENCES,
        {"groups": 2, "epsilon": 0.1},
        {"groups": 3, "dtype": "mixed_bfloat16"},
        {"groups": 6, "dtype": "float64"},
    ),
    *samples("GroupNormalization", ROWS, {"groups": 2}),
    *samples(
        "GroupNormalization",
        (Array((2, 6, 4, 5), (3, 6, 5, 3)),),
        {"groups": -1, "axis": 1, "dtype": "mixed_float16"},
    ),
    *samples(
        "UnitNormalization",
        IMAGES,
        {"axis": [-1, 1]},
        {"dtype": "mixed_bfloat16"},
        {"axis": -2, "dtype": "float64"},
    ),
    *samples(
        "SpectralNormalization",
        (Array((2, 5), (3, 5), 0, 10, "int32"),),
        {"layer": L.Embedding(10, 4)},
        training=BOTH,
    ),
    *samples(
        "SpectralNormalization",
        IMAGES,
        {"layer": L.Conv2D(4, 2, use_bias=False), "power_iterations": 2},
        training=BOTH,
    ),
    *samples(
        "Normalization", IMAGES, {"mean": [0.5] * 6, "variance": [2.0] * 6, "axis": -1, "dtype": "float64"}
    ),
    *samples(
        "Normalization",
        ROWS,
        {"mean": [0.5] * 6, "variance": [2.0] * 6, "invert": True},
        {"mean": 0.1, "variance": 0.0, "axis": None},
    ),
    *samples(
        "Normalization",
        (Array((2, 3, 6), (4, 3, 6)),),
        {"mean": [[0.5] * 6] * 3, "variance": [[2.0] * 6] * 3, "axis": (1, 2)},
    ),
    *named("Normalization(adapted)", of_rows=LayerSample(adapted, ROWS, plainly)),
]
