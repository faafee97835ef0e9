"""Samples of pooling, padding, cropping and other layers that move elements of images and sequences."""

from __future__ import annotations

from tests.frontends.keras.layer_sample import Array, samples

from .convolutions import FIRST, FIRST_VOLUMES, FORMAT, IMAGES, LINES, VOLUMES

_FORMATS = ((1, LINES), (2, IMAGES), (3, VOLUMES))
FIRST_LINES = (Array((2, 4, 9), (3, 4, 12)),)

SAMPLES = [
    *(
        row
        for rank, inputs in _FORMATS
        for kind in ("Max", "Average")
        for row in samples(
            f"{kind}Pooling{rank}D",
            inputs,
            {"pool_size": 2},
            {"pool_size": 3, "strides": 1},
            {"pool_size": 3, "strides": 2, "padding": "same"},
        )
    ),
    *(
        row
        for inputs, rank in ((FIRST_LINES, 1), (FIRST, 2), (FIRST_VOLUMES, 3))
        for kind in ("Max", "Average")
        for row in samples(f"{kind}Pooling{rank}D", inputs, {"pool_size": 2, "data_format": "channels_first"})
    ),
    *samples("MaxPooling2D", IMAGES, {"dtype": "float64"}),
    *samples("AveragePooling2D", IMAGES, {"pool_size": 2, "dtype": "float64"}),
    *(
        row
        for rank, inputs in _FORMATS
        for kind in ("Max", "Average")
        for row in samples(
            f"Global{kind}Pooling{rank}D", inputs, {}, {"keepdims": True}, {"dtype": "mixed_float16"}
        )
    ),
    *samples("GlobalAveragePooling2D", FIRST, {"data_format": "channels_first"}),
    *samples("GlobalMaxPooling2D", FIRST, {"data_format": "channels_first", "keepdims": True}),
    *samples(
        "GlobalAveragePooling1D",
        (*LINES, Array((2, 9), (3, 12), dtype="bool")),
        {},
        call=lambda layer, x, mask: layer(x, mask=mask),
    ),
    *(
        row
        for rank, inputs in _FORMATS
        for kind in ("Max", "Average")
        for row in samples(f"Adaptive{kind}Pooling{rank}D", inputs, {"output_size": 2}, {"output_size": 3})
    ),
    *samples("UpSampling1D", LINES, {"size": 3}),
    *samples(
        "UpSampling2D",
        IMAGES,
        {},
        {"size": (2, 3), "interpolation": "bilinear"},
        {"interpolation": "bicubic"},
        {"interpolation": "lanczos3"},
        {"interpolation": "lanczos5"},
    ),
    *samples(
        "UpSampling2D",
        FIRST,
        {"data_format": "channels_first"},
        {"data_format": "channels_first", "interpolation": "bilinear"},
    ),
    *samples("UpSampling3D", VOLUMES, {"size": (1, 2, 2)}),
    *samples("UpSampling3D", FIRST_VOLUMES, {"data_format": "channels_first"}),
    *samples("ZeroPadding1D", LINES, {"padding": (1, 2)}),
    *samples("ZeroPadding2D", IMAGES, {}, {"padding": ((1, 0), (2, 1))}),
    *samples("ZeroPadding2D", FIRST, {"data_format": "channels_first", "padding": (1, 2)}),
    *samples("ZeroPadding3D", VOLUMES, {"padding": ((1, 0), (2, 1), (0, 1))}),
    *samples("Cropping1D", LINES, {"cropping": (1, 2)}),
    *samples("Cropping2D", IMAGES, {"cropping": ((1, 0), (2, 1))}, {"cropping": 1}),
    *samples("Cropping2D", FIRST, {"data_format": "channels_first", "cropping": (1, 2)}),
    *samples("Cropping3D", VOLUMES, {"cropping": ((1, 0), (2, 1), (0, 1))}),
    *(
        row
        for inputs, rank in ((FIRST_LINES, 1), (FIRST, 2), (FIRST_VOLUMES, 3))
        for kind in ("Max", "Average")
        for row in (
            *samples(
                f"Global{kind}Pooling{rank}D",
                inputs,
                FORMAT,
                {**FORMAT, "keepdims": True, "dtype": "float64"},
            ),
            *samples(f"Adaptive{kind}Pooling{rank}D", inputs, {"output_size": 2, **FORMAT}),
            *samples(
                f"{kind}Pooling{rank}D", inputs, {"pool_size": 3, "strides": 2, "padding": "same", **FORMAT}
            ),
        )
    ),
    *(
        row
        for rank, inputs in _FORMATS
        for kind in ("Max", "Average")
        for row in samples(
            f"{kind}Pooling{rank}D",
            inputs,
            {"pool_size": 2, "strides": 3, "dtype": "mixed_bfloat16"},
            {"pool_size": 2, "padding": "same", "dtype": "mixed_float16"},
        )
    ),
    *samples("MaxPooling2D", IMAGES, {"pool_size": (3, 2), "strides": (1, 2), "padding": "same"}),
    *samples("AveragePooling2D", IMAGES, {"pool_size": (3, 2), "strides": (1, 2), "padding": "same"}),
    *samples(
        "AdaptiveAveragePooling2D",
        IMAGES,
        {"output_size": (2, 5)},
        {"output_size": (1, 3), "dtype": "mixed_bfloat16"},
    ),
    *samples("AdaptiveMaxPooling3D", VOLUMES, {"output_size": (2, 1, 3)}),
    *samples(
        "GlobalAveragePooling1D",
        (*FIRST_LINES, Array((2, 9), (3, 12), dtype="bool")),
        {**FORMAT, "keepdims": True},
        call=lambda layer, x, mask: layer(x, mask=mask),
    ),
    *samples(
        "UpSampling2D", IMAGES, {"size": 3, "dtype": "mixed_bfloat16"}, {"size": (1, 3), "dtype": "float64"}
    ),
    *samples("UpSampling2D", FIRST, {**FORMAT, "interpolation": "bicubic"}, {**FORMAT, "size": (3, 2)}),
    *samples("UpSampling3D", VOLUMES, {"size": 2, "dtype": "float64"}),
    *samples("ZeroPadding1D", FIRST_LINES, {"padding": 2, **FORMAT}),
    *samples("ZeroPadding3D", FIRST_VOLUMES, {"padding": (1, 0, 2), **FORMAT}),
    *samples(
        "ZeroPadding2D",
        IMAGES,
        {"padding": 3, "dtype": "mixed_bfloat16"},
        {"padding": (0, 2), "dtype": "int32"},
    ),
    *samples("Cropping1D", LINES, {"cropping": 2}, {"cropping": (0, 3)}),
    *samples("Cropping2D", IMAGES, {"cropping": ((0, 2), (3, 0)), "dtype": "float64"}),
    *samples(
        "Cropping3D",
        FIRST_VOLUMES,
        {"cropping": ((1, 0), (2, 1), (0, 1)), **FORMAT},
        {"cropping": 1, **FORMAT},
    ),
]
