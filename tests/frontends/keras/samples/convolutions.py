"""Samples of convolutions."""

from __future__ import annotations

from tests.frontends.keras.layer_sample import Array, samples

LINES = (Array((2, 9, 4), (3, 12, 4)),)
IMAGES = (Array((2, 8, 9, 4), (3, 11, 7, 4)),)
VOLUMES = (Array((2, 5, 6, 4, 2), (1, 6, 5, 7, 2)),)
FIRST = (Array((2, 4, 8, 9), (3, 4, 11, 7)),)
FIRST_VOLUMES = (Array((2, 2, 5, 6, 4), (1, 2, 6, 5, 7)),)
FORMAT = {"data_format": "channels_first"}
SIX = {"filters": 6, "kernel_size": 3}

SAMPLES = [
    *samples(
        "Conv1D",
        LINES,
        SIX,
        {**SIX, "padding": "same", "strides": 2, "activation": "relu"},
        {**SIX, "padding": "causal", "dilation_rate": 2, "use_bias": False},
        {**SIX, "groups": 2, "activation": "gelu", "kernel_constraint": "max_norm"},
        {**SIX, "padding": "same", "kernel_regularizer": "l2", "dtype": "float64"},
    ),
    *samples("Conv1D", (Array((2, 4, 9), (3, 4, 12)),), {**SIX, "data_format": "channels_first"}),
    *samples(
        "Conv2D",
        IMAGES,
        SIX,
        {**SIX, "padding": "same", "strides": (2, 1), "activation": "silu"},
        {**SIX, "dilation_rate": 2, "use_bias": False},
        {"filters": 6, "kernel_size": (1, 4), "padding": "same", "groups": 2},
        {"filters": 6, "kernel_size": (2, 3), "strides": 3, "padding": "same"},
        {**SIX, "dtype": "mixed_bfloat16"},
        {**SIX, "dtype": "mixed_float16"},
        {**SIX, "dtype": "float64", "activation": "selu"},
        {"filters": 4, "kernel_size": 1, "activation": "leaky_relu"},
    ),
    *samples(
        "Conv2D",
        FIRST,
        {**SIX, "data_format": "channels_first"},
        {**SIX, "data_format": "channels_first", "strides": 2, "padding": "same"},
    ),
    *samples(
        "Conv3D",
        VOLUMES,
        {"filters": 3, "kernel_size": 2},
        {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"},
    ),
    *samples(
        "Conv3D", VOLUMES, {"filters": 2, "kernel_size": (1, 2, 2), "activation": "tanh", "dilation_rate": 2}
    ),
    *samples("Conv3D", VOLUMES, {"filters": 4, "kernel_size": 2, "groups": 2, "dilation_rate": 2}),
    *samples(
        "Conv1DTranspose",
        LINES,
        SIX,
        {**SIX, "strides": 2, "padding": "same"},
        {**SIX, "strides": 3, "output_padding": 1, "padding": "valid"},
        {**SIX, "dilation_rate": 2},
    ),
    *samples(
        "Conv2DTranspose",
        IMAGES,
        SIX,
        {**SIX, "strides": 2, "padding": "same", "use_bias": False},
        {**SIX, "strides": (2, 3), "output_padding": 1, "activation": "relu"},
        {**SIX, "dilation_rate": 2},
        {"filters": 2, "kernel_size": 2, "strides": 2},
    ),
    *samples(
        "Conv3DTranspose",
        VOLUMES,
        {"filters": 3, "kernel_size": 2},
        {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"},
    ),
    *samples(
        "DepthwiseConv1D",
        LINES,
        {"kernel_size": 3},
        {"kernel_size": 3, "depth_multiplier": 2, "padding": "same"},
        {"kernel_size": 3, "strides": 2, "activation": "relu"},
        {"kernel_size": 2, "dilation_rate": 2},
    ),
    *samples(
        "DepthwiseConv2D",
        IMAGES,
        {"kernel_size": 3},
        {"kernel_size": 3, "depth_multiplier": 2, "padding": "same", "use_bias": False},
        {"kernel_size": (3, 2), "strides": 2, "padding": "same", "activation": "relu6"},
        {"kernel_size": 2, "dilation_rate": 2},
        {"kernel_size": 3, "dtype": "mixed_bfloat16"},
    ),
    *samples("DepthwiseConv2D", FIRST, {"kernel_size": 3, "data_format": "channels_first"}),
    *samples(
        "SeparableConv1D",
        LINES,
        SIX,
        {**SIX, "padding": "same", "strides": 2, "depth_multiplier": 2},
        {**SIX, "dilation_rate": 2},
    ),
    *samples(
        "SeparableConv2D",
        IMAGES,
        SIX,
        {**SIX, "padding": "same", "strides": 2, "depth_multiplier": 2, "activation": "hard_swish"},
        {**SIX, "dilation_rate": 2, "use_bias": False},
    ),
    *samples("SeparableConv2D", FIRST, {**SIX, "data_format": "channels_first"}),
    *samples(
        "Conv1D",
        LINES,
        {**SIX, "dtype": "mixed_bfloat16"},
        {**SIX, "padding": "causal", "strides": 2},
        {**SIX, "lora_rank": 2},
    ),
    *samples(
        "Conv1D", (Array((2, 4, 9), (3, 4, 12)),), {**SIX, **FORMAT, "padding": "causal", "dilation_rate": 2}
    ),
    *samples(
        "Conv2D",
        IMAGES,
        {**SIX, "lora_rank": 2, "activity_regularizer": "l2"},
        {**SIX, "groups": 2, "strides": 2, "dtype": "float64"},
    ),
    *samples(
        "Conv2D",
        FIRST,
        {**SIX, **FORMAT, "dilation_rate": 2, "padding": "same"},
        {**SIX, **FORMAT, "groups": 2, "activation": "gelu"},
    ),
    *samples(
        "Conv3D",
        VOLUMES,
        {"filters": 4, "kernel_size": 2, "use_bias": False},
        {"filters": 3, "kernel_size": 2, "dtype": "mixed_bfloat16"},
        {"filters": 3, "kernel_size": 2, "dtype": "float64", "padding": "same", "dilation_rate": 2},
    ),
    *samples(
        "Conv3D",
        FIRST_VOLUMES,
        {"filters": 7, "kernel_size": 2, **FORMAT},
        {"filters": 7, "kernel_size": 2, "strides": 2, **FORMAT},
    ),
    *samples("Conv1DTranspose", LINES, {**SIX, "use_bias": False, "activation": "elu", "dtype": "float64"}),
    *samples(
        "Conv1DTranspose",
        (Array((2, 4, 9), (3, 4, 12)),),
        {**SIX, **FORMAT},
        {**SIX, **FORMAT, "strides": 2, "padding": "same"},
    ),
    *samples("Conv2DTranspose", FIRST, {**SIX, **FORMAT}, {**SIX, **FORMAT, "strides": 2, "padding": "same"}),
    *samples(
        "Conv2DTranspose",
        IMAGES,
        {**SIX, "dtype": "mixed_bfloat16"},
        {**SIX, "dtype": "mixed_float16", "strides": 2},
        {**SIX, "strides": 3, "padding": "same", "output_padding": 2, "dtype": "float64"},
    ),
    *samples(
        "Conv3DTranspose",
        VOLUMES,
        {
            "filters": 3,
            "kernel_size": 3,
            "strides": 2,
            "output_padding": 1,
            "use_bias": False,
            "activation": "relu",
        },
        {"filters": 2, "kernel_size": 2, "dilation_rate": 1, "dtype": "mixed_bfloat16"},
    ),
    *samples("Conv3DTranspose", FIRST_VOLUMES, {"filters": 3, "kernel_size": 2, "strides": 2, **FORMAT}),
    *samples(
        "DepthwiseConv1D",
        LINES,
        {"kernel_size": 3, "use_bias": False, "dtype": "float64"},
        {"kernel_size": 3, "dtype": "mixed_bfloat16"},
    ),
    *samples("DepthwiseConv1D", (Array((2, 4, 9), (3, 4, 12)),), {"kernel_size": 3, **FORMAT}),
    *samples(
        "DepthwiseConv2D",
        IMAGES,
        {"kernel_size": 3, "dilation_rate": 2, "padding": "same", "depth_multiplier": 3},
        {"kernel_size": 2, "strides": 2, "dtype": "float64"},
        {"kernel_size": 3, "padding": "same", "dtype": "mixed_float16"},
    ),
    *samples(
        "DepthwiseConv2D",
        FIRST,
        {"kernel_size": 2, **FORMAT, "strides": 2, "depth_multiplier": 2, "padding": "same"},
    ),
    *samples(
        "SeparableConv1D",
        LINES,
        {**SIX, "use_bias": False, "activation": "selu"},
        {**SIX, "dtype": "mixed_bfloat16"},
    ),
    *samples("SeparableConv1D", (Array((2, 4, 9), (3, 4, 12)),), {**SIX, **FORMAT, "padding": "same"}),
    *samples(
        "SeparableConv2D",
        IMAGES,
        {**SIX, "dtype": "float64"},
        {**SIX, "dtype": "mixed_bfloat16", "strides": 2},
    ),
    *samples(
        "SeparableConv2D", FIRST, {**SIX, **FORMAT, "strides": 2, "padding": "same", "depth_multiplier": 2}
    ),
]
